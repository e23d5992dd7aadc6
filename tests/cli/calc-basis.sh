# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# What calc's numbers rest on: where the recording machine showed samples.
. "$(dirname "$0")/../tap.sh"

cat >p.s <<'S'
	.globl chase, main
	.type chase, @function
	.type main, @function
chase:
	mov (%rdi), %rdi
next:
	add $1, %r8
	lea 3(%r8), %r9
	dec %rsi
	jnz chase
	ret
	.size chase, . - chase
main:
	xor %eax, %eax
	ret
	.size main, . - main
	.section .note.GNU-stack, "", @progbits
S
check "assemble" gcc -Wl,--build-id p.s -o p
build_id() { readelf -n "$1" | awk '/Build ID/ { print $3 }'; }
at() { nm p | awk -v name="$1" '$3 == name { print "0x" $1 }'; }
json() { python3 -c "import json; d = json.load(open('out')); assert ($1), d"; }
# charged ADDRESS: samples that the instruction there is responsible for; says what calc says of it.
charged() { python3 -c "
import json
print(*[i['charged'] for f in json.load(open('out'))['functions'] for i in f['instructions']
	if int(i['address'], 16) == $1])"; }

# skid NAME FACT...: a database of the same samples, with what its machine measured.
skid() {
	local name=$1
	shift
	{
		printf 'epoch\t100\t200\n'
		[ $# = 0 ] || printf 'fact\tskid\t%s\n' "$1"
		printf 'sample\t1\t%s\t%s\tcpu-clock\t1000000\t%d\t8000\tcomm=p\n' "$(build_id p)" \
			"$PWD/p" "$(($(at next)))"
	} | "$build/tests/cli/mkdb" "$name.db" m1 || fail "mkdb $name"
	check_status "calc, $name" 0 "$culprit" calc -i "$name.db" --json --blocks 0 chase
}
skid unknown
check "without the fact the usual is assumed, and said" json "any('a typical value: not measured' in n
	for n in d['notes'])"
check "all is charged to the one before" test "$(charged "$(at chase)")" = 8000.0
skid next 'cpu-clock;300;dep=0/1000/0/0/900;mem=0/1000/0/0/900;div=0/1000/0/0/900;loc=0/1000/0/0/900'
check "a machine that shows the next instruction" json "any('100% of stalls are shown at the next instruction (measured on this machine)' in n
	for n in d['notes'])"
check "the same is charged" test "$(charged "$(at chase)") $(charged "$(at next)")" = "8000.0 0.0"
skid itself 'cpu-clock;300;dep=1000/0/0/0/900;mem=1000/0/0/0/900;div=1000/0/0/0/900;loc=1000/0/0/0/900'
check "one that shows the instruction itself" json "any(n.startswith('0% of stalls are shown at the next') for n in d['notes'])"
check "it is left there" test "$(charged "$(at chase)") $(charged "$(at next)")" = "0.0 8000.0"
skid half 'cpu-clock;300;dep=500/500/0/0/900;mem=500/500/0/0/900;div=500/500/0/0/900;loc=500/500/0/0/900'
check "one that shows either" json "any(n.startswith('50% of stalls are shown at the next') for n in d['notes'])"
check "it is shared out" python3 -c "
a, b = $(charged "$(at chase)"), $(charged "$(at next)")
assert abs(a + b - 8000) < 1 and min(a, b) > 500, (a, b)"
skid damaged 'cpu-clock;300;mem=1000/1000/0'
check "a fact that makes no sense counts as none" json "any('a typical value: not measured' in n for n in d['notes'])"

tap_end
