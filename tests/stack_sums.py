# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Holds the reports of one database against one another: stack_sums.py CULPRIT PROTO-FOLDER DB.

What a function took by itself and with all that it called, in samples of the first event, by (name,
image): `prof --inclusive`, `calls`, pprof, callgrind, and the data of the page of `calls --html`; and
what it took by itself also in folded stacks and speedscope's file. Prints what it compared.
"""
import collections
import gzip
import json
import re
import subprocess
import sys

CULPRIT, PROTO, DB = sys.argv[1:4]
EVALUATOR = re.compile(r"_PyEval_EvalFrameDefault(\..*)?")


def run(*arguments):
    return subprocess.run([CULPRIT, *arguments], check=True, stdout=subprocess.PIPE).stdout


class Sums:
    """Of each function, by its own name and that of its image's file."""

    def __init__(self, name):
        self.name, self.self, self.total = name, collections.Counter(), collections.Counter()
        self.own = collections.Counter()  # with what an interpreter took for it
        self.below = collections.defaultdict(set)  # the functions in which its stacks end

    def add_stack(self, functions, value):
        """The outermost first."""
        self.self[functions[-1]] += value
        for function in set(functions):
            self.total[function] += value
            self.below[function].add(functions[-1])


def key_of(name, image):
    """What no image explains, and notes, have a name alone."""
    return name, "" if name.startswith("[") and name != "[no symbol]" else image or ""


def prof():
    sums = Sums("prof --inclusive")
    for row in json.loads(run("prof", "-i", DB, "--inclusive", "--json"))["rows"]:
        key = key_of(row["function"], row["image"])
        sums.self[key] += row["samples"]
        sums.total[key] += row["total"]
        sums.own[key] += row["self"]
    return sums


def walk(sums, nodes, path):
    for node in nodes:
        here = path + [key_of(node["function"], node["image"])]
        if node["self"]:
            sums.add_stack(here, node["self"])
        walk(sums, node["children"], here)


def calls(*arguments):
    sums = Sums("calls " + " ".join(arguments))
    walk(sums, json.loads(run("calls", "-i", DB, "--json", *arguments))["rows"], [])
    return sums


def page():
    sums = Sums("the page")
    html = run("calls", "-i", DB, "--html", "-").decode()
    data = json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', html, re.S)[1])
    strings, path = data["strings"], []
    for up, frame, value in zip(data["up"], data["frame"], data["self"][0]):
        name, image = data["functions"][5 * frame:5 * frame + 2]
        del path[len(path) - up:]
        path.append(key_of(strings[name], strings[image]))
        if value:
            sums.add_stack(path, value)
    return sums


def read_proto(lines):
    """protoc's text to (name, value or list) pairs."""
    out = []
    for line in lines:
        line = line.strip()
        if line == "}":
            break
        if line.endswith("{"):
            out.append((line[:-2], read_proto(lines)))
        else:
            name, value = line.split(": ", 1)
            out.append((name, value[1:-1].encode().decode("unicode_escape") if value[0] == '"' else value))
    return out


def get(message, name):
    return [value for key, value in message if key == name]


def one(message, name):
    return int((get(message, name) or [0])[0])


def pprof():
    """Of all functions, and of those that were not inlined; in time: of all. And the names of several functions."""
    raw = gzip.decompress(run("export", "-i", DB, "--pprof", "-"))
    text = subprocess.run(["protoc", f"--proto_path={PROTO}", "--decode=culprit.pprof.Profile", f"{PROTO}/pprof.proto"],
                          check=True, input=raw, stdout=subprocess.PIPE).stdout.decode()
    top = read_proto(iter(text.splitlines()))
    strings = get(top, "string_table")
    names = {one(f, "id"): strings[one(f, "name")] for f in get(top, "function")}
    images = {one(m, "id"): strings[one(m, "filename")] for m in get(top, "mapping")}
    places, ids = {}, collections.defaultdict(set)
    for location in get(top, "location"):
        image = images.get(one(location, "mapping_id"), "")
        functions = [one(line, "function_id") for line in get(location, "line")]
        places[one(location, "id")] = [key_of(names[f], image) for f in reversed(functions)]
        for f in functions:
            ids[key_of(names[f], image)].add(f)
    assert [strings[one(t, "type")] for t in get(top, "sample_type")[:1]] == ["samples"]
    everything, outer, times = Sums("pprof"), Sums("pprof, outer"), Sums("pprof, units")
    for sample in get(top, "sample"):
        stack = [places[int(i)] for i in reversed(get(sample, "location_id"))]
        samples, units = [int(v) for v in get(sample, "value")[:2]]
        flat = [function for functions in stack for function in functions]
        if samples:
            everything.add_stack(flat, samples)
            outer.add_stack([functions[0] for functions in stack], samples)
            times.add_stack(flat, units)
    return everything, outer, times, {key for key, numbers in ids.items() if len(numbers) > 1}


def callgrind():
    """Samples and units. Calls of functions that are under way already are of functions "NAME'2"."""
    sums, times = Sums("callgrind"), Sums("callgrind, units")
    text = run("export", "-i", DB, "--callgrind", "-").decode()
    names = re.search(r"^events: (.*)$", text, re.M)[1].split()
    assert names[0] == "samples" and "desc: Samples: " in text, text[:500]
    key, called, again, image = None, False, False, ""
    for line in text.splitlines():
        if line.startswith("ob="):
            image = line[3:]
        elif line.startswith("fn="):
            again = line.endswith("'2")
            key = key_of(line[3:].removesuffix("'2"), image)
        elif line.startswith("calls="):
            called = True
        elif line[:1].isdigit():
            samples, units = [int(v) for v in line.split()[1:3]]
            if not called:
                sums.self[key] += samples
                times.self[key] += units
            if not again:
                sums.total[key] += samples
                times.total[key] += units
            called = False
    return sums, times


def folded():
    """By name alone."""
    sums = collections.Counter()
    for line in run("export", "-i", DB, "--folded", "-").decode().splitlines():
        stack, count = line.rsplit(" ", 1)
        sums[stack.rsplit(";", 1)[-1]] += int(count)
    return sums


def speedscope(units):
    sums = collections.Counter()
    document = json.loads(run("export", "-i", DB, "--speedscope", "-"))
    frames = [f["name"] for f in document["shared"]["frames"]]
    profile = document["profiles"][0]
    for stack, weight in zip(profile["samples"], profile["weights"]):
        sums[frames[stack[-1]]] += weight / units
    return sums


def is_note(key):
    return key[0].startswith("[") and key[0] not in ("[unknown]", "[no symbol]")


def hold(a, b, slack, keys=None, skip=()):
    """slack: samples that a rounding may be off by. The shares of each function in which stacks end are rounded, in
    each group for those that have groups, so a sum of n of them is off by the root of n."""
    for kind in "self", "total":
        x, y = getattr(a, kind), getattr(b, kind)
        for key in set(x) | set(y) if keys is None else keys:
            if is_note(key) or key in skip or (keys is None and EVALUATOR.fullmatch(key[0])):
                continue
            ends = max(len(a.below[key]), len(b.below[key]), 1)
            assert abs(x[key] - y[key]) <= slack * ends ** 0.5, (kind, key, a.name, x[key], b.name, y[key])


def by_name(sums):
    names = collections.Counter()
    for (name, _), value in sums.self.items():
        names[name.replace(";", ":")] += value
    return names


def main():
    flat, tree, outer_tree, html = prof(), calls(), calls("--no-inlined"), page()
    samples, outer, times, several = pprof()
    grind, grind_times = callgrind()
    slack = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    whole = sum(flat.self.values())
    for sums in tree, outer_tree, html, samples, outer, grind:
        assert sum(sums.self.values()) == whole, (sums.name, sum(sums.self.values()), whole)
    # What a function took by itself is on stacks as it was counted, but for the evaluator's.
    python = {key for key in outer.self if key[1].endswith(".py") or key[1].startswith("<")}
    for key, value in outer.self.items():
        if key not in python and not EVALUATOR.fullmatch(key[0]):
            assert flat.self[key] == value, (key, flat.self[key], value)
    evaluated = sum(v for k, v in flat.self.items() if EVALUATOR.fullmatch(k[0]))
    assert sum(v for k, v in outer.self.items() if k in python or EVALUATOR.fullmatch(k[0])) == evaluated
    outer_total = Sums(flat.name)
    outer_total.total = flat.total
    outer_total.self = flat.own
    hold(outer_total, outer, slack, skip=several)
    hold(outer_total, outer_tree, slack, skip=several)
    hold(tree, samples, slack, skip=several)
    hold(tree, html, 0, skip=several)
    hold(samples, grind, 0, skip=several)
    units = sum(times.self.values()) / whole
    for kind in "self", "total":
        for key, value in getattr(grind_times, kind).items():
            assert is_note(key) or key in several or abs(value - getattr(times, kind)[key]) <= units, (kind, key)
    assert sum(grind_times.self.values()) == sum(times.self.values())
    own = by_name(samples)
    assert {k: v for k, v in folded().items() if v} == {k: v for k, v in own.items() if v}
    spread = speedscope(units)
    assert all(abs(spread[name] - value) < 1e-6 * whole for name, value in own.items() if name[0] != "["), spread
    print(f"{whole} samples, {len(flat.total)} functions, {len(python)} of Python; the evaluator's {evaluated}")
    for (name, image), total in sorted(outer.total.items(), key=lambda item: -item[1])[:40]:
        print(f"{total:8} {outer.self[name, image]:8} {name} {image}")


main()
