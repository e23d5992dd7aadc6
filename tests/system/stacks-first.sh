# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 4
# The first stacks of files that nobody has a table of, though the stack is a deep one: each of many
# programs is a copy of its own, and over by the time that its table is there. Frames may have arrays that
# the program has not touched.
. "$(dirname "$0")/../sampling.sh"
need_sampling
cat >deep.c <<'EOC'
#include <time.h>
static long used(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}
__attribute__((noipa)) void leaf(volatile char *stack)
{
	while (used() < 60000000)
		for (int i = 0; i < 10000; i++)
			stack[i] = 1;
}
__attribute__((noipa)) void deep(int n)
{
	volatile char frame[FRAME];
	for (int i = 0; i < TOUCHED; i++)
		frame[i] = 0;
	if (n)
		deep(n - 1);
	else
		leaf(frame);
	frame[0] = 1;
}
int main(void)
{
	deep(98304 / FRAME);
	return 0;
}
EOC
try() { # NAME OPTION...
	local name=$1
	shift
	check "$name: compile" cc -O1 -g -fomit-frame-pointer -Wl,--build-id "$@" -o deep deep.c
	for i in {1..25}; do
		cp deep "deep-$i"
	done
	record "$name" --no-edges -F 100 -- bash -c 'for i in {1..25}; do ./deep-$i; done'
	expect "$name: first stacks are whole" "$name.db" "from stack_reader import Stacks
s = Stacks('$culprit', '$name.db')
found = s.through('leaf')
whole = s.count(lambda path: 'leaf' in s.functions(path) and 'main' in s.functions(path) and
                '_start' in s.functions(path))
print(f'{found} stacks in leaf, {whole} of them from _start')
assert found > 50 and whole > 0.9 * found, (found, whole)"
}
try 'frames of 16 kB' -DFRAME=16384 -DTOUCHED=FRAME
try 'frames of 40 kB, hardly touched' -DFRAME=40960 -DTOUCHED=1
tap_end
