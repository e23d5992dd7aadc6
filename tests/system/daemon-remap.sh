# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# A process that maps code without end, and a crowd of them, has the kernel write hundreds of thousands
# of records a second. It costs itself: the others keep theirs, and what they ran is known.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/daemon.sh"

make_spin bystander
compile mapper <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <time.h>
int main(int argc, char **argv)
{
	int fd = open(argv[0], O_RDONLY);
	time_t begin = time(0), end = begin + (argc > 1 ? 5 : 0);
	unsigned long count = 0;
	do {
		for (int i = 0; i < 1000; i++, count++)
			munmap(mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0), 4096);
		if (argc > 2) {
			for (int n = 1; n < atoi(argv[2]) && fork(); n++)
				;
			argc = 2;
		}
	} while (time(0) < end);
	printf("%lu %ld\n", count, (long)(time(0) - begin) + 2);
}
C
compile brief <<'C'
#include <time.h>
volatile unsigned long n;
__attribute__((noinline)) void brief_here(void)
{
	for (int i = 0; i < 100000; i++)
		n++;
}
int main(void)
{
	struct timespec t;
	do {
		brief_here();
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	} while (t.tv_nsec < 20000000);
}
C
start_daemon "$culprit" daemon -o "$db" --socket "$socket" --flush-every 1h -F 1000 --budget 100

# beside_mapper [COUNT]: short programs, beside the mapper and as many in all.
beside_mapper() {
	exec_user "$here/mapper" on "$@" >mapped &
	mapper=$!
	started+=("$mapper")
	while kill -0 $mapper 2>/dev/null; do
		nice -n -10 ./brief
		[ "$(cat /proc/$mapper/stat 2>/dev/null | awk '{print $3}')" != Z ] || break
	done
	wait $mapper
}
beside_mapper
check "it answers" timeout 20 "$culprit" ctl --socket "$socket" status
read -r count seconds <mapped
least=$((count - 16384 * seconds - $(field records_lost)))
[ $least -le 0 ] || wait_until 30 at_least $least field records_left_out
lost=$(field records_lost)
left=$(field records_left_out)
echo "# of $count mappings $left were left out, of at least $least, and $lost lost"
if [ $least -gt 0 ]; then
	check "what is too much of one process is left out, and counted" test "$left" -ge $least
else
	skip "what is too much of one process is left out" "this machine is too busy to map as much in a second"
fi
check "and hardly any record is lost" test $((lost * 20)) -lt "$count"
if chrt -f 1 true 2>/dev/null; then
	# Field 41 is the policy: 1, SCHED_FIFO.
	check "the thread that empties the rings goes ahead of a crowd" \
		test "$(awk '$41 == 1' "/proc/$daemon/task/"*/stat | wc -l)" = 1
	beside_mapper 60
	wait_until 30 at_least $((left + 1)) field records_left_out
	crowd=$(($(field records_left_out) - left))
	lost=$(($(field records_lost) - lost))
	echo "# of 60 such processes $crowd were left out, and $lost lost"
	check "nor is one lost by a crowd of one user" test $((lost * 20)) -le "$crowd"
else
	skip "a crowd of one user loses none" "no right to a real-time priority here"
fi
stop_daemon
check "it ends with 0" test $? = 0
"$culprit" prof -i "$db" --epoch all --json --limit 100000 >all.json
check "what ran beside it is known" python3 - <<'PY'
import json, re, sys
table = json.load(open("all.json"))
rows = table["rows"]
count = lambda rows: sum(sum(r["events"].values()) for r in rows)
got = count(r for r in rows if r.get("function") == "brief_here")
# Not of the kernel, of which programs of BPF come and go.
unknown = count(r for r in rows if "[unknown]" in str(r.get("image"))) - sum(
    int(n) for note in table["notes"] for n in re.findall(r"unknown, by cause:.* kernel (\d+)", note))
print(f"# {got} samples of it, {unknown} unknown;", *table["notes"])
sys.exit(not (got > 50 and unknown <= 0.05 * got))
PY
"$culprit" prof -i "$db" --epoch all >out 2>&1
[ "$left" = 0 ] || check_match "and reports say what was left out" out 'mappings and names were not followed, of processes that made too many'
tap_end
