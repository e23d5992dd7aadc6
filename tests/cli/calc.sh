#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# culprit calc, stalls and summary: of samples that are made up, the cycles, culprits and blame.
. "$(dirname "$0")/../tap.sh"

machine=0123456789abcdef0123456789abcdef
cat >p.c <<'C'
#define KEEP __attribute__((noinline, noclone))
KEEP void chase(void **p, long n)
{
	__asm__ volatile("1: mov (%0), %0\n add $1, %%r8\n lea 3(%%r8), %%r9\n dec %1\n jnz 1b"
			 : "+r"(p), "+r"(n) : : "r8", "r9", "memory");
}
KEEP void locked(long *p, long n)
{
	__asm__ volatile("1: lock addq $1, (%0)\n add $1, %%r8\n dec %1\n jnz 1b"
			 : : "r"(p), "r"(n) : "r8", "memory");
}
int main(int argc, char **argv)
{
	void *self = &self;
	long word = 0;
	chase(&self, argc);
	locked(&word, argc);
	return (int)word - argc + !argv;
}
C
build_id() { readelf -n "$1" | awk '/Build ID/ { print $3 }'; }
# The address of the first instruction like this, and of the one after it.
code() { objdump -d p | awk '/^[0-9a-f]+ <(chase|locked)>:/ { on = 1 } /^$/ { on = 0 } on'; }
at() { code | awk -v what="$1" '$0 ~ what { sub(":", "", $1); print "0x" $1; exit }'; }
after() { code | awk -v what="$1" 'f { sub(":", "", $1); print "0x" $1; exit } $0 ~ what { f = 1 }'; }
sample() { # ADDRESS COUNT [EVENT]
	printf 'sample\t1\t%s\t%s\t%s\t1000000\t%d\t%d\tcomm=p\n' "$(build_id p)" "$PWD/p" \
		"${3:-cpu-clock}" "$(($1))" "$2"
}
# json EXPRESSION: evaluates it over the object d of out.
json() { python3 -c "import json; d = json.load(open('out')); assert ($1), d"; }

check "compile" gcc -O1 -g p.c -o p
load='mov +[(]%r..[)],%r'
{
	printf 'epoch\t100\t200\n'
	sample "$(after "$load")" 9000
	sample "$(after 'lock addq')" 3000
	sample "$(at 'lock addq')" 20
} >samples
check "make a database" bash -c "'$build/tests/cli/mkdb' db $machine <samples"

# Code that two functions share is in both graphs, its samples in one of them.
cat >shared.s <<'S'
	.globl small, big, main
	.type small, @function
small:
	xor %eax, %eax
	mov $7, %edi
	jmp .Linside
	.size small, .-small
	.type big, @function
big:
	mov %rdi, %rax
.Linside:
	add $1, %rax
	dec %rdi
	jnz .Linside
	ret
	.size big, .-big
	.type main, @function
main:
	call small
	call big
	ret
	.size main, .-main
S
check "assemble" gcc -Wl,--build-id shared.s -o shared
symbol() { nm shared | awk -v name="$1" '$3 == name { print "0x" $1 }'; }
{
	printf 'epoch\t100\t200\n'
	for place in "small 0 1" "big 3 400" "big 7 300" "big 10 300"; do
		read -r name offset count <<<"$place"
		printf 'sample\t1\t%s\t%s\tcpu-clock\t1000000\t%d\t%d\tcomm=p\n' "$(build_id shared)" \
			"$PWD/shared" "$(($(symbol "$name") + offset))" "$count"
	done
} >shared.samples
check "make its database" bash -c "'$build/tests/cli/mkdb' shared.db $machine <shared.samples"
check_status "calc of shared code" 0 "$culprit" calc -i shared.db --json --cutoff 100
check "counts a sample once" json "{f['name']: f['samples'] for f in d['functions']} == {'big': 1000, 'small': 1}"
# What a branch there did is told of the one that has the samples, whoever came there last.
edge() { # FROM TO COUNT
	printf 'edge\t1\t%s\t%s\tcpu-clock\t%d\t%d\t%d\t%d\n' "$(build_id shared)" "$PWD/shared" "$1" "$2" "$3" "$3"
}
small=$(($(symbol small))) inside=$(($(symbol big) + 3))
{
	cat shared.samples
	edge -1 $((small)) 50
	edge $((small + 7)) $inside 50
	edge $((inside + 7)) $inside 400
	edge $((inside + 7)) $((inside + 9)) 100
	edge $((inside + 9)) -1 100
} >edges.samples
check "make one with edges" bash -c "'$build/tests/cli/mkdb' edges.db $machine <edges.samples"
check_status "calc of edges in shared code" 0 "$culprit" calc -i edges.db --json --cutoff 100 --blocks 0 big
check "its loop is left one time of five" json "[1 for e in d['functions'][0]['edges']
	if int(e['from'], 16) == $((inside + 7)) and int(e['to'], 16) == $inside
	and 3 < e['frequency'] / sum(o['frequency'] for o in d['functions'][0]['edges']
		if int(o['from'], 16) == $((inside + 7)) and int(o['to'], 16) != $inside) < 5]"
check_status "summary of shared code" 0 "$culprit" summary -i shared.db --cutoff 100 --json
check "has all samples and no more" json "abs(sum(r['samples'] for r in d['rows']) - 1001) < 0.01"
check_match "and says so" out '2 functions with 100.00% of the samples'

# What waits in a program is no idle kernel; what no way leads to has no row, and is told.
cat >island.s <<'S'
	.globl do_idle, main
	.type do_idle, @function
do_idle:
	dec %rdi
	jnz do_idle
	ret
	add $1, %rax
	add $2, %rax
	.size do_idle, .-do_idle
	.type main, @function
main:
	call do_idle
	ret
	.size main, .-main
S
check "assemble" gcc -Wl,--build-id island.s -o island
island() {
	printf 'sample\t1\t%s\t%s\tcpu-clock\t1000000\t%d\t%d\tcomm=p\n' "$(build_id island)" "$PWD/island" \
		"$((0x$(nm island | awk '$3 == "do_idle" { print $1 }') + $1))" "$2"
}
{
	printf 'epoch\t100\t200\n'
	island 0 70
	island 10 30
} >island.samples
check "make its database" bash -c "'$build/tests/cli/mkdb' island.db $machine <island.samples"
check_status "calc of a program that waits" 0 "$culprit" calc -i island.db --json --cutoff 100
check "has its function" json "[(f['name'], f['samples']) for f in d['functions']] == [('do_idle', 70)]"
check "says what is in no row, and nothing of idle time" json "[n for n in d['notes'] if 'samples' in n][1:] ==
	['30 samples are in code that is in no function\'s graph']"

check_status "calc" 0 "$culprit" calc -i db chase
check_match "says which core's model" out '^note: core: .*costs from '
check_match "and that there are no edges" out 'from samples alone'
check_match "a block with its best case" out 'Best-case .*CPI'
check_match "a bubble with a letter and cycles" out ' d[a-zA-Z]* +\.\.\. +[0-9.]+cy'
check_match "that is explained" out '\(d = D-cache miss'
check_match "the load is to blame" out "$(printf '%x' "$(at "$load")") .*movq? .* d:$(printf '%x' "$(at "$load")")"
check_match "a summary in ranges" out 'D-cache miss +[0-9.]+% to +[0-9.]+%'

check_status "list has executions" 0 "$culprit" list -i db --asm chase
check_match "and says how far to trust them" out '^note: executions and CPI are estimates, their confidence low; .*`culprit record --edges`'
check "as text with the digits that are told, and their ranges" python3 -c '
import re
rows = [re.search(r"  (\S+)  +(\S+ to \S+) .* 0x[0-9a-f]+ ", l) for l in open("out")]
rows = [(r[1], r[2].split(" to ")) for r in rows if r]
digits = lambda text: len(text.split("e")[0].replace(".", "").strip("0"))
assert rows and all(digits(v) <= 1 and all(digits(b) <= 2 for b in bounds)
	and float(bounds[0]) < float(v) < float(bounds[1]) for v, bounds in rows), rows'
check_status "list as JSON" 0 "$culprit" list -i db --asm --json chase
check "has all digits, and bounds" json "[r for r in d['rows'] if r['kind'] == 'instruction'
	and r['frequency_low'] < r['frequency'] < r['frequency_high'] and r['cpi_high'] > r['cpi_low']]"
check_status "stalls as JSON" 0 "$culprit" stalls -i db --json
check "have bounds" json "all(r['count_low'] < r['count'] < r['count_high']
	and r['stall_low'] < r['stall'] < r['stall_high'] for r in d['rows'])"
check_status "calc of everything as JSON" 0 "$culprit" calc -i db --json --cutoff 100 --blocks 0
check "nothing is certain" json "all(e[k + '_high'] is None or e[k + '_low'] < e[k + '_high']
	for f in d['functions'] for o, k in [(f, 'calls'), (f, 'cpi')] +
	[(b, k) for b in f['blocks'] for k in ('frequency', 'cpi', 'relative')] +
	[(x, 'frequency') for x in f['edges']] for e in [o])"
check_status "a selection that has nothing" 0 "$culprit" calc -i db --subject comm=nobody
check_match "is told as that" out '^note: nothing matches the selection'
check "and not as a want of edges" test "$(grep -c 'no edges' out)" = 0
for report in list calc cfg; do
	check_refused "$report of a function twice" 2 "not both" "$culprit" $report -i db chase --function locked
done

check_status "calc as JSON" 0 "$culprit" calc -i db --json chase
check "the stalled instruction names the load" json "[i for i in d['functions'][0]['instructions']
	if int(i['address'], 16) == $(at "$load") and i['culprits'][0]['cause'] == 'dcache'
	and int(i['culprits'][0]['blame'], 16) == $(at "$load") and i['charged'] == 9000
	and i['samples'] == 0 and int(i['sampled'], 16) == $(after "$load")]"
check "samples stay where they were taken" json "[i for i in d['functions'][0]['instructions']
	if int(i['address'], 16) == $(after "$load") and i['samples'] == 9000 and i['charged'] == 0]"
check "every range holds what is likely" json "all(c['low'] <= c['likely'] + 1e-6
	and c['likely'] <= c['high'] + 1e-6 for i in d['functions'][0]['instructions']
	for c in i['culprits'])"
check "cycles add up to a hundred" json "abs(sum(d['functions'][0]['summary_likely'].values())
	+ d['functions'][0]['summary']['execution'][0] - 100) < 0.5"

check_status "a whole image" 0 "$culprit" calc -i db --json --image '*/p' --cutoff 100
check "has all its functions" json "[f['name'] for f in d['functions']] == ['chase', 'locked']"
check "its lock is named" json "[i for i in d['functions'][1]['instructions']
	if i['culprits'] and i['culprits'][0]['cause'] == 'lock']"
check_status "down to a cutoff" 0 "$culprit" calc -i db --json --image '*/p' --cutoff 50 --brief
check "only what is needed for it" json "len(d['functions']) == 1
	and d['functions'][0]['instructions'] == []"
check_status "the rule of DCPI" 0 "$culprit" calc -i db --classic chase
check_match "says so" out 'by the rule of DCPI'

# Beside another image, twice as often sampled.
{ cat samples; printf 'sample\t1\t%040d\t/x/other\tcpu-clock\t1000000\t16\t24040\tcomm=p\n' 9; } >two
"$build/tests/cli/mkdb" part $machine <two
check_status "a part of what was sampled" 0 "$culprit" calc -i part --image '*/p' --brief chase
check_match "is not taken for all" out '^\*\*\* 9000 samples, 74[.]88% of the selection; '
for report in calc stalls summary; do
	check_status "$report of it" 0 "$culprit" "$report" -i part --image '*/p'
	check_match "$report says what percentages are of" out '^note: percentages are of the 12020 samples of the selection$'
done
check_status "all of what was sampled" 0 "$culprit" calc -i db --image '*/p' --brief chase
check_match "is all" out '^\*\*\* 9000 samples, 74[.]88% of all; '
check_same "and needs no such note" 0 "$(grep -c 'of the selection' out)"

check_status "stalls" 0 "$culprit" stalls -i db --json
check "the worst first" json "d['rows'][0]['function'] == 'chase' and d['rows'][0]['cause'] == 'dcache'
	and int(d['rows'][0]['blame'], 16) == $(at "$load") and d['rows'][0]['file'].endswith('p.c')"
check_status "stalls of one cause" 0 "$culprit" stalls -i db --json --cause lock
check "are of it alone" json "{r['function'] for r in d['rows']} == {'locked'}"
check_status "so many" 0 "$culprit" stalls -i db --csv -n 1
check "and no more" [ "$(wc -l <out)" = 2 ]

check_status "summary" 0 "$culprit" summary -i db --json
check "adds up" json "abs(sum(r['percent'] for r in d['rows'] if r['kind'] != 'gain') - 100) < 0.5"
check_status "by one cause" 0 "$culprit" summary -i db --json --cause dcache
check "ranks functions" json "d['rows'][0]['function'] == 'chase'"

check_status "a cause that there is not" 2 "$culprit" stalls -i db --cause wind
check_match "is told those that there are" err 'not one of dcache, .*unexplained'
check_status "of summary too" 2 "$culprit" summary -i db --cause wind
for report in calc stalls summary; do
	check_status "$report of an image without samples" 1 "$culprit" "$report" -i db --image nowhere
	check_match "$report says so" err "no samples in images 'nowhere'"
	check "$report says no more" [ "$(cat out err | wc -l)" = 1 ]
done
check_status "a cutoff that is none" 2 "$culprit" calc -i db --cutoff 101
check_status "no such function" 1 "$culprit" calc -i db nothing
check_status "two functions" 2 "$culprit" calc -i db chase locked
{
	printf 'epoch\t300\t400\n'
	sample "$(at "$load")" 10 cache-misses
} >others
check "make another" bash -c "'$build/tests/cli/mkdb' other $machine <others"
check_status "without time there are no cycles" 1 "$culprit" calc -i other chase
check_match "and it says so" err 'no selected event measures time'

rm -rf db/$machine/images
sed -i 's/add \$1, %%r8/add $2, %%r8/' p.c
gcc -O1 p.c -o p
check_status "another build at the same path" 1 "$culprit" calc -i db --image '*/p' 0x1139
check_match "is refused" err 'another build|no samples'

tap_end
