#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# culprit list: one function's instructions and lines, with what is missing said and not guessed.
. "$(dirname "$0")/../tap.sh"

machine=0123456789abcdef0123456789abcdef
cat >p.c <<'C'
int data[64];
static inline __attribute__((always_inline)) int deep(int x)
{
	return data["a\nb"[x & 1] & 63] / x;
}
__attribute__((noinline)) int outer(int x)
{
	int sum = 0;
	for (int i = 1; i < x; i++)
		sum += deep(i);
	return sum;
}
__attribute__((noinline)) int outer_two(int x)
{
	return outer(x) * 2;
}
int main(int argc, char **argv)
{
	(void)argv;
	return outer_two(argc);
}
C

build_id() { readelf -n "$1" | awk '/Build ID/ { print $3 }'; }
symbol() { nm "$1" | awk -v name="$2" '$3 == name { print "0x" $1 }'; }
# The address of the first division of a program.
division() { objdump -d "$1" | awk '/idiv/ { sub(":", "", $1); print "0x" $1; exit }'; }
sample() { # IMAGE ADDRESS EVENT COUNT
	printf 'sample\t1\t%s\t%s\t%s\t1000\t%d\t%d\tcomm=p\n' "$(build_id "$1")" "$PWD/$1" "$3" \
		"$(($2))" "$4" | awk -F'\t' -v OFS='\t' '{ t = $7; $7 = t; print }'
}
mkdb() { "$build/tests/cli/mkdb" "$1" $machine; }
list() { "$culprit" list -i db "$@"; }
# json FIELD-EXPRESSION: evaluates it over the object d of out.
json() { python3 -c "import json; d = json.load(open('out')); rows = d['rows']; assert ($1), d"; }

check "compile" gcc -O2 -g p.c -o p
at=$(division p)
{
	printf 'epoch\t100\t200\n'
	sample p "$at" cycles 70
	sample p "$at" cache-misses 5
	sample p "$(symbol p outer)" cycles 30
	sample p "$(symbol p outer_two)" cycles 11
} >samples
check "make a database" mkdb db <samples

check_status "an address where there is nothing" 1 list 0x1
check_match "is refused as a name is" err "no samples in '0x1' in these epochs"
check_status "an address in a function without samples" 0 list "$(symbol p main)"
check_status "a function by name" 0 list outer
check "its division has its samples" grep -Eq '^ +70 +70\.00 .*idiv' out
check "the source line stands before it" grep -Fq 'return data["a\nb"[x & 1] & 63] / x;' out
check "inlined code says so" grep -q 'p.c: deep, inlined' out
check "all events are shown" grep -q 'cache-misses' out
check "two matches are told apart" grep -q 'outer in ' out

check_status "JSON" 0 list --json outer
check "counts and lines in JSON" json "[r for r in rows if r['kind'] == 'instruction'
	and int(r['address'], 16) == $at and r['samples'] == 70 and r['line'] == 4
	and r['function'] == 'deep' and r['events']['cache-misses'] == 5]"
check "instructions add up" json \
	"sum(r['samples'] for r in rows if r['kind'] == 'instruction') == 100"
check "source lines add up" json "sum(r['samples'] for r in rows if r['kind'] == 'source') == 100"
check_status "CSV" 0 list --csv outer
check "CSV has the division" grep -q ',.*idiv' out

check_status "assembly only" 0 list -A outer
check "no source in it" bash -c '! grep -q "int sum" out && grep -q idiv out'
check_status "Intel's syntax" 0 list -A --intel outer
check "it is Intel's" grep -Eq 'idiv [a-z]' out
check_status "AT&T's syntax" 0 list -A outer
check "it is AT&T's" grep -Eq 'idivl %' out
objdump -d -M suffix --no-show-raw-insn p | awk '/^[0-9a-f]+ <outer>:/ { on = 1; next } /^$/ { on = 0 }
	on { sub(":", "", $1); print "0x" $1, $2 }' >by_objdump
check_status "as CSV" 0 list -A --csv outer
python3 - >by_list <<'PY'
import csv
for row in csv.DictReader(line for line in open("out") if line[0] != "#"):
    print(row["address"], row["text"].split()[0])
PY
check "there are some" test -s by_list
head -n "$(wc -l <by_list)" by_objdump >first_by_objdump # without the padding behind the function
check "the names of instructions are objdump's" cmp first_by_objdump by_list
objdump -d p | grep -o '# [0-9a-f]* <data>' | sed 's/# /# 0x/' >data_by_objdump
check "there is a variable" test -s data_by_objdump
check "it has its name" grep -Fqf data_by_objdump out
check_status "the hot part" 0 list -A --min 50 --json outer
check "hot rows, what stands near them, and all samples accounted for" json "
	[r['samples'] for r in rows].count(70) == 1 and 4 <= len(rows) <= 7
	and any('are left out' in n and f'with {100 - sum(r[\"samples\"] for r in rows)} samples' in n for n in d['notes'])"
check_status "the hot part, as text" 0 list --min 50 outer
check_match "gaps are shown" out '^ +\.\.\.$'
check "the heading of inlined code stays" grep -q 'p.c: deep, inlined' out
check_status "the hot part of a file" 0 list --file p.c --min 50
check "its hot line alone" bash -c "grep -q 'return data' out && ! grep -q 'argc, char' out && grep -q 'left out' out"
# A line number may be anything.
printf '#line 2147480000 "huge.c"\n__attribute__((noinline)) int huge(int x)\n{\n\treturn 7 / x;\n}\nint main(int c, char **v)\n{\n\treturn huge(c) + !v;\n}\n' >h.c
check "compile one with huge line numbers" gcc -O1 -g h.c -o h
{ printf 'epoch\t100\t200\n'; sample h "$(division h)" cycles 70; } | mkdb huge.db
check_status "its hot part takes no byte a line" 0 bash -c 'ulimit -v 1500000; "$0" list -i huge.db --file huge.c --min 50 --json' "$culprit"
check "and is there" json "[(r['line'], r['samples']) for r in rows if r['samples']] == [(2147480002, 70)]"
check_status "not a percentage" 2 list --min 101 outer
check_status "source only" 0 list -S outer --json
check "each line once" json "len([r for r in rows if r['line'] == 4]) == 1
	and all(r['address'] is None for r in rows)"

check_status "a part of several names" 1 list oute
check "all are shown" grep -q outer_two out
check "how to choose is said" grep -q 'matches 2 functions' err
check_status "a regular expression" 0 list '^outer_t.o$'
check_status "by address" 0 list "$at"
check "it is the function there" grep -q 'outer in ' out
check_status "never sampled" 1 list main
check "it says so" grep -q "no samples in 'main'" err
check_status "no function" 2 list
check_status "two functions" 2 list outer main
check_status "both forms" 2 list -A -S outer
check_status "an image that does not match" 1 list --image '*/none' outer

mv p.c moved.c
check_status "the source is gone" 0 list outer
check "it says so" grep -Eq 'note: .*/p.c: No such file' out
check "the instructions are there" grep -q idiv out
mv moved.c p.c
printf '\033[31mnasty\n%.0s' {1..20} >other.c
cp p.c kept.c && cp other.c p.c
check_status "a source with escapes" 0 list outer
check "no escape reaches the terminal" bash -c "! grep -q $'\033' out"
cp kept.c p.c

cp p with_debug
strip p
rm -r db/$machine/images
check_status "a stripped program, by its made-up name" 0 list "FUN_$(printf %x "$(symbol with_debug outer)")"
check "its samples" grep -Eq '^ +70 +70\.00 .*idiv' out
check "why there is no source" grep -q 'note: no source: ' out
check_status "its source lines" 0 list -S --json "FUN_$(printf %x "$(symbol with_debug outer)")"
check "are one row that is not known, with all samples" json "[(r['samples'], r['line'], r['file']) for r in rows] ==
	[(100, None, None)]"

rm -r db/$machine/images
cp with_debug p
check_status "with symbols again" 0 list outer
gcc -O1 p.c -o p
check_status "another build at the same path" 1 list outer
check "it is refused with the reason" grep -q 'another build' err
rm p
check_status "the file is gone" 0 list outer
check "what is missing is said" grep -q 'note: no instructions: ' out
check "samples by address are left" grep -Eq "^ +70 +70\.00 +.*$at" out

tap_end
