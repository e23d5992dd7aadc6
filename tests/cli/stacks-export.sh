# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# culprit export of stacks, XML and block counts, each read by what it is for; calls --html.
. "$(dirname "$0")/../tap.sh"
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS
browser=$root/tests/browser

. "$root/tests/stack_app.sh"
mapfile -t one_calls < <(calls one)
mapfile -t main_calls < <(calls main)
sample_of() { # COMM EVENT PERIOD OFFSET COUNT
	printf 'sample\t1\t%s\t%s\t%s\t%s\t%d\t%d\tcomm=%s\n' "$id" "$PWD/app" "$2" "$3" "$4" "$5" "$1"
}
sample() { sample_of app "$@"; }
# A stack for every second sample of the clock, and for every one of the other event.
{
	printf 'epoch\t1700000000\t1700000060\n'
	frame leaf "$(address leaf)"
	frame one "$(address one)"
	frame one.leaf "${one_calls[0]}"
	frame main.one "${main_calls[0]}"
	printf 'frame\tcut\t10\t01\t[truncated: no unwind rule]\t0\n'
	frame hostile 0x500 77 '/tmp/\xff"<&;|\x1b[31m'
	stack cpu-clock 1000000 50 comm=app main.one one.leaf leaf
	stack cpu-clock 1000000 20 'comm=a;b' main.one one
	stack cpu-clock 1000000 5 comm=app cut one
	stack cpu-clock 1000000 3 comm=app main.one one.leaf main.one one.leaf leaf
	stack cpu-clock 1000000 2 comm=app main.one hostile
	stack cache-misses 1000 7 comm=app main.one one.leaf leaf
	sample cpu-clock 1000000 "$(address leaf)" 106
	sample cpu-clock 1000000 "$(address one)" 25
	sample_of "a;b" cpu-clock 1000000 "$(address one)" 25
	printf 'sample\t1\t77\t/tmp/\\xff"<&;|\\x1b[31m\tcpu-clock\t1000000\t1280\t4\tcomm=app\n'
	sample cache-misses 1000 "$(address leaf)" 7
	printf 'counter\tcpu-clock\t1000000\tsamples\t160\n'
} | "$build/tests/cli/mkdb" a.db m1 || fail "mkdb"

check_status "export everything" 0 "$culprit" export -i a.db --folded a.folded --pprof a.pb.gz \
	--speedscope a.json --callgrind a.callgrind --xml a.xml --block-counts a.blocks

cat >wanted <<'S'
a:b;main;one 40
app;[truncated: no unwind rule];one 10
app;main;[no symbol] 4
app;main;one;leaf;small 100
app;main;one;main;one;leaf;small 6
S
check "folded stacks are a line each, with the samples that they stand for" diff wanted a.folded

# pprof: by its schema, and back again.
proto=$root/src/exchange
gunzip -c a.pb.gz >a.pb
check "pprof's file is of its schema" protoc --proto_path="$proto" --decode=culprit.pprof.Profile \
	"$proto/pprof.proto" <a.pb
protoc --proto_path="$proto" --decode=culprit.pprof.Profile "$proto/pprof.proto" <a.pb >a.text
check "nothing of it is unknown" bash -c '! grep -Eq "^ *[0-9]+[:{ ]" a.text'
protoc --proto_path="$proto" --encode=culprit.pprof.Profile "$proto/pprof.proto" <a.text >b.pb
check "and is the same after a round trip" cmp a.pb b.pb
cat >pprof.py <<'P'
import re, sys
def parse(lines):
    """protoc's text to (name, value or list) pairs."""
    out = []
    for line in lines:
        line = line.strip()
        if line == "}": return out
        if line.endswith("{"): out.append((line[:-2], parse(lines)))
        else:
            name, value = line.split(": ", 1)
            out.append((name, value[1:-1] if value[0] == '"' else value))
    return out
top = parse(iter(open("a.text", encoding="utf-8")))
strings = [v for k, v in top if k == "string_table"]
def get(m, name): return [v for k, v in m if k == name]
def one(m, name): return int((get(m, name) or [0])[0])
def text(m, name): return strings[one(m, name)]
functions = {one(f, "id"): text(f, "name") for f in get(top, "function")}
locations = {one(l, "id"): l for l in get(top, "location")}
mappings = {one(m, "id"): m for m in get(top, "mapping")}
assert strings[0] == ""
assert [(text(t, "type"), text(t, "unit")) for t in get(top, "sample_type")] == [
    ("samples", "count"), ("cpu", "nanoseconds"), ("samples.cache-misses", "count"), ("cache-misses", "count")]
assert text(top, "default_sample_type") == "cpu" and one(top, "period") == 1000000
assert one(top, "time_nanos") == 1700000000 * 10**9 and one(top, "duration_nanos") == 60 * 10**9
first = get(top, "mapping")[0]
assert text(first, "build_id") == sys.argv[1] and text(first, "filename").endswith("/app"), first
def names(sample):
    return [functions[one(line, "function_id")] for i in get(sample, "location_id")
            for line in get(locations[int(i)], "line")]
found = {}
for s in get(top, "sample"):
    labels = tuple((text(l, "key"), text(l, "str")) for l in get(s, "label"))
    found[";".join(names(s)), labels] = [int(v) for v in get(s, "value")]
app = (("comm", "app"),)
# Leaf first, the inlined function before the one that has it; 80 stacks stand for 160 samples.
assert found["small;leaf;one;main", app] == [100, 100 * 10**6, 7, 7000], found
assert found["one;main", (("comm", "a;b"),)] == [40, 40 * 10**6, 0, 0]
assert found["one;[truncated: no unwind rule]", app][0] == 10
assert sum(v[0] for v in found.values()) == 160 and sum(v[1] for v in found.values()) == 160 * 10**6
leaf = next(l for l in locations.values() if len(get(l, "line")) == 2)
assert [one(line, "line") for line in get(leaf, "line")] == [4, 9], leaf
for l in locations.values():
    m = mappings.get(one(l, "mapping_id"))
    assert not m or one(m, "memory_start") <= one(l, "address") < one(m, "memory_limit")
P
check "its samples, lines, mappings and labels are right" python3 pprof.py "$id"

cat >speedscope.py <<'P'
import json
j = json.load(open("a.json"))
frames = [f["name"] for f in j["shared"]["frames"]]
clock, misses = j["profiles"]
assert (clock["unit"], misses["unit"]) == ("nanoseconds", "none")
for p in j["profiles"]:
    assert len(p["samples"]) == len(p["weights"]) and sum(p["weights"]) == p["endValue"]
stacks = {";".join(frames[i] for i in s): w for s, w in zip(misses["samples"], misses["weights"])}
assert stacks == {"main;one;leaf;small": 7}, stacks
assert clock["endValue"] == 160 * 10**6
P
check "speedscope's file has a profile for each event" python3 speedscope.py
"$culprit" export -i a.db --event cache-misses --speedscope some.json
check "of a selection it has the frames of its stacks, and no others" python3 - <<'P'
import json
j = json.load(open("some.json"))
used = {i for p in j["profiles"] for s in p["samples"] for i in s}
assert used == set(range(len(j["shared"]["frames"]))) and len(used) == 4, (used, j["shared"])
P
if [ -x "${CHROMIUM:-/usr/bin/chromium}" ] && [ -d "$browser/node_modules/speedscope" ]; then
	node "$browser/speedscope.mjs" a.json a.pb.gz >browser.out 2>&1
	status=$?
	check "speedscope itself opens it, and pprof's" test $status = 0
	sed -n '/^not ok/,/^ok/p' browser.out | sed 's/^/# /'
	check_status "calls --html" 0 "$culprit" calls -i a.db --html calls.html \
		--metric 'ratio = samples(cache-misses) / samples(cpu-clock)' --metric 'none = cpu-clock / (cpu-clock - cpu-clock)'
	check_status "calls --html --callers" 0 "$culprit" calls -i a.db --html callers.html --callers
	node "$browser/calls.mjs" calls.html callers.html >browser.out 2>&1
	status=$?
	check "is a page that a browser shows" test $status = 0
	sed -n '/^not ok/,/^ok/p' browser.out | sed 's/^/# /'
else
	skip "speedscope" "no chromium or no node_modules: dev/deps --browser installs them"
fi

check_status "callgrind_annotate reads callgrind's format" 0 callgrind_annotate --inclusive=yes --show-percs=no a.callgrind
cp out annotated
check_match "with the totals" annotated '^ *160 +160,000,000 +7 +7,000 +PROGRAM TOTALS'
check_match "main has everything that is not cut, once" annotated '^ *150 +150,000,000 +7 +7,000 .*app.c:main \['
check_match "and leaf what is in it" annotated '^ *106 +106,000,000 +7 +7,000 .*app.c:leaf \['
check_status "and its own costs" 0 callgrind_annotate --show-percs=no a.callgrind
check_match "where the code is" out '^ *106 +106,000,000 +7 +7,000 .*app.c:small \['
check_status "line by line" 0 callgrind_annotate --auto=yes --show-percs=no a.callgrind app.c
check_match "by source line" out '^ *106 +106,000,000 +7 +7,000 +\s*x\+\+;'

cat >check_xml.py <<'P'
import sys, xml.etree.ElementTree as xml
profile = xml.parse("a.xml").getroot()
metrics = profile.findall("PROFILEPARAMS/METRICS/METRIC")
assert [m.get("nativeName") for m in metrics] == ["cpu-clock", "cache-misses"]
assert [m.get("samples") for m in metrics] == ["160", "7"]
def total(scope, metric):
    return sum(float(m.get("v")) for m in scope.iter("M") if m.get("n") == metric)
modules = profile.findall("PROFILESCOPETREE/PGM/LM")
assert len(modules) == 2 and modules[0].get("n").endswith("/app")
start, length = int(modules[0].get("start"), 16), int(modules[0].get("length"))
assert (start, length) == tuple(int(n, 16) for n in sys.argv[1].split()), (start, length)
assert total(modules[0], "0") == 156 * 10**6 and total(modules[0], "1") == 7000
by_function = {p.get("n"): total(p, "0") for p in modules[0].iter("P")}
assert by_function["one"] == 50 * 10**6 and by_function["small"] == 106 * 10**6, by_function
lines = {int(s.get("b")): total(s, "0") for s in modules[0].iter("S")}
assert lines[4] == 106 * 10**6, lines
assert all(f.get("n").endswith("app.c") for f in modules[0].iter("F"))
assert not list(modules[0].iter("L")), "there is no loop"
P
# Its one executable segment: address and bytes.
check "XML has load module, file, function and line" python3 check_xml.py \
	"$(readelf -lW app | awk '$1 == "LOAD" && / R E / { print $3, $5 }')"

check_match "counts have each procedure" a.blocks "^procedure $(printf '0x%x' "$(address leaf)") [0-9]+ leaf\$"
check_match "and each block of it" a.blocks "^block $(printf '0x%x' "$(address leaf)") 0x[0-9a-f]+ [0-9]+ [1-9][0-9]*\$"
check "and nothing else" test -z "$(grep -Ev '^(#|image /|procedure 0x[0-9a-f]+ [0-9]+ |block 0x[0-9a-f]+ 0x[0-9a-f]+ [0-9]+ [0-9]+$)' a.blocks)"

check_status "one event alone" 0 "$culprit" export -i a.db --event cache-misses --folded -
check "is that one's" test "$(cat out)" = "app;main;one;leaf;small 7"
check_status "one command alone" 0 "$culprit" export -i a.db --subject 'comm=a;b' --folded -
check "is that one's too" test "$(cat out)" = "a:b;main;one 25"
check_status "a database without stacks" 1 bash -c "printf 'epoch\t100\t200\nsample\t1\t$id\t$PWD/app\tcycles\t1000\t64\t1\tcomm=x\n' |
	'$build/tests/cli/mkdb' none.db m1 && '$culprit' export -i none.db --folded -"
check_match "says what to do" err 'no stacks.*doctor'
check_status "stacks of one image" 2 "$culprit" export -i a.db --image app --folded -
check_match "are refused" err 'stacks are exported whole'
check_status "a full disk is an error" 1 sh -c '"$1" export -i a.db --pprof - >/dev/full' - "$culprit"
check_status "a page on a full disk" 1 "$culprit" calls -i a.db --html /dev/full
check_match "says so" err '/dev/full: No space left on device'
check_status "for a page too" 1 sh -c '"$1" calls -i a.db --html - >/dev/full' - "$culprit"
tap_end
