# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# A program that is rebuilt in place after it was recorded, then deleted, then without its debug file:
# every report and every export says what it said before. Of the program's own code alone: the kernel
# changes its own while it runs.
# timeout: 600
# shares the machine: 19
. "$(dirname "$0")/../sampling.sh"
need_sampling
export CULPRIT_DB=$PWD/program.db

cat >source.c <<'C'
#include <stdlib.h>
volatile unsigned long sink;
static inline unsigned long mix(unsigned long x)
{
	return x * 2654435761u ^ x >> 7;
}
__attribute__((noinline)) unsigned long pick(unsigned long x)
{
	switch (x % 8) {
	case 0: return x + 1;
	case 1: return x * 3;
	case 2: return x - 7;
	case 3: return x ^ 55;
	case 4: return x / 3;
	case 5: return x << 2;
	case 6: return x | 9;
	default: return mix(x);
	}
}
__attribute__((noinline)) unsigned long work(unsigned long n)
{
	unsigned long sum = 0;
	for (unsigned long i = 0; i < n; i++)
		sum += mix(sum + i) + pick(i);
	return sum;
}
int main(int argc, char **argv)
{
	for (int i = 0; i < argc * 20; i++)
		sink += work(strtoul(argv[1], NULL, 10));
	return 0;
}
C
sed 's/sum += mix/sum ^= 3 * mix/; s/x \* 3/x * 5/; s/^int main/int other;\n&/' source.c >other.c

# show NAME PROGRAM [OPTION...]: a report, in text and as JSON, with its errors.
show() {
	local name=$1
	shift
	"$culprit" "$@" >"said/$name.text" 2>&1
	"$culprit" "$@" --json >"said/$name.json" 2>&1
}

# say: everything that can be said of the recording, into files of the directory said.
say() {
	local kind
	rm -rf said
	mkdir said
	show prof prof
	for kind in function line file loop image process; do show "prof-$kind" prof --by $kind; done
	show prof-inclusive prof --inclusive
	show list list work
	show list-switch list pick
	show list-source list -S work
	show list-asm list -A pick
	show list-file list --file source.c
	show calc calc work
	show calc-switch calc pick
	show calc-image calc --image '*/program'
	show cfg cfg work -o said/work.dot
	show cfg-switch cfg pick -o said/pick.dot
	show stalls stalls
	show summary summary
	show diff diff program.db program.db
	show diff-cpi diff --cpi program.db program.db
	show calls calls
	show calls-tree calls -n 5
	show calls-function calls work
	show calls-gprof calls --gprof
	for kind in folded pprof speedscope callgrind xml; do
		"$culprit" export --$kind "said/$kind" 2>>said/errors
	done
	for kind in bolt-fdata bolt-preaggregated autofdo block-counts; do
		"$culprit" export --image '*/program' --$kind "said/$kind" 2>>said/errors
	done
}

# check_said NAME: the same as at first, byte for byte.
check_said() {
	local differ
	say
	differ=$(diff -rq first said; diff -r first said | cut -c1-200 | head -20)
	check_same "$1: all reports and exports as before" '' "$differ"
}

# check_all NAME: of the program that is there.
check_all() {
	record program -e cpu-clock:u -F 2000 -- ./program 1500000 || return
	say
	rm -rf first
	mv said first
	check_match "$1: the lines are there" first/prof-line.text "source.c +(23|24) +work"
	check_match "$1: and in the listing" first/list-source.text "sum \+= mix\(sum \+ i\) \+ pick\(i\)"
	check_match "$1: executions too" first/list.json '"frequency": *[1-9]'
	check_match "$1: the switch is followed" first/calc-switch.json '"kind":"indirect"'
	check_match "$1: lines for an optimiser" first/autofdo 'work:[1-9]'
	gcc -O1 -g other.c -o program
	check_said "$1, rebuilt in place"
	rm -f program
	check_said "$1, deleted"
}

gcc -O2 -g source.c -o program
check_all 'a program'
gcc -O2 -g source.c -o program
objcopy --only-keep-debug program program.debug
strip program
objcopy --add-gnu-debuglink=program.debug program
check_all 'a stripped one with a debug file'
rm program.debug
check_said 'a stripped one without its debug file'
# One too large to be kept whole: of that, what was sampled.
python3 -c 'print("const char pad[] = {" + "1," * 8 + "};\n__asm__(\".section .rodata\\n.globl much\\nmuch: .fill 20000000, 1, 7\\n.text\");")' >pad.c
gcc -O2 -g source.c pad.c -o program
record program -e cpu-clock:u -F 2000 -- ./program 1500000
"$culprit" list -A work >first.list
rm program
"$culprit" list -A work >second.list
check_same 'a large one: the instructions of what was sampled' "$(grep -c '0x' first.list)" "$(grep -c '0x' second.list)"
check 'a large one: with their lines' sh -c '"$1" list -S work | grep -q "sum += mix"' - "$culprit"

# A container's own file system is gone with it: the program is seen through its mapping alone.
gcc -O2 -g source.c -o inner
mkdir gone
cat >contain.sh <<'C'
mount -t tmpfs none gone && cp inner gone/inner && gone/inner 1500000
C
if unshare -m true 2>/dev/null; then
	record contained -F 2000 -- unshare -m sh contain.sh
	CULPRIT_DB=contained.db "$culprit" list -S work >contained.list 2>&1
	check_match 'a program in a mount of its own that is gone' contained.list 'sum \+= mix'
else
	skip 'a program in a mount of its own that is gone' 'no namespaces of mounts'
fi

# A reader that was made from FORMAT.md alone agrees.
python3 "$root/tests/cli/format.py" program.db >decoded
check_match 'the kept lines are as their format says' decoded '^told	[0-9a-f]*\.lines	mix .*source\.c:5	'
check_match 'the kept code too' decoded '^told	[0-9a-f]*\.code	strtoul	'
# What is kept is checked when it is read, and verify names it.
lines=$(ls program.db/*/images/*.lines | head -1)
printf 'x' | dd of="$lines" bs=1 seek=40 conv=notrunc 2>dd.err
check_status 'damaged lines are named' 1 "$culprit" db verify program.db
check_match "damaged lines are named: by their file" out 'images/[0-9a-f]+\.lines: damaged'
tap_end
