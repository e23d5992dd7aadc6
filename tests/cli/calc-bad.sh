# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# Reports on instructions of code that is not as compilers make it: overlapping, with data in it, of
# sizes that lie, too large to be drawn, or of another instruction set.
. "$(dirname "$0")/../tap.sh"
build_id() { readelf -n "$1" | awk '/Build ID/ { print $3 }'; }
at() { nm "$1" | awk -v name="$2" '$3 == name { print "0x" $1 }'; }
# samples IMAGE COUNT OFFSET...: as mkdb wants them.
samples() {
	local image=$1 count=$2 id offset
	id=$(build_id "$image")
	printf 'epoch\t100\t200\n'
	shift 2
	for offset; do
		printf 'sample\t1\t%s\t%s\tcpu-clock\t1000000\t%d\t%d\tcomm=p\n' "$id" "$PWD/$image" $((offset)) "$count"
	done
}
# all_reports NAME DB IMAGE FUNCTION: each ends in good time, and prints something.
all_reports() {
	local report
	set -f
	for report in "calc --blocks 0 --image */$3 --cutoff 100" "calc --json --image */$3" stalls summary \
		"list $4" "cfg $4" 'prof --by loop' 'export --block-counts -'; do
		# shellcheck disable=SC2086
		check_status "$1: $report" 0 timeout 100 "$culprit" $report -i "$2"
		check "$1: $report says something" test -s out
	done
	set +f
}

cat >bad.s <<'S'
	.globl main, f
	.type main, @function
	.type f, @function
main:
	nop
	test %edi, %edi
	jz .Lmiddle + 1		/* into the instruction below */
.Lmiddle:
	.byte 0xb8
	.long 0x90c3c031
	ret
	.size main, 0x7fffffff
f:
	mov %rax, %rbx
	.byte 0x06, 0x0e, 0xff, 0xff, 0xff
	.quad 0xffffffffffffffff
	ret
	.size f, 3
	.section .note.GNU-stack, "", @progbits
S
check "assemble" gcc -no-pie -Wl,--build-id bad.s -o bad
main=$(at bad main) f=$(at bad f)
samples bad 30 "$main" $((main + 1)) $((main + 3)) $((main + 5)) $((main + 6)) $((main + 8)) \
	$((main + 9)) "$f" $((f + 3)) $((f + 4)) $((f + 8)) >bad.samples
check "make a database" bash -c "'$build/tests/cli/mkdb' bad.db m1 <bad.samples"
all_reports "odd code" bad.db bad main
check_status "calc of it" 0 "$culprit" calc -i bad.db --json --blocks 0 --image '*/bad' --cutoff 100
check "both ways to read the bytes are there" python3 -c "
import json
d = json.load(open('out'))
main, f = (next(x for x in d['functions'] if x['name'] == n) for n in ('main', 'f'))
at = {int(i['address'], 16) - $main: i['text'] for i in main['instructions']}
assert at[5].startswith('mov') and at[6].startswith('xor') and at[8].startswith('ret'), at
# What is at no instruction is said, and is nobody's.
assert main['samples_outside'] == 30 and main['samples'] == 210, main
assert sum(i['charged'] for i in main['instructions']) <= 180.001
# A symbol's size that lies hides no other function; bytes that are none end the flow.
assert f['samples'] >= 30 and not f['complete'] and 'not an instruction' in f['why'], f"

# A function of 300,000 instructions in 100,000 blocks.
python3 - >large.s <<'P'
N = 100000
print(".globl main\n.type main, @function\nmain:")
for i in range(N):
    print(f"b{i}: test ${i % 31 + 1}, %edi\n jz b{i + 2 if i + 2 < N else i}\n add %rax, %rcx")
print('ret\n.size main, . - main\n.section .note.GNU-stack, "", @progbits')
P
check "assemble a large one" gcc -no-pie -Wl,--build-id large.s -o large
nm large | awk '$3 ~ /^b[0-9]*00$/ { print "0x" $1 }' >places
# shellcheck disable=SC2046
samples large 3 $(cat places) >large.samples
check "make a database of it" bash -c "'$build/tests/cli/mkdb' large.db m1 <large.samples"
all_reports "large" large.db large main
check_status "calc of all its blocks" 0 timeout 100 "$culprit" calc -i large.db --json --blocks 0 main
check "has all of it, and all samples" python3 -c '
import json
f, = json.load(open("out"))["functions"]
assert len(f["blocks"]) >= 100000 and len(f["instructions"]) >= 300000
assert f["samples"] == 2997 and abs(sum(i["charged"] for i in f["instructions"]) - 2997) < 4'

# Another instruction set: nothing is made up for it.
cp bad arm
printf '\267\000' | dd of=arm bs=1 seek=18 conv=notrunc status=none
samples arm 30 "$main" >arm.samples
check "make one of another machine" bash -c "'$build/tests/cli/mkdb' arm.db m1 <arm.samples"
for report in 'calc main' 'cfg main' 'export --block-counts -'; do
	# shellcheck disable=SC2086
	check_refused "$report of another instruction set" 1 'machine 183 .*cannot be decoded' "$culprit" $report -i arm.db
done
for report in stalls summary 'prof --by loop' 'list main'; do
	# shellcheck disable=SC2086
	check_status "$report of it" 0 "$culprit" $report -i arm.db
	check_match "$report says why there is nothing" out 'machine 183 .*cannot be decoded'
done

tap_end
