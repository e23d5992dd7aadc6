# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# --metric of the reports that have it: values of rows and of all, in every form; refusals.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"

make_hot_app
sample() { # EVENT PERIOD OFFSET COUNT PID
	printf 'sample\t1\t%s\t%s\t%s\t%d\t%d\t%d\tcomm=app\tpid=%d\n' "$id" "$PWD/app" "$@"
}
# hot: 70000 cycles, 20000 instructions, 50 misses; main: 20000 cycles, no instruction, 50 misses.
run() { # START COUNT
	printf 'epoch\t%d\t%d\n' "$1" $(($1 + 60))
	sample cycles 1000 "$hot" 60 7
	sample cycles 1000 "$loop" 10 8
	sample cycles 1000 "$main" 20 7
	sample instructions 2000 "$hot" "$2" 7
	sample cache-misses:u 10 "$hot" 5 7
	sample cache-misses:u 10 "$main" 5 8
	printf 'frame\tmain\t1\t%s\t%s\t%d\nframe\thot\t1\t%s\t%s\t%d\n' "$id" "$PWD/app" $((main + 4)) "$id" "$PWD/app" $((hot + 4))
	printf 'stack\tcycles\t1000\t40\tcomm=app\tmain\thot\nstack\tinstructions\t2000\t30\tcomm=app\tmain\thot\nstack\tcycles\t1000\t4\tcomm=app\tmain\n'
}
run 1700000000 10 | "$mkdb" a.db m1 || fail "mkdb"
run 1700001000 20 | "$mkdb" b.db m1 || fail "mkdb"
mpki='mpki = 1000 * cache-misses / instructions'
ipc='ipc=instructions/cycles'

check_status "prof" 0 "$culprit" prof -i a.db --metric "$mpki" --metric "$ipc"
check_match "tells the formula, its value of all, and cells without" out '^mpki = 1000 \* cache-misses / instructions: 5 of all; 1 of 2 cells has none$'
check_match "a value of all is computed of the totals" out '^ipc = instructions/cycles: 0.2222 of all$'
check_match "headings" out ' mpki +ipc +function '
check_match "a row" out ' 2.5 +0.2857 +hot '
check_match "division by zero shows nothing" out ' 0.00 +0  main '
check_status "--json" 0 "$culprit" prof -i a.db --metric "$mpki" --metric "$ipc" --json
check "has values, null and the formulas" python 'assert by["hot"]["metrics"]["mpki"] == 2.5 and abs(by["hot"]["metrics"]["ipc"] - 2 / 7) < 1e-8
assert by["main"]["metrics"] == {"mpki": None, "ipc": 0}
assert j["metrics"][0] == {"name": "mpki", "formula": "1000 * cache-misses / instructions", "of": "all", "value": 5, "undefined": 1}, j["metrics"]'
check_status "--csv" 0 "$culprit" prof -i a.db --metric "$mpki" --csv
check "has the column" python3 -c 'import csv
rows = list(csv.DictReader(open("out", newline="")))
assert [r["metrics.mpki"] for r in rows] == ["2.5", ""], rows'
check_status "sorts by it" 0 "$culprit" prof -i a.db --metric 'm = cache-misses / cycles' --sort m --json
check "largest first" python 'assert [r["function"] for r in rows] == ["main", "hot"]'
check_status "sorts what has none last" 0 "$culprit" prof -i a.db --metric "x = -1000 / instructions" --sort x --json
check "last" python 'assert [r["function"] for r in rows] == ["hot", "main"] and rows[1]["metrics"]["x"] is None'

by() { # WHAT ASSERTION
	check_status "by $1" 0 "$culprit" prof -i a.db --by "$1" --metric "$mpki" --metric 't=100*cycles/total(cycles)' --json
	check "by $1: values" python "$2"
}
by image 'assert [r["metrics"] for r in rows] == [{"mpki": 5, "t": 100}]'
by file 'assert [r["metrics"]["mpki"] for r in rows] == [5]'
by line 'assert sum(r["metrics"]["t"] for r in rows) > 99.99 and {r["metrics"]["mpki"] for r in rows} >= {None, 2.5}, rows'
by loop 'loops = [r for r in rows if r["depth"]]
assert len(loops) == 1 and loops[0]["metrics"]["mpki"] is None and abs(loops[0]["metrics"]["t"] - 100 / 9) < 1e-6, rows
assert any(r["metrics"]["mpki"] == 5 for r in rows)'
by process 'assert {r["pid"]: r["metrics"]["mpki"] for r in rows} == {7: 2.5, 8: None}'
by subject 'assert {r["subject"]: r["metrics"]["mpki"] for r in rows} == {"comm=app pid=7": 2.5, "comm=app pid=8": None}'

check_status "list" 0 "$culprit" list -i a.db hot --asm --no-cpi --metric "$mpki" --json
check "of instructions" python 'values = [r["metrics"]["mpki"] for r in rows]
assert values.count(2.5) == 1 and set(values) == {2.5, None}, rows
assert j["metrics"][0]["of"] == "the function" and j["metrics"][0]["value"] == 2.5'
check_status "list of lines" 0 "$culprit" list -i a.db hot --source --metric "$mpki"
check_match "in text" out '2.5 +[0-9]+ +(\{|.*for|.*x \+= i)'

check_status "diff" 0 "$culprit" diff a.db b.db --metric "$mpki" --json
check "has both sides" python 'assert by["hot"]["metrics_a"]["mpki"] == 2.5 and by["hot"]["metrics_b"]["mpki"] == 1.25
assert [(m["of"], m["value"]) for m in j["metrics"]] == [("A", 5), ("B", 2.5)], j["metrics"]'
check_status "diff in text" 0 "$culprit" diff a.db b.db --metric "$mpki"
check_match "headings" out 'mpki A +mpki B'

check_status "stats" 0 "$culprit" stats a.db b.db --metric "$mpki" --json
check "is of the sums of all sets" python 'r = by["hot"]
assert abs(r["metrics"]["mpki"] - 1000 * 100 / 60000) < 1e-6, r
assert (r["metrics_min"]["mpki"], r["metrics_max"]["mpki"]) == (1.25, 2.5), r
assert by["main"]["metrics"]["mpki"] is None and by["main"]["metrics_min"]["mpki"] is None
assert j["metrics"][0]["of"] == "all sets" and abs(j["metrics"][0]["value"] - 1000 * 200 / 60000) < 1e-6'
check_status "stats --csv" 0 "$culprit" stats a.db b.db --metric "$mpki" --csv
check_match "has its columns" out 'metrics.mpki,metrics_min.mpki,metrics_max.mpki'

check_status "calls" 0 "$culprit" calls -i a.db --metric "$ipc" --json
check "has it with and without what is called" python 'top = rows[0]
assert top["function"] == "main" and abs(top["metrics"]["ipc"] - 2 / 9) < 1e-6 and top["self_metrics"]["ipc"] == 0, top
assert abs(top["children"][0]["metrics"]["ipc"] - 2 / 7) < 1e-6'
check_status "calls in text" 0 "$culprit" calls -i a.db --metric "$ipc"
check_match "of what goes through" out '0.2222  main'
check_status "calls --callers" 0 "$culprit" calls -i a.db --callers --metric "$ipc" --csv
check_match "has columns" out 'metrics.ipc,self_metrics.ipc'

# A block or an instruction has the counts of all events where it is, the one that is compared or not.
for by in block instruction; do
	check_status "diff by $by" 0 "$culprit" diff a.db b.db --by $by --metric "$mpki" --metric "$ipc" --json
	check "has both sides of each" python 'top = rows[0]
assert top["samples_a"] == 60 and top["metrics_a"]["mpki"] == 2.5 and top["metrics_b"]["mpki"] == 1.25, top
assert abs(top["metrics_b"]["ipc"] - 2 / 3) < 1e-8
last = [r for r in rows if r["samples_a"] == 10]
assert len(last) == 1 and last[0]["metrics_a"] == {"mpki": None, "ipc": 0}, last
assert [(m["of"], m["undefined"]) for m in j["metrics"] if m["name"] == "mpki"] == [("A", 2), ("B", 2)], j["metrics"]'
done

check_status "calls FUNCTION" 0 "$culprit" calls -i a.db hot --metric "$ipc" --json
check "has it of callers and of itself" python 'assert {r["role"]: round(r["metrics"]["ipc"], 6) for r in rows if r["samples"]} == dict.fromkeys(("caller", "total", "self"), round(2 / 7, 6)), rows'
check_status "in CSV" 0 "$culprit" calls -i a.db main --metric "$ipc" --csv
check "too" python3 -c 'import csv
rows = {r["role"]: r["metrics.ipc"] for r in csv.DictReader(open("out", newline=""))}
assert rows["self"] == "0" and rows["callee"].startswith("0.2857") and rows["total"].startswith("0.2222"), rows'
check_status "calls --gprof" 0 "$culprit" calls -i a.db --gprof --metric "$ipc" --json
check "has it of functions and arcs" python 'hot, main = by["hot"], by["main"]
caller = [c for c in hot["callers"] if c["total"]][0]
assert abs(hot["metrics"]["ipc"] - 2 / 7) < 1e-6 and caller["metrics"]["ipc"] == hot["metrics"]["ipc"], hot
assert main["callees"][0]["metrics"]["ipc"] == hot["metrics"]["ipc"] and abs(main["metrics"]["ipc"] - 2 / 9) < 1e-6, main'
check_status "in text" 0 "$culprit" calls -i a.db --gprof --metric "$ipc"
check_match "before the names" out '0.2222 +main \[1\]'
check_status "calls --html" 0 "$culprit" calls -i a.db --html page.html --metric "$ipc"
check "has the steps to it" grep -qF '"metrics":[{"name":"ipc","steps":[[2,2000],[0,1000],"/"]}]' page.html

# Functions, their blocks and instructions: each of its own samples, none a sum of others.
check_status "calc" 0 "$culprit" calc -i a.db hot --blocks 0 --metric "$mpki" --metric "$ipc" --json
check "of functions, blocks, instructions" python3 -c 'import json
j = json.load(open("out")); f = j["functions"][0]
assert f["metrics"]["mpki"] == 2.5 and abs(f["metrics"]["ipc"] - 2 / 7) < 1e-8, f["metrics"]
blocks = [b["metrics"] for b in f["blocks"]]
assert blocks[0]["mpki"] == 2.5 and abs(blocks[0]["ipc"] - 1 / 3) < 1e-8 and blocks[1] == {"mpki": None, "ipc": 0}, blocks
ins = [i["metrics"]["mpki"] for i in f["instructions"]]
assert ins[0] == 2.5 and set(ins[1:]) == {None}, ins
assert [(m["name"], m["value"]) for m in j["metrics"]][0] == ("mpki", 5), j["metrics"]'
check_status "calc in text" 0 "$culprit" calc -i a.db hot --metric "$mpki" --metric "$ipc"
check_match "of the function" out '^\*\*\* mpki 2.5, ipc 0.2857$'
check_match "of a block" out '^\*\*\* mpki none, ipc 0$'
check_status "calc --csv" 0 "$culprit" calc -i a.db --brief --cutoff 100 --metric "$mpki" --csv
check "has the column" python3 -c 'import csv
assert {r["function"]: r["metrics.mpki"] for r in csv.DictReader(open("out", newline=""))} == {"hot": "2.5", "main": ""}'
check_status "stalls" 0 "$culprit" stalls -i a.db --metric "$mpki" --metric "$ipc" --json
check "of the block that stalls" python 'assert by["main"]["metrics"] == {"mpki": None, "ipc": 0}, rows
assert rows[0]["function"] == "hot" and rows[0]["metrics"]["mpki"] == 2.5 and abs(rows[0]["metrics"]["ipc"] - 1 / 3) < 1e-8'
check_status "summary" 0 "$culprit" summary -i a.db --metric "$mpki" --json
check "of all that is summed up" python 'assert j["metrics"][0]["value"] == 5 and "metrics" not in rows[0]'
cause=$(python3 -c 'import json; print(max(json.load(open("out"))["rows"], key=lambda r: (r["kind"] == "dynamic", r["percent"]))["cause"])')
check_status "summary --cause" 0 "$culprit" summary -i a.db --cause "$cause" --metric "$mpki" --json
check "of functions" python 'assert by["hot"]["metrics"]["mpki"] == 2.5 and by["main"]["metrics"]["mpki"] is None'
check_status "cfg" 0 "$culprit" cfg -i a.db hot --metric "$mpki" --json
check "of blocks, not of edges" python 'values = [r["metrics"]["mpki"] for r in rows if r["kind"] == "block"]
assert values == [2.5, None, None] and all(r["metrics"]["mpki"] is None for r in rows if r["kind"] != "block"), rows
assert j["metrics"][0]["undefined"] == 2'
check_status "cfg drawn" 0 "$culprit" cfg -i a.db hot --metric "$mpki"
check_match "in its blocks" out 'mpki 2\.5'
# No event that tells time: what calc and stalls refuse, cfg draws.
check_status "cfg without a clock" 0 "$culprit" cfg -i a.db hot --event 'c*-misses*' --metric 'm = cache-misses' --json
check "has it" python 'assert rows[0]["metrics"]["m"] == 50, rows[0]'

refuse() { # NAME STATUS REGEX ARGUMENT...
	local name=$1 status=$2 regex=$3
	shift 3
	check_status "$name" "$status" "$culprit" "$@"
	check_match "$name: message" err "$regex"
	check "$name: in one line, nothing on stdout" test "$(wc -l <err)" = 1 -a ! -s out
}
refuse "what does not parse" 2 "position 5 \(at '\* 2'\)" prof -i a.db --metric 'x = * 2'
refuse "no name" 2 'begins with its name' prof -i a.db --metric '3 + 4'
refuse "one name twice" 2 "two metrics have the name 'x'" prof -i a.db --metric x=1 --metric x=2
mapfile -t many < <(printf -- '--metric=m%d=1\n' {1..17})
refuse "too many" 2 'more than 16' prof -i a.db "${many[@]}"
refuse "no such event" 1 "position 5: there is no event 'cyclops'; the events are: cycles, cache-misses:u, instructions" prof -i a.db --metric 'x = cyclops'
refuse "an event that is not selected" 1 'the events are: cycles' prof -i a.db --event 'cyc*' --metric "$ipc"
refuse "no such event in list" 1 "no event 'a'" list -i a.db hot --metric x=a
refuse "no such event in diff" 1 "no event 'a'" diff a.db b.db --metric x=a
refuse "no such event in a set" 1 "set 'b.db': .*no event 'a'" stats b.db a.db --metric x=a
refuse "no such event in calls" 1 "no event 'a'" calls -i a.db --metric x=a
refuse "no such event in calls FUNCTION" 1 "no event 'a'" calls -i a.db hot --metric x=a
refuse "no such event in calls --gprof" 1 "no event 'a'" calls -i a.db --gprof --metric x=a
refuse "no such event on a page" 1 "no event 'a'" calls -i a.db --html - --metric x=a
for report in "calc hot" stalls summary "cfg hot"; do
	# shellcheck disable=SC2086
	refuse "no such event in $report" 1 "no event 'a'" $report -i a.db --metric x=a
	# shellcheck disable=SC2086
	refuse "what does not parse in $report" 2 'position 5' $report -i a.db --metric 'x = * 2'
done
if "$culprit" record -q -e cpu-clock -F 100 -o may.db -- true 2>why; then
	refuse "no such event in top" 1 "no event 'nope'; the events are: cpu-clock" top -b -n 1 -e cpu-clock --metric x=nope
else
	skip "no such event in top" "this machine cannot sample: $(head -n 1 why)"
fi
tap_end
