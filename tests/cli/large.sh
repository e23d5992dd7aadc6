#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# A function that is too large: for the flow of frequencies, which says so, and for Graphviz.
. "$(dirname "$0")/../tap.sh"
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS

# Blocks that jump anywhere: whatever is eliminated first, nearly all of them become one matrix.
blocks=4000
awk -v n=$blocks 'BEGIN {
	print "\t.text\n\t.globl web\n\t.type web, @function\nweb:"
	for (i = 0; i < n; i++) {
		x = (x * 1103515245 + 12345) % 2147483648
		printf "L%d:\tadd $1, %%rax\n\tjc L%d\n", i, int(x / 65536) % n
	}
	print "\tret\n\t.size web, . - web\n\t.section .note.GNU-stack, \"\", @progbits"
}' >web.s
echo 'void web(void); int main(void) { web(); }' >main.c
check "assemble" gcc -g -Wl,--build-id -Wl,-z,noexecstack main.c web.s -o web
id=$(readelf -n web | sed -n 's/.*Build ID: //p')
start=$((0x$(nm web | awk '$3 == "web" { print $1 }')))
{
	printf 'epoch\t100\t200\n'
	nm --defined-only web | python3 -c 'import sys
for n, line in enumerate(sorted(sys.stdin)):
    address, _, name = line.split()
    if name[0] == "L":
        print("sample", 1, sys.argv[1], sys.argv[2], "cycles", 1000, int(address, 16), 1 + n % 9,
              "comm=web", sep="\t")' "$id" "$PWD/web"
} | "$build/tests/cli/mkdb" db m1 || fail "mkdb"
json() { python3 -c 'import json, sys
j = json.load(open("out"))
sys.exit(not ('"$1"'))'; }

check_status "calc" 0 "$culprit" calc -i db --brief web
check_match "says by which rule" out \
	'^note: frequencies: by the rule of DCPI, from samples alone: a function is too large for the flow'
check_status "in JSON" 0 "$culprit" calc -i db --json --blocks 0 web
check "has all its blocks" json "len(j['functions'][0]['blocks']) >= $blocks"
grep -v '"notes"\|frequencies: ' out >flow
check_status "that rule, asked for" 0 "$culprit" calc -i db --json --blocks 0 --classic web
grep -v '"notes"\|frequencies: ' out >classic
check "is the same" cmp -s flow classic

check_status "a drawing" 1 "$culprit" cfg -i db web -o web.svg
check "is refused in one line" test "$(wc -l <err)" = 1 -a ! -s out -a ! -e web.svg
check_match "which says what to do" err \
	'^culprit: [0-9]+ blocks are more than Graphviz can draw \(1000\): .*--limit 200.*-o FILE\.dot'
check_status "the text has no limit" 0 "$culprit" cfg -i db web -o web.dot
check "but all the blocks" test "$(grep -c 'label="[0-9a-f]*  .*times*' web.dot)" -ge $blocks
check_status "the heaviest alone" 0 "$culprit" cfg -i db --limit 20 web -o few.dot
check "are so many" test "$(grep -c 'label="[0-9a-f]*  .*times*' few.dot)" = 20
check_match "and it is said what is left out" err '^culprit: [0-9]+ blocks are not shown \(--limit\)$'
check "the entry among them" grep -q "label=\"$(printf '%x' "$start")  .*times*" few.dot
if command -v dot >/dev/null; then
	check_status "drawn" 0 "$culprit" cfg -i db -n 20 web -o few.svg
	check "whole" grep -q '</svg>' few.svg
else
	skip "drawn" "dot is not installed"
fi
for limit in 0 -1 x 100000001; do
	check_status "--limit $limit" 2 "$culprit" cfg -i db --limit "$limit" web
done
check_status "more than there are" 0 "$culprit" cfg -i db --limit 100000000 web

tap_end
