# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# culprit prof and culprit epochs on made databases: numbers, selection, forms, hostile names.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"

make_hot_app
sample() { # EVENT OFFSET COUNT COMM PID
	printf 'sample\t1\t%s\t%s\t%s\t1000\t%d\t%d\tcomm=%s\tpid=%d\tlabel.team=a\n' "$id" "$PWD/app" "$@"
}
{
	printf 'epoch\t1700000000\t1700000060\n'
	sample cycles $((hot)) 60 app 7
	sample cycles $((hot + 4)) 10 app 8
	sample cycles $((main)) 20 app 7
	sample cache-misses $((main)) 5 app 7
	printf 'sample\t9\t01\t\tcycles\t1000\t%d\t10\tcomm=app\tpid=8\n' $((0xdead))
	printf 'counter\tcycles\t1000\tsamples\t100\n'
	printf 'counter\tcycles\t1000\tlost.ring\t3\n'
	printf 'counter\tcycles\t1000\tenabled_ns\t400\n'
	printf 'counter\tcycles\t1000\trunning_ns\t100\n'
	printf 'counter\t-\t0\tunknown.process\t10\n'
} | "$mkdb" a.db m1 || fail "mkdb"

check_status "prof" 0 "$culprit" prof -i a.db
check_match "tells the event and its period" out '^cycles: 100 samples, one in 1000'
check_match "tells multiplexing" out 'counting 25.0% of the time'
check_match "tells what was lost and unknown" out '^lost 3 \(ring 3\), unknown 10 \(9\.524%\)'
check_match "ranks the hot function first, with both events" out "^ +70 +70.00 +70.00 +0 +0.00  hot +$PWD/app"
check_match "accumulates" out "^ +20 +20.00 +90.00 +5 +100.00  main"
check_match "keeps what is unknown" out '^ +10 +10.00 +100.00 +0 +0.00  \[unknown\]'
check_status "CULPRIT_DB names the database too" 0 env CULPRIT_DB=a.db "$culprit" prof

check_status "prof --json" 0 "$culprit" prof -i a.db --json
check "is JSON" python3 -m json.tool out
check "with the header" python 'assert j["report"] == "prof" and j["samples"] == 105 and j["lost"] == 3
assert j["lost_by_cause"] == {"ring": 3} and j["unknown"] == 10 and j["machine"] == "m1"
assert j["epochs"] == ["20231114T221320Z"], j
e = j["events"][0]
assert (e["name"], e["period"], e["precise"], e["samples"], e["scale"]) == ("cycles", 1000, False, 100, 4)'
check "and the rows" python 'r = rows[0]
assert r["function"] == "hot" and r["image"].endswith("/app") and r["samples"] == 70, r
assert r["events"] == {"cycles": 70, "cache-misses": 0} and r["percent"] == 70 and r["build_id"] == "'"$id"'", r
assert [r["samples"] for r in rows] == [70, 20, 10]'

check_status "prof --csv" 0 "$culprit" prof -i a.db --csv
check "is CSV with CRLF" python3 -c 'import csv
data = open("out", newline="").read()
assert data.count("\r\n") == data.count("\n") == 4
rows = list(csv.DictReader(open("out", newline="")))
assert [r["samples"] for r in rows] == ["70", "20", "10"] and rows[0]["events.cycles"] == "70"'
check_match "with the header on stderr" err '^lost 3'

by() { # NAME WHAT ASSERTION [OPTION...]
	local name=$1 what=$2 assertion=$3
	shift 3
	check_status "$name" 0 "$culprit" prof -i a.db --json --by "$what" "$@"
	check "$name: rows" python "$assertion"
}
by "by image" image 'assert [r["samples"] for r in rows] == [90, 10] and rows[1]["image"] == "[unknown]"'
by "by line" line 'assert rows[0]["file"].endswith("app.c") and rows[0]["line"] in (3, 4, 5) and rows[0]["function"] == "hot", rows'
by "by file" file 'assert rows[0]["file"].endswith("app.c") and rows[0]["samples"] == 90, rows'
by "by process" process 'assert [(r["comm"], r["pid"], r["samples"]) for r in rows] == [("app", 7, 80), ("app", 8, 20)], rows'
by "by process, the balance" process 'r = rows[0]
assert r["program"] == {"processes": 2, "min": 20, "mean": 50, "max": 80, "imbalance_percent": 60, "chance": r["program"]["chance"]} and r["program"]["chance"] < 1e-8, r
assert [r["percent_of_mean"] for r in rows] == [160, 40] and rows[1]["program"] == r["program"]
assert any(n.startswith("app: 2 processes, samples min 20, mean 50.00, max 80: imbalance 60.00%") for n in j["notes"]), j["notes"]'
by "by process, the balance of all when limited" process 'assert len(rows) == 1 and rows[0]["program"]["min"] == 20' --limit 1
by "by process, the balance of a selection" process 'assert [r["program"]["max"] for r in rows] == [60, 60], rows' --function hot
by "by subject" subject 'assert rows[0]["subject"] == "comm=app label.team=a pid=7", rows'
by "one function" function 'assert [r["function"] for r in rows] == ["hot"] and rows[0]["percent"] == 70' --function '^h.t$'
by "one image" function 'assert [r["function"] for r in rows] == ["hot", "main"]' --image app
# As the tables name it. As a set of letters it would pick /bin/r.
printf 'epoch\t1\t2\nsample\t4\tabcd\t[kernel.kallsyms]\tcpu-clock\t1000\t0x10\t5\tcomm=swapper\nsample\t1\tef01\t/bin/r\tcpu-clock\t1000\t0x10\t3\tcomm=r\n' | "$mkdb" brackets.db m1
check_same "an image in brackets is selected by its name" '5,[kernel.kallsyms]' \
	"$("$culprit" prof -i brackets.db --by image --image '[kernel.kallsyms]' --csv 2>/dev/null | sed 1d | cut -d, -f1,5)"
by "one event" function 'assert rows[0]["events"] == {"cache-misses": 5} and len(rows) == 1' --event 'cache*'
by "one of two processes" function 'assert sum(r["samples"] for r in rows) == 100, rows' --subject pid=8 --subject pid=7 --subject comm=app
by "one process" function 'assert [r["samples"] for r in rows] == [10, 10], rows' --subject pid=8
by "sorted by another event" function 'assert rows[0]["function"] == "main"' --sort cache-misses
by "sorted by name" function 'assert [r["function"] for r in rows] == ["[unknown]", "hot", "main"]' --sort function
by "limited" function 'assert len(rows) == 1 and any("2 more rows, with 30 samples (30.00%)" in n for n in j["notes"]), j["notes"]' --limit 1
by "selection is noted" function 'assert any("selection has 20.00%" in n for n in j["notes"]), j["notes"]' --function main

# refuse NAME STATUS REGEX ARGUMENT...
refuse() { check_refused "$1" "$2" "$3" "$culprit" prof "${@:4}"; }
refuse "no database" 1 'there is no database' -i none.db
refuse "no usual database" 1 'culprit' --limit 3
refuse "unknown --by" 2 "'colour'" -i a.db --by colour
refuse "bad limit" 2 "'-3'" -i a.db --limit -3
refuse "no limit" 2 "'0'" -i a.db --limit 0
refuse "bad regex" 2 'regular expression' -i a.db --function '('
refuse "bad subject" 2 'KEY=GLOB' -i a.db --subject comm
refuse "a subject's key that there is not" 2 "'team' is not one of comm, thread" -i a.db --subject 'team=x'
refuse "bad sort" 2 "'taste'" -i a.db --sort taste
refuse "a sort that perf has" 2 "subject; use --by image" -i a.db --sort dso,sym
refuse "no total" 2 '--inclusive' -i a.db --sort total
refuse "inclusive of a process" 2 '--by function, image' -i a.db --inclusive --by process
refuse "inclusive without stacks" 1 'there are no stacks.*an import has those of its file' -i a.db --inclusive
refuse "no such event" 1 'the events are: .*cycles' -i a.db --event nope
printf 'epoch\t1\t2\nsample\t1\t01\t/a\tcpu-cycles\t1000\t1\t1\nsample\t1\t01\t/a\tcycles\t1000\t1\t1\n' | "$mkdb" part.db m1
refuse "an event whose name is part of another's is named" 1 "the events are: cpu-cycles, cycles$" -i part.db --event nope
refuse "no such epoch" 1 '.' -i a.db --epoch 1999
refuse "two forms" 2 'once' -i a.db --json --csv
refuse "operand" 2 "unexpected argument 'hot' \\(" -i a.db hot
refuse "a database as an operand" 2 'unexpected argument .*; name a database with -i' a.db
check_status "a full disk is an error" 1 sh -c '"$1" prof -i a.db >/dev/full' - "$culprit"
check_match "and says so, once" err '^culprit: cannot write'
check "once" test "$(wc -l <err)" = 1

# With what was called: one stack for ten samples, in which hot is called by main, also through itself.
call=$((0x$(objdump -d --no-show-raw-insn app | awk '/<main>:/ { on = 1 } on && was { sub(":", "", $1); print $1; exit } on && /call/ { was = 1 }') - 1))
frame() { printf 'frame\t%s\t1\t%s\t%s\t%d\n' "$1" "$id" "$PWD/app" "$2"; }
{
	printf 'epoch\t1700000000\t1700000060\n'
	frame hot $((hot))
	frame main $((main))
	frame main.hot "$call"
	printf 'frame\tother\t1\t77\t/gone/lib\t0x500\nframe\tcut\t10\t01\t[truncated: no unwind rule]\t0\n'
	sample cycles $((hot)) 70 app 7
	sample cycles $((main)) 20 app 7
	sample cache-misses $((hot)) 8 app 7
	printf 'sample\t1\t77\t/gone/lib\tcycles\t1000\t0x500\t10\tcomm=app\tpid=7\n'
	printf 'stack\tcycles\t1000\t5\tcomm=app\tmain.hot\thot\n'
	printf 'stack\tcycles\t1000\t1\tcomm=app\tmain.hot\thot\thot\tmain.hot\thot\n'
	printf 'stack\tcycles\t1000\t1\tcomm=app\tcut\thot\n'
	printf 'stack\tcycles\t1000\t2\tcomm=app\tmain\n'
	printf 'stack\tcycles\t1000\t1\tcomm=app\tmain.hot\tother\n'
	printf 'stack\tcache-misses\t1000\t2\tcomm=app\tmain.hot\thot\n'
} | "$mkdb" calls.db m1 || fail "mkdb"
check_status "prof --inclusive" 0 "$culprit" prof -i calls.db --inclusive
check_match "ranks by it" out "^ +90 +90.00 +20 +20.00 +0 +0.00  main +$PWD/app"
check_match "has what a function has itself" out '^ +70 +70.00 +70 +70.00 +8 +100.00  hot'
check_match "has no share of rows above" out '^ *total +total% +cycles +% +cache-misses +%  function'
check_match "tells on how many stacks it is based" out '^note: 12 stacks, 91.67% complete; truncated: no unwind rule 1'
inclusive() { # NAME ASSERTION OPTION...
	check_status "$1" 0 "$culprit" prof -i calls.db --inclusive --json "${@:3}"
	check "$1: rows" python "$2"
}
inclusive "--inclusive --json" 'assert [(r["function"], r["total"], r["total_percent"], r["samples"]) for r in rows] == [("main", 90, 90, 20), ("hot", 70, 70, 70), ("[no symbol]", 10, 10, 10)], rows
assert rows[0]["totals"] == {"cycles": 90, "cache-misses": 8} and rows[0]["events"] == {"cycles": 20, "cache-misses": 0}
assert "cumulative_percent" not in rows[0]'
inclusive "--inclusive by image" 'assert [(r["image"].split("/")[-1], r["total"], r["samples"]) for r in rows] == [("app", 100, 90), ("lib", 10, 10)], rows' --by image
inclusive "--inclusive by line" 'f = {r["line"]: (r["total"], r["samples"]) for r in rows if r["file"]}
assert f[9] == (90, 20) and sorted(f.values()) == [(70, 70), (90, 20)], f' --by line
inclusive "--inclusive by samples" 'assert [r["samples"] for r in rows] == [70, 20, 10]' --sort cycles
inclusive "--inclusive of the first" 'assert any("2 more rows, with 80 samples of their own" in n for n in j["notes"]), j["notes"]' --limit 1
inclusive "--inclusive of one function" 'assert [(r["function"], r["total"]) for r in rows] == [("main", 90)]' --function main
inclusive "--inclusive of one image" 'assert [(r["function"], r["total"]) for r in rows] == [("[no symbol]", 10)]' --image lib
inclusive "--inclusive, the first rows" 'assert len(rows) == 1 and any("2 more rows" in n for n in j["notes"])' -n 1
check_status "--inclusive --csv" 0 "$culprit" prof -i calls.db --inclusive --csv --sort total
check "is CSV" python3 -c 'import csv
rows = list(csv.DictReader(open("out", newline="")))
assert [(r["total"], r["totals.cache-misses"]) for r in rows] == [("90", "8"), ("70", "8"), ("10", "0")], rows'

# Idle functions of a kernel whose symbols are nowhere are not guessed.
printf 'epoch\t1\t2\nsample\t4\tabcd\t[kernel.kallsyms]\tcpu-clock\t1000\t0x10\t5\tcomm=swapper\n' | "$mkdb" k.db m1
check_status "a kernel that is not ours" 0 "$culprit" prof -i k.db --json
check "is one row" python 'assert len(rows) == 1 and rows[0]["samples"] == 5 and j["idle"] == 0'
refuse "not taken per process" 1 'per.process' -i k.db --by process

# Two epochs, the second with another period; two versions of one path.
{
	printf 'epoch\t1700000000\t1700000060\nsample\t1\t11\t/x\tcycles\t1000\t16\t4\tcomm=x\n'
	printf 'epoch\t1700000100\t1700000160\nsample\t1\t22\t/x\tcycles\t5000\t16\t6\tcomm=x\n'
} | "$mkdb" two.db m1
check_status "the last epoch is the default" 0 "$culprit" prof -i two.db --json
check "only the last" python 'assert [r["samples"] for r in rows] == [6]'
check_status "--epoch all" 0 "$culprit" prof -i two.db --epoch all --json
check "keeps versions apart and adds periods by weight" python 'assert len({r["build_id"] for r in rows}) == 2
assert sorted(r["samples"] for r in rows) == [1, 6] and j["events"][0]["period"] == 5000, rows
assert any("2 periods" in n for n in j["notes"])
'
check_status "epochs" 0 "$culprit" epochs -i two.db
check_match "lists them" out '^20231114T221320Z +2023-11-14T22:13:20Z +60\.00 +4 '
check_status "epochs --json" 0 "$culprit" epochs -i two.db --json
check "in order" python 'assert [r["samples"] for r in rows] == [4, 6] and rows[0]["sealed"] == 1 and rows[0]["events"] == "cycles" and rows[0]["machine"] == "m1", rows'
check_status "epochs --csv" 0 "$culprit" epochs -i two.db --csv
{
	printf 'epoch\t1700000000\t1700000060\nsample\t1\t11\t/x\tcycles\t1000\t16\t40\tcomm=x\n'
	printf 'sample\t9\t\t[unknown]\tcycles\t1000\t64\t3\tcomm=x\nsample\t9\t\t[unknown]\tfaults\t9\t80\t2\tcomm=y\n'
	printf 'counter\tcycles\t1000\tlost.memory\t7\ncounter\t-\t0\tlost.spill\t4\ncounter\t-\t0\toutside\t99\n'
	printf 'epoch\t1700000100\t1700000160\nsample\t1\t11\t/x\tcycles\t1000\t16\t6\tcomm=x\n'
} | "$mkdb" losses.db m1
check_status "epochs of losses" 0 "$culprit" epochs -i losses.db
check_match "have them beside the samples" out '^20231114T221320Z +2023-11-14T22:13:20Z +60\.00 +45 +11 +5 +0 '
check_status "as JSON" 0 "$culprit" epochs -i losses.db --json
check "each epoch its own" python 'assert [(r["samples"], r["lost"], r["unknown"], r["events"]) for r in rows] == [(45, 11, 5, "cycles, faults"), (6, 0, 0, "cycles")], rows'
check_status "as CSV" 0 "$culprit" epochs -i losses.db --csv
check_match "with their columns" out '^name,start,seconds,samples,lost,unknown,windows,'
check_status "epochs of nothing" 1 "$culprit" epochs -i none.db
check_status "epochs of a file" 1 "$culprit" epochs -i app

# Programs of one process, and of several; no more than ten have a note, none shows a zero.
{
	printf 'epoch\t1\t2\nsample\t1\t11\t/x\tcycles\t1000\t16\t4\tcomm=alone\tpid=1\n'
	for program in {1..12}; do
		for pid in 1 2 3 4; do
			printf 'sample\t1\t11\t/x\tcycles\t1000\t16\t%d\tcomm=p%d\tpid=%d\n' $((program * 10 + pid)) "$program" $((program * 10 + pid))
		done
	done
} | "$mkdb" many.db m1
check_status "many programs" 0 "$culprit" prof -i many.db --by process
check_match "a program has its balance, that chance made" out '^note: p12: 4 processes, samples min 121, mean 122.50, max 124: imbalance 1.22%; the chance of as much by sampling alone is 1$'
check "no more than ten" test "$(grep -c 'processes, samples' out)" = 10
check_match "and how many have not" out '^note: 2 more programs have several processes'
check "one of one process has none" sh -c '! grep -q "alone: " out'
check_status "many programs --csv" 0 "$culprit" prof -i many.db --by process --csv
check "have it as columns" python3 -c 'import csv
rows = {r["pid"]: r for r in csv.DictReader(open("out", newline=""))}
assert rows["11"]["program.imbalance_percent"] == "12" and rows["11"]["program.processes"] == "4", rows["11"]
assert rows["1"]["program.imbalance_percent"] == "0" and rows["1"]["percent_of_mean"] == "", rows["1"]'

# Names that bite.
long=$(printf 'n%.0s' {1..4000})
{
	printf 'epoch\t1\t2\n'
	printf 'sample\t1\t01\t/tmp/\\x1b[31mred\\n\\xff,"\\xe2\\x80\\xae\tcycles\t1000\t16\t4\tcomm=a\\nb\\x07\n'
	printf 'sample\t1\t02\t/%s\tcycles\t1000\t16\t3\tcomm=c\n' "$long"
} | "$mkdb" evil.db $'m1'
check_status "hostile names" 0 "$culprit" prof -i evil.db
check "reach no terminal" python3 -c 'data = open("out", "rb").read()
assert all(32 <= b < 127 or b == 10 for b in data), data
assert b"\\x1b[31mred\\n\\xff" in data and b"'"$long"'" in data'
check_status "hostile names --csv" 0 "$culprit" prof -i evil.db --csv --by image
check "are CSV" python3 -c 'import csv
rows = list(csv.DictReader(open("out", newline="")))
assert len(rows) == 2 and rows[0]["image"].startswith("/tmp/\\x1b[31mred\\n\\xff,\"\\xe2"), rows'
check_status "hostile names --json" 0 "$culprit" prof -i evil.db --json --by subject
check "are JSON" python 'assert rows[0]["subject"] == "comm=a\nb\x07", rows'

# Limits that were met, and what was lost by the way, are told.
limits="code.refused edges.damaged edges.lost edges.refused kernel.refused lines.refused stacks.damaged stacks.python.refused"
{
	printf 'epoch\t1\t2\n'
	sample cycles $((hot)) 60 app 7
	n=100
	for name in $limits; do printf 'counter\t-\t0\t%s\t%d\n' "$name" $((++n)); done
} | "$mkdb" limits.db m1
check_status "a recording that met limits" 0 "$culprit" prof -i limits.db
n=100
for name in $limits; do check_match "tells $name" out "^note: $((++n)) [a-z]+ "; done
mkdir -p limits.db/m1/images
echo damaged >limits.db/m1/images/"$id".symbols
check_status "symbols that were kept and are damaged" 0 "$culprit" prof -i limits.db
check_match "are told" out '^note: kept symbols, .* could not be read 1 time, and were rebuilt'
check_match "and read from the file" out '^ +60 .* hot '

: >empty.txt
"$mkdb" empty.db m1 <empty.txt
check_status "a database without epochs" 1 "$culprit" prof -i empty.db
check "in one line" test "$(wc -l <err)" = 1
check_status "a selection of nothing is no failure" 0 "$culprit" prof -i a.db --image nothing
check_match "but told, with where to look" out '^note: nothing matches the selection .*prof --by image'
{
	printf 'epoch\t1700000000\t1700000060\ncounter\tcycles\t1000\tsamples\t0\n'
	printf 'edge\t1\tabcd\t/x\twindows\t16\t32\t1\t1\n'
} | "$mkdb" none.db m1 || fail "mkdb"
check_status "no samples at all are no failure" 0 "$culprit" prof -i none.db
check_match "but told, with what to do" out '^note: there are no samples of cycles: record for longer'
tap_end
