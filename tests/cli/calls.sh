#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# culprit calls on made databases: trees, what is left out, selection, forms, hostile names.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"

python_more='def walk(nodes, depth=0):
    for n in nodes:
        yield depth, n
        yield from walk(n["children"], depth + 1)
def text(nodes):
    return [n["function"] + ("(" + ",".join(text(n["children"])) + ")" if n["children"] else "") for n in nodes]'

. "$root/tests/stack_app.sh"
leaf=$(address leaf) one=$(address one) two=$(address two)
mapfile -t one_calls < <(calls one)
mapfile -t main_calls < <(calls main)
{
	printf 'epoch\t1700000000\t1700000060\n'
	frame leaf "$leaf"
	frame one "$one"
	frame one.1 "${one_calls[0]}"
	frame one.2 "${one_calls[1]}"
	frame two.1 $((two + 4))
	frame main.one "${main_calls[0]}"
	frame main.two "${main_calls[1]}"
	printf 'frame\tcut\t10\t01\t[truncated: no unwind rule]\t0\n'
	printf 'frame\tgap\t10\t02\t[frames left out]\t0\n'
	printf 'frame\tother\t1\t77\t/gone/lib\t0x500\n'
	stack cycles 1000 50 comm=app main.one one.1 leaf
	stack cycles 1000 20 comm=app main.one one.2 leaf
	stack cycles 1000 10 comm=app main.two two.1 leaf
	stack cycles 1000 5 comm=app main.one one
	stack cycles 1000 5 comm=app cut two.1 leaf
	stack cycles 1000 3 comm=app main.one gap one
	stack cycles 1000 4 comm=lib main.two other
	stack cycles 1000 3 comm=app main.one one.1 main.one one.1 leaf
	printf 'counter\tcycles\t1000\tsamples\t100\n'
	printf 'counter\t-\t0\tstacks.lost\t2\n'
} | "$mkdb" a.db m1 || fail "mkdb"

check_status "calls" 0 "$culprit" calls -i a.db
check_match "tells the quality and why stacks end" out '^note: 100 stacks, 95.00% complete; truncated: no unwind rule 5$'
check_match "tells deep stacks" out '^note: 3 stacks are so deep'
check_match "tells what was lost" out '^note: 2 stacks were taken and lost'
check_match "tells which image has no symbols" out '^note: no symbols of 1 image: '
check_match "keeps call sites apart" out '^ +50.00 +0.00 +50 .*leaf +app.c:13 '
check_match "by their lines" out '^ +20.00 +0.00 +20 .*leaf +app.c:15 '
check_match "shows what was inlined" out '50.00 +50.00 +50 .*small \(inlined\) +app.c:9 '
check_match "shows what was cut, at the root" out '^ +5.00 +0.00 +5  \[truncated: no unwind rule\]'
check_match "shows what was left out" out '^ +3.00 +0.00 +3 .*\[frames left out\]'

check_status "calls --json" 0 "$culprit" calls -i a.db --json
check "is one tree" python 'assert j["report"] == "calls" and (j["stacks"], j["complete"], j["gapped"]) == (100, 95, 3), j
assert j["truncated"] == {"no unwind rule": 5}
assert [(r["function"], r["total"], r["percent"]) for r in rows] == [("main", 95, 95), ("[truncated: no unwind rule]", 5, 5)]
one = rows[0]["children"][0]
assert (one["function"], one["total"], one["self"], one["site_line"]) == ("one", 78, 5, 25), one
assert one["site"] == hex('"${main_calls[0]}"') and one["build_id"] == "'"$id"'" and one["image"].endswith("/app")
assert sum(n["self"] for d, n in walk(rows)) == 100 and all(n["total"] == n["self"] + sum(c["total"] for c in n["children"]) for d, n in walk(rows))'
check_status "calls --json --no-inlined" 0 "$culprit" calls -i a.db --json --no-inlined
check "has the functions that have the code" python 'assert not any(n["inlined"] for d, n in walk(rows))
assert [n["self"] for d, n in walk(rows) if n["function"] == "leaf"].count(50) == 1'
check_status "calls --merge" 0 "$culprit" calls -i a.db --json --merge --no-inlined
check "has one line a callee" python 'one = rows[0]["children"][0]
assert [(c["function"], c["total"], c["site"]) for c in one["children"]] == [("leaf", 70, None), ("main", 3, hex('"${one_calls[0]}"'))], one'
check_status "calls --fold" 0 "$culprit" calls -i a.db --json --fold --no-inlined
check "no function stands below itself" python 'assert rows[0]["recursive"] and rows[0]["total"] == 95
def unique(n, above):
    assert n["function"] not in above or n["function"][0] == "[", (n["function"], above)
    for c in n["children"]: unique(c, above | {n["function"]})
for r in rows: unique(r, set())'

check_status "calls --hot" 0 "$culprit" calls -i a.db --hot
check_match "goes down" out ' leaf +app.c:13'
check "and nowhere else" test "$(grep -c ' two ' out)" = 0
check_match "and accounts for the rest" out '… [0-9]+ more, 20.00%|… 3 more'
check_status "calls --hot=90" 0 "$culprit" calls -i a.db --hot=90 --json
check "stops where no callee has so much" python 'assert text(rows) == ["main"] and rows[0]["more"] == {"nodes": 4, "samples": 95}, text(rows)'
check_status "calls --prune" 0 "$culprit" calls -i a.db --prune 30 --json
check "accounts for what it leaves out" python 'assert text(rows) == ["main(one(leaf(small)))"], text(rows)
assert j["rows"][0]["more"]["samples"] == 17 and rows[0]["children"][0]["more"]["nodes"] == 2'
check_status "calls --prune of a small selection" 0 "$culprit" calls -i a.db --subject comm=lib --prune 50 --json
check "leaves out what has less of that, not of all" python 'assert text(rows) == ["main([no symbol])"], text(rows)'
check_status "calls --depth" 0 "$culprit" calls -i a.db --depth 2 --json
check "shows two levels" python 'assert max(d for d, n in walk(rows)) == 1
assert all("more" in n for n in rows[0]["children"] if n["function"] == "one" and not n["self"] == n["total"])'
check_status "calls --function" 0 "$culprit" calls -i a.db --function '^two$' --json
check "keeps stacks that have it" python 'assert sum(r["total"] for r in rows) == 15
assert any("selection has 15.00% of the samples" in n for n in j["notes"])'
check_status "calls --image" 0 "$culprit" calls -i a.db --image lib --json
check "keeps stacks that have it" python 'assert text(rows) == ["main([no symbol])"], text(rows)'
check_status "calls of an image that is not there" 0 "$culprit" calls -i a.db --image nowhere
check_match "says so as prof does" out 'note: nothing matches the selection'
check_status "calls --subject" 0 "$culprit" calls -i a.db --subject comm=lib --json
check "keeps its stacks, as a share of all" python 'assert rows[0]["total"] == 4 and rows[0]["percent"] == 4 and j["stacks"] == 4'
check_status "calls --by subject" 0 "$culprit" calls -i a.db --by subject --json
check "has a tree for each" python 'assert [(r["subject"], r["total"]) for r in rows] == [("comm=app", 96), ("comm=lib", 4)]'
check_status "calls --csv" 0 "$culprit" calls -i a.db --csv --no-inlined
check "has the nodes with their depth" python3 -c 'import csv
rows = list(csv.DictReader(open("out", newline="")))
assert rows[0]["function"] == "main" and rows[0]["depth"] == "1" and rows[0]["total"] == "95", rows[0]
assert sum(int(r["self"]) for r in rows) == 100'

# refuse NAME STATUS REGEX ARGUMENT...
refuse() { check_refused "$1" "$2" "$3" "$culprit" calls "${@:4}"; }
refuse "no database" 1 'there is no database' -i none.db
refuse "bad regex" 2 'regular expression' -i a.db --function '('
refuse "bad depth" 2 "'0'" -i a.db --depth 0
refuse "bad percent" 2 "'101'" -i a.db --prune 101
refuse "bad hot" 2 "'x'" -i a.db --hot=x
refuse "bad by" 2 "'line'" -i a.db --by line
refuse "no such function" 1 "no stack contains 'nope'" -i a.db nope
refuse "several functions" 1 "'o' matches [23] functions: 'one', 'two'" -i a.db o
refuse "two functions" 2 'one function' -i a.db one two
refuse "--gprof of one function" 2 'gprof' -i a.db --gprof one
refuse "bad limit" 2 "'0'" -i a.db -n 0
refuse "a page of one function" 2 'html.*--function' -i a.db --html x.html one
refuse "a page and JSON" 2 'one of --html, --json and --csv' -i a.db --html x.html --json
refuse "a habit" 2 'unknown option --bottom-up: --callers ' -i a.db --bottom-up
refuse "a habit with a value" 2 'unknown option --no-children: total%' -i a.db --no-children=1
refuse "no such event" 1 'the events are: .*cycles' -i a.db --event nope
printf 'epoch\t1\t2\nsample\t1\t01\t/x\tcycles\t1000\t16\t4\tcomm=x\n' | "$mkdb" flat.db m1
refuse "no stacks" 1 'there are no stacks' -i flat.db

# Bottom up: from where samples were taken out to who called.
check_status "calls --callers" 0 "$culprit" calls -i a.db --callers --json --no-inlined --merge
check "begins where samples were taken" python 'assert [(r["function"], r["self"], r["total"]) for r in rows][:3] == [("leaf", 88, 88), ("one", 8, 81), ("[no symbol]", 4, 4)], rows
assert [(c["function"], c["self"]) for c in rows[0]["children"]] == [("one", 73), ("two", 15)]'
check_status "calls --callers as text" 0 "$culprit" calls -i a.db --callers --prune 10
check_match "tells where it is called" out 'one +app.c:13 '
check "has no line for a rest of less" bash -c '! grep "more, 5.00%" out'
check_match "and says so" out '^note: lines of less than 10% are left out \(--prune\)'
check_status "calls --prune of less" 0 "$culprit" calls -i a.db --callers --prune 6 -n 2
check_match "accounts for a rest that has as much" out '… [0-9]+ more, (6|7|8|9|1[0-9])[.][0-9]+%'
check_status "calls --callers FUNCTION" 0 "$culprit" calls -i a.db --callers one --json --merge --no-inlined
check "has its callers by all that it cost" python 'assert text(rows) == ["one(main(one(main)))"] or text(rows)[0].startswith("one(main"), text(rows)
assert rows[0]["total"] == 81'

# One function: who called it, whom it called.
check_status "calls FUNCTION" 0 "$culprit" calls -i a.db --json --no-inlined leaf
check "has callers and callees" python 'r = [(x["role"], x.get("function"), x["samples"]) for x in rows]
assert r[-1] == ("self", "leaf", 88) and r[-2] == ("total", "leaf", 88), r
assert sum(n for role, f, n in r if role == "caller") == 88 and ("caller", "one", 53) in r, r
assert [x["site"] for x in rows if x.get("function") == "one"][-1] == hex('"${one_calls[0]}"'), rows'
check_status "calls FUNCTION as text" 0 "$culprit" calls -i a.db leaf
check_match "shows an inlined callee" out 'callee +small'
check_status "calls FUNCTION --csv" 0 "$culprit" calls -i a.db --csv two
check_match "is CSV" out '^15,.*,15,total,two'

# Only the heaviest, and the rest accounted for, in every view.
check_status "calls --limit" 0 "$culprit" calls -i a.db --json --no-inlined -n 1
check "has the heaviest of each line" python 'assert text(rows) == ["main(one(leaf))"], text(rows)
assert rows[0]["more"]["samples"] == 17 and rows[0]["children"][0]["more"] == {"nodes": 2, "samples": 23}, rows
assert sum(n["self"] + n.get("more", {}).get("samples", 0) for d, n in walk(rows)) + j["more"]["samples"] == 100'
check_status "calls --callers --limit" 0 "$culprit" calls -i a.db --callers --json --no-inlined --merge --limit 2
check "has the heaviest functions" python 'assert [r["function"] for r in rows] == ["leaf", "one"] and j["more"] == {"nodes": 1, "samples": 4}, rows'
check_status "calls FUNCTION --limit" 0 "$culprit" calls -i a.db --json --no-inlined -n 1 leaf
check "has the heaviest caller" python 'assert [(r["role"], r.get("function"), r.get("more"), r["samples"]) for r in rows] == [
    ("caller", None, 2, 35), ("caller", "one", None, 53), ("total", "leaf", None, 88), ("self", "leaf", None, 88)], rows'
check_status "calls --gprof --limit" 0 "$culprit" calls -i a.db --gprof -n 2
check "has the first entries" test "$(grep -c '^\[' out)" = 2
check_match "and says how many more" out '… [0-9]+ more functions'

# gprof: leaf is called by one many times, by two seldom; the stacks know better.
{
	printf 'epoch\t1700000000\t1700000060\n'
	frame leaf "$leaf"
	frame one.1 "${one_calls[0]}"
	frame two.1 $((two + 4))
	frame main.one "${main_calls[0]}"
	frame main.two "${main_calls[1]}"
	stack cycles 1000 10 comm=app main.one one.1 leaf
	stack cycles 1000 90 comm=app main.two two.1 leaf
	edge() { printf 'edge\t1\t%s\t%s\twindows\t%d\t%d\t%d\t1\n' "$id" "$PWD/app" "$@"; }
	edge $((one_calls[0] - 4)) "$leaf" 999
	edge $((two + 4)) "$leaf" 1
	edge $((main_calls[0] - 4)) "$one" 1
	edge $((main_calls[1] - 4)) "$two" 1
	edge $((leaf + 4)) $((leaf + 8)) 5
} | "$mkdb" gprof.db m1 || fail "mkdb"
check_status "calls --gprof" 0 "$culprit" calls -i gprof.db --gprof
check_match "has the truth and gprof's rule of a caller" out '^ +90 +0 +90 +0.10  1/1000 +two \[[0-9]\]$'
check_match "and of the other" out '^ +10 +0 +10 +99.90  999/1000 +one \[[0-9]\]$'
check_match "has the function itself" out '^\[[0-9]\] +100.00 +100 +0 +100 +100.00  1000 +leaf \[[0-9]\]$'
check "enough calls were seen" bash -c '! grep rough out'
check_status "calls --gprof --json" 0 "$culprit" calls -i gprof.db --gprof --json
check "has the same" python 'f = {r["function"]: r for r in rows}
assert [(c["function"], c["total"], round(c["gprof"], 6), c["calls"]) for c in f["leaf"]["callers"]] == [("one", 10, 99.9, 999), ("two", 90, 0.1, 1)], f["leaf"]
assert f["two"]["total"] == 90 and round(f["two"]["gprof"], 6) == 0.1 and f["main"]["gprof"] == 100
assert [c["function"] for c in f["main"]["callees"]] == ["two", "one"] and not f["leaf"]["guessed"]'
check_status "calls --gprof without calls" 0 "$culprit" calls -i a.db --gprof
check_match "says so" out '^note: no calls were followed'
check_match "shows a cycle" out '<cycle 1 as a whole>'

# Two periods of one event, one after the other, are one; stacks of both stand for the samples of both.
{
	printf 'epoch\t1700000000\t1700000060\nframe\tx\t1\t11\t/x\t16\n'
	printf 'sample\t1\t11\t/x\tcycles\t1000\t16\t400\tcomm=x\nstack\tcycles\t1000\t40\tcomm=x\tx\n'
	printf 'epoch\t1700000100\t1700000160\nframe\tx\t1\t11\t/x\t16\n'
	printf 'sample\t1\t11\t/x\tcycles\t2000\t16\t100\tcomm=x\nstack\tcycles\t2000\t10\tcomm=x\tx\n'
} | "$mkdb" two.db m1
check_status "two periods" 0 "$culprit" calls -i two.db --epoch all --json
check "are weighed" python 'assert rows[0]["total"] == 600 and len(rows) == 1, rows'

# Two calls on one line are told apart by their addresses, in a tree and round a function; other lines are not.
cat >line.c <<'C'
volatile int x;
__attribute__((noinline)) void leaf(void) { x++; }
__attribute__((noinline)) void pair(void) { leaf(); x++; leaf(); x++; }
int main(void) { pair(); return 0; }
C
check "compile" cc -g -O1 -Wl,--build-id -o line line.c
mapfile -t line_calls < <(objdump -d line | awk '/<pair>:/ { on = 1 } /^$/ { on = 0 } on && /call.*<leaf>/ { print substr($1, 1, length($1) - 1) }')
line_id=$(readelf -n line | sed -n 's/.*Build ID: //p')
{
	printf 'epoch\t1700000000\t1700000060\n'
	for i in 0 1; do frame "pair.$i" $((0x${line_calls[i]} + 4)) "$line_id" "$PWD/line"; done
	frame line.leaf $((0x$(nm line | sed -n 's/ T leaf$//p'))) "$line_id" "$PWD/line"
	frame line.main $((0x$(objdump -d line | awk '/call.*<pair>/ { print substr($1, 1, length($1) - 1) }') + 4)) "$line_id" "$PWD/line"
	stack cycles 1000 3 comm=line line.main pair.0 line.leaf
	stack cycles 1000 2 comm=line line.main pair.1 line.leaf
} | "$mkdb" line.db m1 || fail "mkdb"
sites() { printf 'line.c:3 (%#x)\n' $((0x${line_calls[0]} + 4)) $((0x${line_calls[1]} + 4)); }
sites >wanted
check_status "calls of one line" 0 "$culprit" calls -i line.db
check "have their addresses" diff <(grep -o 'line.c:3.*[^ ]  ' out | sed 's/  .*//') wanted
check "others have not" grep -q 'line.c:4  ' out
check_status "its callers" 0 "$culprit" calls -i line.db leaf
check "have them too" diff <(grep -o 'line.c:3 ([^)]*)' out | sort) <(sort wanted)
check_status "merged" 0 "$culprit" calls -i line.db --merge
check "they are one, of no address" bash -c '! grep "(0x" out'

# What a fold leaves without stacks is no line.
{
	printf 'epoch\t1700000000\t1700000060\n'
	frame leaf "$leaf"
	frame one.1 "${one_calls[0]}"
	frame two.1 $((two + 4))
	stack cycles 1000 4 comm=app one.1 two.1 one.1 leaf
} | "$mkdb" fold.db m1 || fail "mkdb"
check_status "a folded way back" 0 "$culprit" calls -i fold.db --fold --no-inlined
check "is no line" bash -c 'grep -q "one (recursive)" out && ! grep -q "more, 0.00%" out'

# Deep recursion: what follows itself is shown once, with how often, as text; where a level has more than the
# one way on, it is shown.
{
	printf 'epoch\t1700000000\t1700000060\n'
	frame leaf "$leaf"
	frame one.1 "${one_calls[0]}"
	frame two.1 $((two + 4))
	frame main.one "${main_calls[0]}"
	stack cycles 1000 4 comm=app main.one one.1 one.1 one.1 one.1 one.1 one.1 one.1 one.1 one.1 leaf
	stack cycles 1000 3 comm=app main.one one.1 one.1 one.1 one.1 one.1 one.1
	stack cycles 1000 2 comm=app two.1 one.1 two.1 one.1 two.1 one.1 two.1 leaf
} | "$mkdb" deep.db m1 || fail "mkdb"
check_status "recursion" 0 "$culprit" calls -i deep.db --no-inlined
tree() { grep -o '  \(main\|one\|two\|leaf\|… .*more\) ' out | sed 's/^ *//; s/ *$//'; }
printf '%s\n' main one one '… 3 times more' one one '… 2 times more' leaf two one two \
	'… these 2 calls, 2 times more' leaf >wanted
check "is shown once" diff <(tree) wanted
check_status "recursion --callers" 0 "$culprit" calls -i deep.db --no-inlined --callers leaf
check_match "from the other side" out '… these 2 calls, 2 times more'
check_status "recursion --csv" 0 "$culprit" calls -i deep.db --no-inlined --csv
check "is whole in CSV" test "$(wc -l <out)" = 20

# Names that bite, and a terminal that is narrow.
{
	printf 'epoch\t1\t2\n'
	printf 'frame\ta\t10\t01\t[truncated: \\x1b[31mred\\n\\xe2\\x80\\xae]\t0\n'
	printf 'frame\tb\t1\t02\t/%s\\x1b[0m\t5\n' "$(printf 'n%.0s' {1..3000})"
	printf 'stack\tcycles\t1\t7\tcomm=a\\nb\ta\tb\tb\tb\tb\n'
} | "$mkdb" evil.db m1
check_status "hostile names" 0 "$culprit" calls -i evil.db --by subject
check "reach no terminal" python3 -c 'data = open("out", "rb").read()
assert b"\x1b" not in data and b"\xe2\x80\xae" not in data and b"comm=a\\nb" in data, data'
check_status "hostile names --json" 0 "$culprit" calls -i evil.db --json
check "are JSON" python 'assert rows[0]["function"].startswith("[truncated: ") and rows[0]["total"] == 7'

# The same file under another name: the last one, as prof has it.
second=0
for path in "$PWD/app" /gone/app "$PWD/app"; do
	printf 'epoch\t%d\t%d\n' $((++second)) $((second + 1))
	frame leaf "$leaf" "$id" "$path"
	stack cycles 1000 1 comm=app leaf
done | "$mkdb" moved.db m1
check_status "a file that moved" 0 "$culprit" calls -i moved.db --epoch all --json --no-inlined
check "goes by its last name" python 'assert [(r["image"], r["total"]) for r in rows] == [("'"$PWD"'/app", 3)], rows'

# Where a script calls its offset says, without a file: line 7 of the function that begins in line 3.
{
	printf 'epoch\t1\t2\nframe\tscript\t11\t77\t/gone/f.py\t%d\n' $((3 << 40 | 5 << 20 | 4))
	frame leaf "$leaf"
	stack cycles 1000 1 comm=app script leaf
} | "$mkdb" script.db m1
check_status "a script" 0 "$culprit" calls -i script.db --no-inlined
check_match "has the line of its call" out ' leaf +f[.]py:7 '

# A large tree.
{
	printf 'epoch\t1\t2\nforest\t20000\t40\t1\t%s\t%s/app\n' "$id" "$PWD"
} | "$mkdb" big.db m1
check_status "a large tree" 0 "$culprit" calls -i big.db --json --no-inlined
check "is whole" python3 -c 'import json, sys
sys.setrecursionlimit(100000)
j = json.load(open("out"))
def total(n): return n["self"] + sum(total(c) for c in n["children"])
assert sum(total(r) for r in j["rows"]) == sum(r["total"] for r in j["rows"]) == j["stacks"] >= 20000'
tap_end
