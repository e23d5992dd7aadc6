# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# culprit export: what optimisers are told, by address, by symbol and by line, and that they take it.
. "$(dirname "$0")/../tap.sh"
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS

cat >p.s <<'S'
	.text
	.globl loop, main
	.type loop, @function
	.type helper, @function
	.type main, @function
loop:
	mov $10, %ecx
head:
	test $1, %ecx
	jz even
odd:
	add $1, %eax
even:
	sub $1, %ecx
back:
	jnz head
	ret
	.size loop, . - loop
helper:
	call loop
	ret
	.size helper, . - helper
main:
	call helper
	xor %eax, %eax
	ret
	.size main, . - main
	.section .note.GNU-stack, "", @progbits
S
check "assemble" gcc -Wl,--build-id p.s -o p
at() { nm "${2:-p}" | awk -v name="$1" '$3 == name { print "0x" $1 }'; }
hex() { printf '%x' "$(($(at "$1") + ${2:-0}))"; }
sample() { # IMAGE OFFSET COUNT [EVENT]
	printf 'sample\t1\t%s\t%s\t%s\t1000\t%d\t%d\tcomm=p\n' \
		"$(readelf -n "$1" | sed -n 's/.*Build ID: //p')" "$PWD/$1" "${4:-cpu-clock}" $(($2)) "$3"
}
{
	printf 'epoch\t100\t200\n'
	sample p "$(at head)" 50
	sample p "$(at odd)" 20
	sample p "$(at even)" 40
	sample p "$(at loop)" 4
	sample p "$(at helper)" 2
	sample p "$(at main)" 1
} | "$build/tests/cli/mkdb" db m1 || fail "mkdb"

check_status "export by address" 0 "$culprit" export -i db --bolt-preaggregated pre
check_match "has the branch back" pre "^B $(hex back) $(hex head) [0-9]+ 0\$"
check_match "and the way past it" pre "^F $(hex odd) $(hex even) [0-9]+\$"
check_match "and the call" pre "^B $(hex helper) $(hex loop) [0-9]+ 0\$"
check "and nothing else" test -z "$(grep -Ev '^(B [0-9a-f]+ [0-9a-f]+ [0-9]+ 0|B X:0 [0-9a-f]+ [0-9]+ 0|F [0-9a-f]+ [0-9a-f]+ [0-9]+)$' pre)"
check_match "says what it is of" err 'p: [0-9]+ functions?; counts from 117 samples'

check_status "export by symbol" 0 "$culprit" export -i db --bolt-fdata fdata
check_match "has the branch back" fdata '^1 loop [0-9a-f]+ 1 loop 5 0 [0-9]+$'
check_match "numbers what is local" fdata '^1 helper/1 0 1 loop 0 0 [0-9]+$'
check "and nothing else" test -z "$(grep -Ev '^(1 [^ ]+|0 \[unknown\]) [0-9a-f]+ 1 [^ ]+ [0-9a-f]+ 0 [0-9]+$' fdata)"
check_status "both at once, one to stdout" 0 "$culprit" export -i db --bolt-fdata - --bolt-preaggregated pre2
check "are the same" cmp pre pre2
check "as each alone" cmp out fdata

# What enters the head of the loop leaves it, as nearly as the iterative estimate is a flow.
check "counts add up" python3 -c '
import sys
head, even, odd, back = (int(a, 16) for a in sys.argv[1:])
into = {head: 0, even: 0, odd: 0}
for line in open("pre"):
    kind, a, b, count = line.split()[:4]
    b = int(b, 16)
    if b in into: into[b] += int(count)
assert into[head] > 0 and abs(into[head] - into[even]) <= 1e-3 * into[head] + 2, into
assert into[odd] <= 1.001 * into[head] + 2, into' "$(at head)" "$(at even)" "$(at odd)" "$(at back)"

if [ -x /usr/lib/llvm-16/bin/llvm-bolt ]; then
	gcc -Wl,--build-id,-q p.s -o q
	{
		printf 'epoch\t100\t200\n'
		sample q "$(at head q)" 50
		sample q "$(at even q)" 40
	} | "$build/tests/cli/mkdb" q.db m1
	check_status "export a program with relocations" 0 "$culprit" export -i q.db --bolt-preaggregated q.pre
	check "perf2bolt takes it" /usr/lib/llvm-16/bin/perf2bolt -pa -p q.pre -o q.fdata q
	check_status "llvm-bolt takes that" 0 /usr/lib/llvm-16/bin/llvm-bolt q -o q.bolt -data q.fdata -reorder-blocks=ext-tsp
	check_match "and finds the one function that has samples" <(cat out err) 'INFO: 1 out of [0-9]+ functions .* non-empty execution profile'
	check "nothing of it stale" bash -c '! cat out err | grep -i "stale\|invalid"'
	check "and what it makes runs" ./q.bolt
	check_status "the same by symbol" 0 "$culprit" export -i q.db --bolt-fdata q.names
	check_status "llvm-bolt takes names" 0 /usr/lib/llvm-16/bin/llvm-bolt q -o q.bolt -data q.names -reorder-blocks=ext-tsp
	check_match "for the same function" <(cat out err) 'INFO: 1 out of [0-9]+ functions .* non-empty execution profile'
	check "nothing of that stale" bash -c '! cat out err | grep -i "stale\|invalid"'
else
	skip "BOLT" "bolt-16 is not installed"
fi

# Of several images one is exported: the one with most samples of those that --image selects.
check "another program" gcc -Wl,--build-id,--defsym=unused=1 p.s -o p2
{
	printf 'epoch\t100\t200\n'
	sample p "$(at head)" 50
	sample p "$(at even)" 40
	sample p2 "$(at head p2)" 7
	sample p2 "$(at odd p2)" 3
} | "$build/tests/cli/mkdb" two.db m1 || fail "mkdb of two images"
for form in bolt-preaggregated bolt-fdata block-counts; do
	check_status "$form of two images" 0 "$culprit" export -i two.db --$form "two.$form"
	check_match "$form is of the larger" err '/p: [0-9]+ functions?; counts from 90 samples'
	check_status "$form of the other" 0 "$culprit" export -i two.db --image '*/p2' --$form "p2.$form"
	check_match "$form says that it is" err '/p2: [0-9]+ functions?; counts from 10 samples'
	check "$form has other counts" bash -c "! cmp -s two.$form p2.$form"
	check_status "$form of both selected" 0 "$culprit" export -i two.db --image '*/p*' --$form "both.$form"
	check "$form is of the larger again" cmp "two.$form" "both.$form"
done

cat >c.c <<'C'
volatile int sink;
static inline __attribute__((always_inline)) void
inner(int n)
{
	while (n--)
		sink += n;
}
__attribute__((noinline)) void outer(int n)
{
	for (int i = 0; i < n; i++)
		inner(i);
}
int main(void)
{
	outer(3);
	return 0;
}
C
check "compile" gcc -O1 -g -Wl,--build-id c.c -o c
hot=$(objdump -d c | awk '/<outer>:/ { on = 1 } on && /sink/ { sub(":", "", $1); print "0x" $1; exit }')
{
	printf 'epoch\t100\t200\n'
	sample c "$hot" 90
	sample c "$(at outer c)" 10
	sample c "$(at main c)" 1
} >c.rows
"$build/tests/cli/mkdb" c.db m1 <c.rows
check_status "export by line" 0 "$culprit" export -i c.db --autofdo c.afdo
check_match "has the function" c.afdo '^outer:[0-9]+:[0-9]+$'
check_match "with what is inlined three lines down" c.afdo '^ 3: inner:[0-9]+$'
check_match "and the lines of that, from its own first" c.afdo '^  3: [0-9]+$'
check_match "and calls by name" c.afdo '^ 2: [0-9]+ outer:[0-9]+$'
# A name may be anything that its owner wrote into the file.
objcopy --redefine-sym outer=$'o\e[31m\nmain:99:99' c named
sed "s,$PWD/c\t,$PWD/named\t," <c.rows | "$build/tests/cli/mkdb" named.db m1
for form in autofdo bolt-fdata; do
	check_status "export of a name that is no line, --$form" 0 "$culprit" export -i named.db --$form "named.$form"
	check "which begins none" bash -c "grep -q '^.*o.*31m.*main:99:99' named.$form && ! grep -q '^main:99:99' named.$form"
	check "and has no escape of a terminal" bash -c "! grep -q $'\e' named.$form"
done
if command -v llvm-profdata >/dev/null; then
	check "llvm-profdata takes it" llvm-profdata merge --sample -o c.prof c.afdo
else
	skip "llvm-profdata" "LLVM is not installed"
fi

# refuse NAME STATUS REGEX ARGUMENT...
refuse() { check_refused "$1" "$2" "$3" "$culprit" export "${@:4}"; }
refuse "nothing to export" 2 'export what' -i db
refuse "a function" 2 'whole image' -i db --function loop --bolt-fdata x
refuse "an image without samples" 1 '.' -i db --image nowhere --bolt-fdata x
refuse "lines without debug information" 1 'debug information|line numbers' -i db --autofdo x
refuse "a directory that is not there" 1 'no/x' -i db --bolt-fdata no/x
check "leave no file" test ! -e x
check_status "a full disk is an error" 1 sh -c '"$1" export -i db --bolt-fdata - >/dev/full' - "$culprit"
if mkdir small && mount -t tmpfs -o size=4k small small 2>/dev/null; then
	head -c 4096 /dev/zero >small/filling
	check_status "a full disk" 1 "$culprit" export -i db --bolt-fdata small/new
	check_match "is named" err 'cannot write small/new: No space left on device'
	check "and no part is left" test ! -e small/new
	umount small
else
	skip "a full disk" "no file system can be mounted here"
fi
check "is told once" [ "$(wc -l <err)" = 1 ]
check_match "with the reason" err 'No space left on device'
{
	printf 'epoch\t100\t200\n'
	sample p "$(at head)" 50 cache-misses
	sample p "$(at even)" 40 cache-misses
} | "$build/tests/cli/mkdb" misses.db m1
check_status "an event that does not tell time" 0 "$culprit" export -i misses.db --bolt-preaggregated m.pre
check_match "is better than nothing" m.pre "^B $(hex back) $(hex head) [0-9]+ 0\$"
strip -o s p
{
	printf 'epoch\t100\t200\n'
	sample s "$(at head)" 50
} | "$build/tests/cli/mkdb" s.db m1
check_status "a stripped program by address" 0 "$culprit" export -i s.db --bolt-preaggregated s.pre
check_match "is known by its addresses" s.pre "^B $(hex back) $(hex head) [0-9]+ 0\$"
tap_end
