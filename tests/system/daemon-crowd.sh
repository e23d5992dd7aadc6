# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# One user who makes all the work he can for the daemon costs himself, not the others of the machine,
# and neither holds up what the daemon is asked for.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/daemon.sh"

# Burns so many milliseconds of a CPU, says how many, and waits to be killed if it is told so. Where the host takes the
# CPU away the clock goes on, and there is one sample at most: of a step that took longer no more than a millisecond is
# counted, so that a program that was stopped so as it began does not end without a sample.
compile burner -Wl,--build-id=none <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
volatile unsigned long n;
__attribute__((noinline)) void burn_here(void)
{
	for (int i = 0; i < 100000; i++)
		n++;
}
static double used_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}
int main(int argc, char **argv)
{
	double burnt_ms = 0, before = used_ms();

	while (burnt_ms < atof(argv[1])) {
		burn_here();
		double now = used_ms();
		burnt_ms += now - before < 1 ? now - before : 1;
		before = now;
	}
	printf("%.1f %.1f\n", burnt_ms, used_ms());
	fflush(stdout);
	if (argc > 2)
		pause();
	return 0;
}
C

# crowd NAME: programs of 1 GiB each, nearly all of it holes, all different, without build-id.
hogs=150
mkdir crowd
crowd() {
	local i
	for i in $(seq $hogs); do
		cp burner "crowd/$1$i"
		echo "$i" >>"crowd/$1$i"
		truncate -s 1G "crowd/$1$i"
	done
	for i in $(seq $hogs); do background exec_user "$here/crowd/$1$i" 20 stay >>hogs; done
}

others=30
for i in $(seq $others); do
	cp burner "other$i"
	echo "$i" >>"other$i"
done

start_daemon "$culprit" daemon -o "$db" --socket "$socket" --flush-every 1h -F 1000 --budget 100
crowd hog
check "it answers while somebody has $hogs programs of 1 GiB looked at" timeout 20 "$culprit" ctl --socket "$socket" status
for i in $(seq $others); do "./other$i" 50; done >used
check "and when it is asked to write" timeout 30 "$culprit" ctl --socket "$socket" flush
check "no record of processes was lost" test "$(field records_lost)" = 0
check "and no sample" test "$(field lost)" = 0
stop() { kill -TERM "$daemon" && wait_until 40 gone; }
gone() { ! kill -0 "$daemon"; }
# As many more of them, so that it has work when it is told to end.
crowd again
check "it ends when it is told to" stop
wait "$daemon"
check "with 0" test $? = 0
used_ms=$(awk '{ sum += $1 } END { print int(sum) }' used)
"$culprit" prof -i "$db" --epoch all --json --limit 100000 >all.json
"$culprit" prof -i "$db" --epoch all --json --limit 100000 --by subject >subjects.json
# Where the host takes CPUs away fewer samples come than milliseconds pass, of the crowd's programs too.
check "the programs of the others have their samples" python3 - "$used_ms" "$((hogs * 20))" <<'PY'
import json, re, sys
used, crowd_used = (int(a) for a in sys.argv[1:])
rows = [(str(r.get("image")), r.get("function"), sum(r["events"].values())) for r in json.load(open("all.json"))["rows"]]
count = lambda image: sum(n for i, _, n in rows if re.search(image, i))
got = sum(n for i, f, n in rows if re.search(r"/other\d+$", i) and f == "burn_here")
crowd = count(r"/hog\d+$")
missing = {f"other{i}" for i in range(1, 31)} - {i.rpartition("/")[2] for i, _, _ in rows}
if missing: # which of all that can be wrong it is
    said = open("used").read().split("\n")
    by = {r["subject"]: r["samples"] for r in json.load(open("subjects.json"))["rows"]}
    print("# burnt and used, samples anywhere:", *((name, said[int(name[5:]) - 1], by.get("comm=" + name)) for name in missing))
print(f"# {got} of {used}; the crowd's {crowd} of {crowd_used}, unknown {count('unknown')}; missing: {missing or 'none'}")
came = min(max(crowd / crowd_used, 0.5), 1)
sys.exit(not (got >= 0.8 * came * used and not missing))
PY
check_match "the database is whole" <("$culprit" db verify -i "$db" 2>&1) .
tap_end
