# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 10
# Who called, of a program whose calls are known: culprit calls in all its forms, prof --inclusive, and
# the exported files say the same, to the stack, and what they say is as the time was.
. "$(dirname "$0")/../sampling.sh"
need_sampling

record callers --no-edges -F 1000 -- "$programs/callers" 8 || tap_end
db=callers.db
"$culprit" export -i "$db" --subject comm=callers --folded folded --pprof pprof.gz --speedscope speedscope.json \
	--callgrind callgrind || fail 'export'
calls() { "$culprit" calls -i "$db" --subject comm=callers --json "$@"; }
source=$root/tests/system/programs/callers.c
line() { grep -n "$1" "$source" | cut -d: -f1; }

cat >views.py <<'P'
"""Folded stacks are the measure for all other views: lists of names, with their number."""
import collections, json, math, re, sys
culprit = sys.argv[0]
folded = collections.Counter()
for text in open("folded", encoding="utf-8"):
    names, count = text.rsplit(" ", 1)
    folded[tuple(names.split(";")[1:])] += int(count)
total = sum(folded.values())
truth = {name: int(ns) for name, ns in (text.split() for text in open("callers.out"))}

def report(name):
    return json.load(open(name))

def walk(nodes, above=()):
    for n in nodes:
        path = above + (n["function"],)
        yield path, n
        yield from walk(n["children"], path)

def self_by_path(rows):
    found = collections.Counter()
    for path, n in walk(rows):
        found[path] += n["self"]
    return +found

def count(condition):
    return sum(n for stack, n in folded.items() if condition(stack))

def has(stack, *names):
    """The names stand in it one right after the other."""
    return any(stack[i:i + len(names)] == names for i in range(len(stack)))
P
# view NAME STATEMENTS: a case.
view() {
	local output
	output=$(python3 -c "from views import *
$2" 2>&1)
	# shellcheck disable=SC2181
	if [ $? = 0 ]; then pass "$1"; else fail "$1" "$output"; fi
	[ -z "$output" ] || printf '%s\n' "$output" | sed 's/^/# /'
}

calls >tree.json
calls --merge --no-inlined >merged.json
calls --no-inlined >plain.json
calls --fold >fold.json
calls --callers --merge --no-inlined >callers.json
calls --no-inlined shared >shared.json
calls --gprof >gprof.json
calls --hot=30 >hot.json
"$culprit" prof -i "$db" --subject comm=callers --inclusive --json >prof.json

# Turns of random length, so independent samples; the truth is the processor's time in each. Five
# comparisons at 4.5 standard errors: a false alarm in 1 of 29,000 runs.
view 'each way to call has its share of the stacks' '
first, second = '"$(line 'shared(ns, first)'), $(line 'shared(3 \* ns')"'
sites = collections.Counter()
for path, n in walk(report("tree.json")["rows"]):
    if path[-2:] == ("left", "shared"): sites[n["site_line"]] += sum(
        m["self"] for p, m in walk([n]) if p[:2] == ("shared", "spin"))
assert set(sites) <= {first, second}, sites
def spins(*names):
    return count(lambda s: has(s, "spin") and has(s, *names))
found = {"left.1": sites[first], "left.2": sites[second], "right": spins("main", "right"),
         "recurse": spins("recurse", "shared"), "thread": spins("work", "right")}
n, whole = sum(found.values()), sum(truth.values())
assert n > 100 and n > 0.9 * total, (n, total)
for name, ns in truth.items():
    p = ns / whole
    error = math.sqrt(p * (1 - p) / (n * report("tree.json")["stacks"] / total))
    print(f"{name}: {100 * found[name] / n:.2f}%, in truth {100 * p:.2f}% (+-{100 * error:.2f})")
    assert abs(found[name] / n - p) < 4.5 * error'

# Stacks that end elsewhere are few: the kernel, and the clock.
view 'all stacks are those that the program makes' '
ways = [("main", "left", "shared"), ("main", "right", "step", "shared"), ("work", "right", "step", "shared"),
        ("main",) + 5 * ("recurse",) + ("shared",)]
odd = {s: n for s, n in folded.items() if has(s, "spin") and not any(has(s, *w, "spin") for w in ways)}
assert not odd, odd
assert all(s.count("recurse") in (0, 5) for s in folded if has(s, "spin"))'

# Of other threads too: one in 200 may be cut, which was never seen.
view 'stacks reach the start of their thread' '
worker = {s: n for s, n in folded.items() if has(s, "right", "step", "shared", "spin") and not has(s, "main")}
n = sum(worker.values())
good = sum(n for s, n in worker.items() if "work" in s and s[0][0] != "[" or s[0] == "[no symbol]")
cut = count(lambda s: s[0].startswith("[truncated"))
print(f"{n} stacks of other threads, {good} whole; of all {total} stacks {cut} cut")
one = total / report("tree.json")["stacks"]
assert n > 30 and n - good <= one + n / 200 and cut <= one + total / 100
assert report("tree.json")["complete"] >= report("tree.json")["stacks"] * 0.99 - 1'

view 'the tree has each stack' 'assert self_by_path(report("tree.json")["rows"]) == folded'
view 'totals are sums' '
for name in "tree", "merged", "plain", "fold":
    rows = report(name + ".json")["rows"]
    assert sum(r["total"] for r in rows) == total, name
    for path, n in walk(rows):
        assert n["total"] == n["self"] + sum(c["total"] for c in n["children"]), (name, path)'
view 'without what was inlined' '
wanted = collections.Counter()
def outer(nodes, above=()):
    for n in nodes:
        path = above if n["inlined"] else above + (n["function"],)
        wanted[path] += n["self"]
        outer(n["children"], path)
outer(report("tree.json")["rows"])
wanted = +wanted
assert any("step" in s for s in folded) and not any("step" in s for s in wanted)
assert self_by_path(report("plain.json")["rows"]) == wanted == self_by_path(report("merged.json")["rows"])
both = [n for p, n in walk(report("merged.json")["rows"]) if p[-2:] == ("left", "shared")]
apart = [n for p, n in walk(report("plain.json")["rows"]) if p[-2:] == ("left", "shared")]
assert len(both) == 1 and len(apart) == 2 and sum(n["total"] for n in apart) == both[0]["total"]'
view 'recursion is folded' '
rows = report("fold.json")["rows"]
assert all(p.count("recurse") <= 1 for p, n in walk(rows))
one, = [n for p, n in walk(rows) if p[-1] == "recurse"]
assert one["recursive"] and one["total"] == count(lambda s: "recurse" in s)
assert sum(c["total"] for c in one["children"] if c["function"] == "shared") == count(lambda s: has(s, "recurse", "shared"))'
view 'the hot path is followed' '
path, node = list(walk(report("hot.json")["rows"]))[-1]
last = max((n for p, n in walk(report("tree.json")["rows"]) if len(p) == 1), key=lambda n: n["total"])
wanted = [last]
while wanted[-1]["children"]:
    most = max(wanted[-1]["children"], key=lambda n: n["total"])
    if most["total"] < 0.3 * wanted[-1]["total"]: break
    wanted.append(most)
assert path == tuple(n["function"] for n in wanted), (path, [n["function"] for n in wanted])'
view 'callers, bottom up' '
spin, = [r for r in report("callers.json")["rows"] if r["function"] == "spin"]
inner = count(lambda s: tuple(f for f in s if f != "__rdtsc")[-1] == "spin")
assert spin["self"] == inner and spin["total"] == count(lambda s: "spin" in s)
shared, = spin["children"]
assert shared["function"] == "shared" and shared["self"] == inner
assert {c["function"] for c in shared["children"]} == {"left", "right", "recurse"}
for c in shared["children"]:
    assert c["total"] == count(lambda s: "spin" in s and has(tuple(f for f in s if f != "step"), c["function"], "shared"))'
view 'one function' '
rows = report("shared.json")["rows"]
def stacks(role, name): return sum(r["samples"] for r in rows if (r["role"], r.get("function")) == (role, name))
assert stacks("total", "shared") == count(lambda s: "shared" in s)
assert stacks("caller", "left") == count(lambda s: has(s, "left", "shared"))
assert stacks("caller", "recurse") == count(lambda s: has(s, "recurse", "shared"))
assert stacks("caller", "right") == count(lambda s: "right" in s and "shared" in s)
assert stacks("callee", "spin") == count(lambda s: has(s, "shared", "spin"))
assert len([r for r in rows if (r["role"], r.get("function")) == ("caller", "left")]) == 2'
view 'the listing of gprof' '
f = {r["function"]: r for r in report("gprof.json")["rows"]}
got = collections.Counter()
for c in f["shared"]["callers"]: got[c["function"]] += c["total"]
assert got["left"] == count(lambda s: has(s, "left", "shared"))
assert got["recurse"] == count(lambda s: has(s, "recurse", "shared"))
assert f["recurse"]["total"] == count(lambda s: "recurse" in s)
assert f["main"]["total"] == count(lambda s: "main" in s)'
view 'prof --inclusive' '
p = report("prof.json")
rows = {r["function"]: r for r in p["rows"]}
whole = rows["spin"]["samples"] / (rows["spin"]["percent"] / 100)
for name in "main", "work", "left", "right", "recurse", "shared", "spin":
    r = rows[name]
    on = count(lambda s: name in s)
    ends = count(lambda s: [f for f in s if f not in ("step", "__rdtsc")][-1] == name)
    assert r["samples"] <= r["total"] <= whole + 1
    # Shares of a function are rounded once for the export, whose subjects are apart, and once here.
    assert abs(r["total"] - on) <= 8 and abs(r["samples"] - ends) <= 8, (r, on, ends)
assert rows["spin"]["total"] >= rows["spin"]["samples"] > 0.8 * whole and rows["main"]["samples"] < 0.05 * whole'

gunzip <pprof.gz | protoc --proto_path="$root/src/exchange" --decode=culprit.pprof.Profile "$root/src/exchange/pprof.proto" >pprof.text
view 'pprof has each stack' '
blocks = re.findall(r"^(\w+) \{\n(.*?)^\}", open("pprof.text", encoding="utf-8").read(), re.S | re.M)
strings = [json.loads(s) if "\\\\" not in s else s for s in re.findall(r"^string_table: (\".*\")$", open("pprof.text", encoding="utf-8").read(), re.M)]
def numbers(name, text): return [int(n) for n in re.findall(rf"\b{name}: (\d+)", text)]
names = {numbers("id", b)[0]: strings[numbers("name", b)[0]] for k, b in blocks if k == "function"}
lines = {numbers("id", b)[0]: numbers("function_id", b) for k, b in blocks if k == "location"}
found = collections.Counter()
for k, b in blocks:
    if k == "sample":
        found[tuple(names[f] for l in numbers("location_id", b) for f in lines[l])[::-1]] += numbers("value", b)[0]
assert found == folded'
view 'speedscope has each stack' '
j = report("speedscope.json")
frames = [f["name"] for f in j["shared"]["frames"]]
p = j["profiles"][0]
weight = sum(p["weights"]) / total
found = collections.Counter()
for s, w in zip(p["samples"], p["weights"]): found[tuple(frames[i] for i in s)] += round(w / weight)
assert found == folded'
callgrind_annotate --inclusive=yes --threshold=100 --show-percs=no callgrind >annotated
view 'callgrind_annotate adds up the same' '
found = {}
for text in open("annotated", encoding="utf-8"):
    m = re.match(r" *([\d,]+) .*callers\.c:(\w+)", text)
    if m: found[m[2]] = int(m[1].replace(",", ""))
for name in "main", "work", "left", "right", "recurse", "shared", "spin", "step":
    assert found[name] == count(lambda s: name in s), (name, found)'
tap_end
