# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Exact counts as evidence: recordings to which the truth's counts are added, as `record --counts=all` would.

All functions counted: what is left to be wrong. All but one: whether the one gets a better scale from the others."""
import json
import math
import os
import shutil
import subprocess

import culprit
import measure
import score
import truth as truths

RECORDING = "many+edges"
LEFT_OUT = 6     # functions a program, the most sampled
SHARE = 0.02     # of the samples, at least


def read_parts(build, database):
    return culprit.run_json([os.path.join(build, "tests", "accuracy", "accuracy-dump"), database])


def recorded_lines(parts):
    """What was recorded, for mkdb: facts, samples of the clock, edges. Of periods that changed the first stands for all."""
    period, paths = None, {part["image"]: part["path"] for part in parts if "image" in part}
    yield "epoch\t1000\t1100"
    for part in parts:
        if "fact" in part:
            yield f"fact\t{part['fact']}\t" + part["value"].replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
        elif not is_build_id(part.get("image", "")):
            continue
        elif "edges" in part:
            for source, to, count, windows, *other in part["edges"]:
                if other and not is_build_id(other[0]):
                    continue
                more = f"\t1\t{other[0]}\t{paths.get(other[0], '')}" if other else ""
                yield "edge\t1\t{}\t{}\twindows\t{}\t{}\t{}\t{}{}".format(
                    part["image"], part["path"], -1 if source is None else source, -1 if to is None else to,
                    count, windows, more)
        elif part["event"].startswith("cpu-clock"):
            period = period or part["period"]
            for offset, count in part["samples"]:
                count = max(1, round(count * part["period"] / period))
                yield (f"sample\t1\t{part['image']}\t{part['path']}\t{part['event']}\t{period}\t{offset}\t{count}"
                       "\tcomm=counted")


def is_build_id(text):
    return len(text) >= 16 and all(c in "0123456789abcdef" for c in text)


def flow(function, counts, branches):
    """{(from, to): times} of a function of calc's JSON, None for outside; None where the truth contradicts its graph."""
    blocks = {int(b["start"], 16): int(b["end"], 16) for b in function["blocks"]}
    last = {}
    for one in function["instructions"]:
        address = int(one["address"], 16)
        for start, end in blocks.items():
            if start <= address < end:
                last[start] = max(last.get(start, 0), address)
    inside, into, out = {}, dict.fromkeys(blocks, 0), {a: 0 for a in last.values()}
    returns = []
    for edge in function["edges"]:
        source, to = int(edge["from"], 16), int(edge["to"], 16)
        if edge["kind"] == "after-call":
            returns.append((source, to))
            continue
        if source in branches:
            times = branches[source].get(to, 0)
        else:  # a branch that was never taken is not in the truth
            times = counts.get(source, 0) if edge["kind"] in ("fall-through", "jump") else 0
        if (source, to) not in inside and times:
            inside[source, to] = times
            into[to] += times
            out[source] += times
    for source, to in returns:
        times = min(max(0, counts.get(to, 0) - into[to]), counts.get(source, 0))
        if times:
            inside[source, to] = times
            into[to] += times
            out[source] += times
    for start in blocks:
        rest = counts.get(start, 0) - into[start]
        if rest < 0:
            return None
        if rest:
            inside[None, start] = rest
    for start, address in last.items():
        rest = counts.get(start, 0) - out[address]
        if rest < 0:
            return None
        if rest:
            inside[address, None] = rest
    return inside


def branches_of(truth, image):
    found = {}
    for source, executed, after, targets in truth.branches[image]:
        ways = found.setdefault(source, {})
        for to, times in targets:
            ways[to] = ways.get(to, 0) + times
        left = executed - sum(times for _, times in targets)
        if after is not None and left > 0:
            ways[after] = ways.get(after, 0) + left
    return found


def counted_lines(function, path, ways, runs):
    for (source, to), times in ways.items():
        yield "edge\t1\t{}\t{}\texecutions\t{}\t{}\t{}\t{}".format(
            function["build_id"], path, -1 if source is None else source, -1 if to is None else to,
            times * runs, times * runs)


def make(build, target, lines):
    """A database of what the lines say."""
    shutil.rmtree(target, ignore_errors=True)
    text = "\n".join(lines) + "\n"
    subprocess.run([os.path.join(build, "tests", "cli", "mkdb"), target, "m1"], input=text.encode(), check=True)


def executed(document, key):
    """(value, low, high) of the instructions that a function executed."""
    for function in document["functions"]:
        if (function["build_id"], function["start"]) == key:
            return [sum((i.get("frequency" + end) or 0) for i in function["instructions"]) for end in ("", "_low", "_high")]
    return None


def measure_program(program, build, work, folder, options):
    """{"today", "whole": histograms by mode; "left": [(share of the samples, logarithm of the error without counts of
    others, and with them, whether that one's interval held)]; "functions", "counted": how many}"""
    truth = score.Truth(truths.get_truth(program, build, work))
    source, target = (os.path.join(folder, f"{program.name}.{what}") for what in (RECORDING, "counted"))
    if not os.path.exists(source + ".runs"):
        seconds, extra = measure.RECORDINGS[RECORDING]
        culprit.record_repeated(build, work, program, source, seconds,
                                ["-F", str(options.rate), "-e", "cpu-clock:u", *extra])
    runs, _ = culprit.read_runs(source)
    recorded = list(recorded_lines(read_parts(build, source + ".db")))
    make(build, target + ".db", recorded)
    samples, _ = culprit.read_samples(build, target + ".db")
    today = culprit.calc(build, target + ".db")
    functions, counted = {}, {}
    ways = {image: branches_of(truth, image) for image in truth.branches}
    for function in today["functions"]:
        if function["build_id"] not in truth.counts:
            continue
        key = (function["build_id"], function["start"])
        functions[key] = function
        found = flow(function, truth.counts[key[0]], ways[key[0]])
        if found:
            counted[key] = list(counted_lines(function, function["image"], found, runs))
    fact = ["fact\tcounts\twhole"]
    make(build, target + ".db", recorded + fact + [line for lines in counted.values() for line in lines])
    whole = culprit.calc(build, target + ".db")
    result = {"left": [], "functions": len(functions), "counted": len(counted)}
    for name, document in (("today", today), ("whole", whole)):
        estimates = culprit.read_estimates(document, truth.counts)
        result[name] = {mode: score.frequencies(truth, samples, estimates, mode, runs) for mode in ("relative", "absolute")}
        result[name]["edges absolute"] = score.edge_frequencies(truth, estimates, "absolute", runs)
    all_samples = sum(f["samples"] for f in functions.values())
    chosen = sorted((k for k in counted if functions[k]["samples"] >= SHARE * all_samples),
                    key=lambda k: -functions[k]["samples"])[:LEFT_OUT]
    for key in chosen:
        make(build, target + ".db", recorded + fact + [line for k, lines in counted.items() if k != key for line in lines])
        without = culprit.calc(build, target + ".db")
        true = runs * sum(truth.counts[key[0]].get(int(i["address"], 16), 0) for i in functions[key]["instructions"])
        before, after = executed(today, key), executed(without, key)
        if true and before and after and before[0] and after[0]:
            result["left"].append((functions[key]["samples"] / all_samples, math.log(before[0] / true),
                                   math.log(after[0] / true), after[1] <= true <= after[2]))
    shutil.rmtree(target + ".db", ignore_errors=True)
    return result
