# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# Loops and drawings: culprit prof --by loop, and culprit cfg, on a made database.
. "$(dirname "$0")/../tap.sh"
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS

# In AT&T's syntax, so that every address is known by a label whatever the compiler does.
cat >nest.s <<'S'
	.text
	.globl nest, main
	.type nest, @function
	.type main, @function
nest:
	mov $10, %ecx
outer:
	mov $10, %edx
inner:
	add $1, %eax
inner_end:
	sub $1, %edx
	jnz inner
latch:
	sub $1, %ecx
	jnz outer
out:
	ret
	.size nest, . - nest
main:
	call nest
	xor %eax, %eax
	ret
	.size main, . - main
	.section .note.GNU-stack, "", @progbits
S
check "assemble" gcc -g -Wl,--build-id nest.s -o nest
id=$(readelf -n nest | sed -n 's/.*Build ID: //p')
at() { nm nest | awk -v name="$1" '$3 == name { print "0x" $1 }'; }
hex() { printf '0x%x' "$(at "$1")"; }
sample() { # ADDRESS COUNT [EVENT]
	printf 'sample\t1\t%s\t%s\t%s\t1000\t%d\t%d\tcomm=nest\n' "$id" "$PWD/nest" "${3:-cycles}" $(($1)) "$2"
}
{
	printf 'epoch\t100\t200\n'
	sample "$(at inner)" 60
	sample "$(at inner_end)" 20
	sample "$(at latch)" 7
	sample "$(at outer)" 3
	sample "$(at main)" 9
	sample "$(at inner)" 5 cache-misses
	printf 'sample\t9\t01\t\tcycles\t1000\t%d\t1\tcomm=nest\n' $((0xdead))
	printf 'sample\t1\tabcd\t/gone\tcycles\t1000\t16\t4\tcomm=gone\n'
} | "$build/tests/cli/mkdb" db m1 || fail "mkdb"

# json ASSERTION: over the object j of out and its rows.
json() { python3 -c 'import json; j = json.load(open("out")); rows = j["rows"]; assert ('"$1"'), j'; }

check_status "prof --by loop" 0 "$culprit" prof -i db --by loop
check_match "has the outer loop with what is in the inner" out '^ +90 +86\.54 +10 +5 .* 1 +0x.*nest'
check_match "and the inner loop" out '^ +80 +76\.92 +80 +5 .* 2 +0x.*nest'
check_match "says what code is not at hand" out '^note: no code of 1 image'
check_status "prof --by loop --json" 0 "$culprit" prof -i db --by loop --json
check "nests by headers" json '[r["header"] for r in rows[:2]] == ["'"$(hex outer)"'", "'"$(hex inner)"'"] and rows[1]["parent"] == rows[0]["header"] and rows[0]["parent"] is None'
check "counts with and without inner loops" json '[(r["samples"], r["self"], r["depth"]) for r in rows[:2]] == [(90, 10, 1), (80, 80, 2)]'
check "counts all events" json 'rows[1]["events"] == {"cycles": 80, "cache-misses": 5}'
check "names function, file and line of the header" json 'rows[0]["function"] == "nest" and rows[0]["file"].endswith("nest.s") and (rows[0]["line"], rows[1]["line"]) == (8, 10)'
check "keeps what is in no loop" json '[(r["function"], r["samples"]) for r in rows[2:]] == [("[no loop]", 9), ("[no code]", 4), ("[unknown]", 1)]'
check "loses nothing" json 'rows[0]["samples"] + sum(r["samples"] for r in rows[2:]) == 104'
cp out loops.json
check_status "prof --by line --json" 0 "$culprit" prof -i db --by line --json
check "has the same samples" json 'sum(r["samples"] for r in rows) == sum((r["samples"] if r["self"] is None else r["self"]) for r in __import__("json").load(open("loops.json"))["rows"])'
check_status "prof --by function --json" 0 "$culprit" prof -i db --json
check "as functions have" json '(lambda loops: sum(r["samples"] for r in rows) == 104
	and [r["samples"] for r in rows if r["function"] == "nest"] == [sum(r["self"] for r in loops if r["header"] and r["function"] == "nest")])(__import__("json").load(open("loops.json"))["rows"])'
check_status "list --json" 0 "$culprit" list -i db --json nest
check "has those of each loop in its code" python3 -c 'import json, sys
outer, inner, latch, out = (int(a, 16) for a in sys.argv[1:])
code = [(int(r["address"], 16), r["samples"]) for r in json.load(open("out"))["rows"] if r.get("address")]
own = lambda *ranges: sum(n for a, n in code if any(s <= a < e for s, e in ranges))
loops = {r["header"]: r["self"] for r in json.load(open("loops.json"))["rows"] if r["depth"]}
assert loops == {hex(outer): own((outer, inner), (latch, out)), hex(inner): own((inner, latch))}, (loops, code)' \
	"$(at outer)" "$(at inner)" "$(at latch)" "$(at out)"
check_status "prof --by loop --csv" 0 "$culprit" prof -i db --by loop --csv
check "has as many rows" test "$(wc -l <out)" = 6
check_status "loops of one function" 0 "$culprit" prof -i db --by loop --function '^main$' --json
check "are its own" json '[(r["function"], r["samples"]) for r in rows] == [("[no loop]", 9)]'

check_status "cfg" 0 "$culprit" cfg -i db nest
check_match "prints a graph" out '^digraph cfg \{'
check_match "with the instructions of hot blocks" out '60  [0-9a-f]+  addl? .0x1, %eax'
check_match "and loops marked" out 'peripheries=2'
check_match "and what would narrow the intervals" out 'label=.*executions are from samples alone: culprit record --edges'
check "to the end" test "$(tail -n 1 out)" = '}'
check_status "cfg --intel" 0 "$culprit" cfg -i db nest --intel
check_match "has Intel's syntax" out 'add eax, 0x0?1'
check_status "cfg --json" 0 "$culprit" cfg -i db nest --json
check "has blocks and edges" json '[r["start"] for r in rows if r["kind"] == "block"] == ["'"$(hex nest)"'", "'"$(hex outer)"'", "'"$(hex inner)"'", "'"$(hex latch)"'", "'"$(hex out)"'"] and sorted(r["kind"] for r in rows if r["start"] is None) == ["enter", "fall-through", "fall-through", "fall-through", "fall-through", "return", "taken", "taken"]'
check "with samples and loops" json '[(r["samples"], r["depth"]) for r in rows if r["kind"] == "block"] == [(0, None), (3, 1), (80, 2), (7, 1), (0, None)]'
# What enters each block leaves it, as nearly as the iterative estimate is a flow.
check "with frequencies that add up" python3 -c 'import json
rows = json.load(open("out"))["rows"]
for b in [r for r in rows if r["kind"] == "block"]:
    into = sum(r["frequency"] for r in rows if r["to"] == b["start"])
    out = sum(r["frequency"] for r in rows if r["from"] == b["start"])
    assert abs(into - b["frequency"]) < 1e-3 * into and abs(out - b["frequency"]) < 1e-3 * out, (b, into, out)
    assert b["frequency"] > 0, b'
check_status "cfg by address" 0 "$culprit" cfg -i db "$(at main)" --image nest
check_match "is the function there" out '^	label="main, '
check_match "with what was sampled, lost and unknown in the title" out 'one in [0-9]+.*lost [0-9]+, unknown [0-9]+'
check_status "cfg -o FILE.dot" 0 "$culprit" cfg -i db nest -o n.dot
check "the file is for whom the mask lets read" test "$(umask 077; "$culprit" cfg -i db nest -o own.dot; stat -c %a own.dot)" = 600
check "writes the text" grep -q '^digraph cfg' n.dot

if command -v dot >/dev/null; then
	for suffix in svg pdf ps; do
		check_status "cfg -o FILE.$suffix" 0 "$culprit" cfg -i db nest -o "n.$suffix"
	done
	check "an SVG" grep -q '<svg' n.svg
	check "a PDF" test "$(head -c 4 n.pdf)" = %PDF
	check "PostScript" test "$(head -c 4 n.ps)" = %!PS
	check "nothing else is left" test "$(find . -name 'n.*' | wc -l)" = 4
	check_status "a directory that is not there" 1 "$culprit" cfg -i db nest -o no/n.svg
else
	skip "drawing" "dot is not installed"
fi
mkdir -p empty
check_status "without dot" 1 env PATH="$PWD/empty" "$culprit" cfg -i db nest -o m.svg
check_match "names the package" err 'install the package graphviz'
check "and leaves no file" test ! -e m.svg
mkdir -p dots
printf '#!/bin/sh\necho "Error: <stdin>: syntax error in line 3" >&2; echo "and more" >&2; exit 3\n' >dots/dot
chmod +x dots/dot
check_status "dot fails" 1 env PATH="$PWD/dots:$PATH" "$culprit" cfg -i db nest -o m.svg
check "and nothing but one line is said" test "$(wc -l <err)" = 1 -a ! -s out
check_match "what, why and what to do" err \
	"^culprit: Graphviz's dot failed \\(exit status 3: <stdin>: syntax error in line 3\\); write the text instead"
check "it leaves no file either" test "$(find . -name 'm.svg*' | wc -l)" = 0
printf '#!/bin/sh\necho "Warning: some font" >&2; echo drawn\n' >dots/dot
check_status "dot warns" 0 env PATH="$PWD/dots:$PATH" "$culprit" cfg -i db nest -o m.svg
check "in vain" test ! -s err -a "$(cat m.svg)" = drawn
mkdir -p small
if mount -t tmpfs -o size=16k none small 2>/dev/null; then
	head -c 20000 /dev/zero >small/fill 2>/dev/null
	check_status "a full disk" 1 "$culprit" cfg -i db nest -o small/m.svg
	umount small
	check_match "is what is told" err '^culprit: cannot write .*: No space left on device$'
else
	skip "a full disk" "needs the right to mount"
fi
check_status "an unknown suffix" 2 "$culprit" cfg -i db nest -o n.jpeg
check_match "names those there are" err '\.svg, \.pdf'
check_status "two forms" 2 "$culprit" cfg -i db nest -o n.svg --json
check_status "a full disk is an error" 1 sh -c '"$1" cfg -i db nest >/dev/full' - "$culprit"
check_match "with the reason" err 'No space left on device'
check_status "no function" 2 "$culprit" cfg -i db
check_status "two functions" 2 "$culprit" cfg -i db nest main
check_status "a function without samples" 1 "$culprit" cfg -i db nowhere
before=$(hex main)
printf 'x' | dd of=nest bs=1 seek=$((0x40)) conv=notrunc status=none
gcc -g -O2 -Wl,--build-id nest.s -o nest -nostartfiles -Wl,-e,main 2>/dev/null
check_status "a program that was rebuilt" 1 "$culprit" cfg -i db "$before" --image nest
check_match "is refused" err "another build"
tap_end
