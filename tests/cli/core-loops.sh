# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash source-path=SCRIPTDIR
# The core that reports go by is the one that the recording machine's loops were measured to be.
. "$(dirname "$0")/../tap.sh"

cat >p.s <<'S'
	.globl chase, main
	.type chase, @function
	.type main, @function
chase:
	mov (%rdi), %rdi
next:
	add $1, %r8
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
build_id=$(readelf -n p | awk '/Build ID/ { print $3 }')
next=$(($(nm p | awk '$3 == "next" { print "0x" $1 }')))
printf 'sample\t1\t%s\t%s\tcpu-clock\t1000000\t%d\t8000\tcomm=p\n' "$build_id" "$PWD/p" "$next" >sample

# What Golden Cove takes for its loops.
loops='imul_chain=11.98;imul_independent=5.99;div32_chain=15.95;div64_chain=18.95;div32_independent=11.98;load_chain=39.89'
loops="$loops;load_indexed_chain=39.89;load_ports=3.99;stores=2.00;store_lines=7.98;forward_chain=2.00;forward_add_chain=29.45"
loops="$loops;forward_indexed=19.95;forward_vector=29.32;shift_ports=10.48;lea_scaled_chain=15.96;lea_parts_chain=7.98"
loops="$loops;sum_chain=2.00;extend_chain=3.00;move_chain=3.00;width=8.98;popcnt_chain=11.98;to_vector_chain=15.96"
loops="$loops;fp_add_chain=7.98;fp_mul_chain=15.96;fp_add_mul_chain=27.92;shuffle_ports=7.98;lock_add=71.84"

# core NAME WHAT BEGINS [FACT VALUE]...: what calc says of the core of a database with these facts.
core() {
	{
		printf 'epoch\t300\t400\n'
		printf 'fact\t%s\t%s\n' "${@:4}"
		cat sample
	} >>"$1.made"
	"$build/tests/cli/mkdb" "$1.db" m1 <"$1.made" || fail "mkdb $1"
	check_status "calc, $1" 0 "$culprit" calc -i "$1.db" --epoch all --blocks 0 chase
	check_match "$2" out "^note: core: $3"
}
core hidden 'a hidden core is found by its loops' \
	'Intel Sapphire Rapids \(by measured loops; family 6 model 85 is Intel Skylake\); 28 measured loops off by 0%' \
	cpu-id 'GenuineIntel 6 85 7' core-loops "$loops"
core plain 'without them it is what it says it is' 'Intel Skylake, costs from' cpu-id 'GenuineIntel 6 85 7'
core damaged 'loops that make no sense count as none' 'Intel Skylake, costs from' \
	cpu-id 'GenuineIntel 6 85 7' core-loops "$loops;x"
core slow 'times of no core are not used' 'Intel Skylake, costs from' \
	cpu-id 'GenuineIntel 6 85 7' core-loops "${loops//=/=13}"
{
	printf 'epoch\t100\t200\nfact\tcpu-id\tGenuineIntel 6 85 7\nfact\tcore-loops\t%s\n' "$loops"
	cat sample
} >two.made
core two "one machine's loops are not the next one's" 'AMD Zen 4, costs from' cpu-id 'AuthenticAMD 25 97 2'

"$culprit" doctor --json >out
check_match 'tells of the loops, or that they were not measured' out '"core_loops"'

tap_end
