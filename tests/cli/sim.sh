# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# A command on a modelled core: small programs of known numbers of executions, under qemu.
. "$(dirname "$0")/../tap.sh"

# The truth of an event, by function: sim's own counts, as prof shows them.
truth() {
	"$culprit" prof -i "${3-db}" --event "$1" --json >out &&
		python3 -c 'import json, sys
print(sum(r["samples"] for r in json.load(open("out"))["rows"] if r["function"] == sys.argv[1]))' "$2"
}

check_status "a core that is not known" 2 "$culprit" sim --core z80 -- /bin/true
check_match "... is told, with those that are" err "zen3.*skylake|skylake.*zen3"
check_status "impossible sizes" 2 "$culprit" sim --set reorder_buffer=100000 -- /bin/true
check_match "... are told" err "no core has that"
check_status "no such key" 2 "$culprit" sim --set colour=3 -- /bin/true
check_status "what can be set" 0 "$culprit" sim --core zen3 --set l2_kbytes=1024 --set help
check_match "... with what it is" out "^l2_kbytes +1024 "
if ! command -v qemu-x86_64 >/dev/null; then
	check_status "without qemu" 1 "$culprit" sim -- /bin/true
	check_match "... it says what to install" err "install qemu-user"
	skip "programs" "qemu-user is not installed"
	tap_end
	exit
fi
check_status "no such program" 1 "$culprit" sim -o db -- ./none
printf '#!/bin/sh\n' >script
chmod +x script
check_status "a script" 1 "$culprit" sim -o db -- ./script
check_match "... is refused with the reason" err "name its interpreter"

cat >loops.c <<'END'
#include <stdlib.h>
__attribute__((noinline)) void work(long n, const long *p)
{
	do
		__asm__ volatile("add $1, %0\n\tmov (%2), %1" : "=r"(n), "=r"(n) : "r"(p), "1"(n));
	while (0);
	__asm__ volatile("1: mov (%1), %%rax\n\timul %%rax, %%rax\n\tdec %0\n\tjnz 1b" : "+r"(n) : "r"(p) : "rax");
}
int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000;
	work(n, &n);
	return argc > 2 ? atoi(argv[2]) : 0;
}
END
cc -O1 -o loops loops.c || exit 1
check_status "a program runs" 0 "$culprit" sim --core zen3 --period 50 --judge -o db -- ./loops 100000 3
check_match "its exit status is told" err "exit status is 3"
check_match "its samples are kept" err "culprit: [0-9]+ instruction samples"
retired=$(truth sim-retired work)
check "each instruction of its loop is counted: $retired" test "$retired" -ge 400000 -a "$retired" -le 400010
cycles=$(truth sim-cycles work)
# The decrement is a chain of one cycle a round; the rest runs beside it.
check "and takes what its chain takes: $cycles cycles" test "$cycles" -ge 95000 -a "$cycles" -le 140000
check_status "a smaller machine" 0 "$culprit" sim --core zen3 --set issue_width=1 -q -o small.db -- ./loops 100000
slow=$(truth sim-cycles work small.db)
check "one operation a cycle takes three: $slow cycles" test "$slow" -ge 290000
"$culprit" inst -i db --json work >out
check "samples estimate it: each instruction of the loop within a tenth" python3 -c 'import json
rows = [r for r in json.load(open("out"))["rows"] if (r.get("samples") or 0) > 100]
assert len(rows) == 4, rows
for r in rows:
    assert abs(r["count"] - 100000) < 10000, r'
check_status "pairs" 0 "$culprit" sim --core zen3 --pairs --period 200 --judge -q -o pairs.db -- ./loops 100000
check_match "tell of slots that are wasted" err "wasted slots by [0-9]+ pairs"
check_status "... and a database holds them" 0 "$culprit" db verify pairs.db
check_status "what begins another program" 0 "$culprit" sim -o db -- /bin/sh -c './loops 10; exit 0'
check_match "... is told that it is not followed" err "not followed"
check_match "... its own processes are" err "2 threads"
check_status "one of many in detail" 0 "$culprit" sim --core zen3 --every 4 -o some.db -- ./loops 1000000
check_status "too few for that" 1 "$culprit" sim --core zen3 --every 1000000 -o some.db -- ./loops 10
check_match "... is told" err "smaller --every"
check_status "a limit" 0 "$culprit" sim --limit 100000 -o some.db -- ./loops 100000000
tap_end
