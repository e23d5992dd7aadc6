# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# One user who makes all the work he can for the daemon costs himself, not the others of the machine,
# and neither holds up what the daemon is asked for.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/daemon.sh"

# Burns so many milliseconds of a CPU, says how many, and waits to be killed if it is told so.
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
	while (used_ms() < atof(argv[1]))
		burn_here();
	printf("%.1f\n", used_ms());
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
check "the programs of the others have their samples" python3 - "$used_ms" <<'PY'
import json, re, sys
used = int(sys.argv[1])
rows = json.load(open("all.json"))["rows"]
got = sum(sum(r["events"].values()) for r in rows if re.search(r"/other\d+$", str(r.get("image"))) and r.get("function") == "burn_here")
hogs = sum(sum(r["events"].values()) for r in rows if re.search(r"/hog\d+$", str(r.get("image"))))
images = {r.get("image") for r in rows if re.search(r"/other\d+$", str(r.get("image")))}
print(f"# {got} of {used} in {len(images)} programs; the crowd's {hogs}")
sys.exit(not (got >= 0.8 * used and len(images) == 30))
PY
check_match "the database is whole" <("$culprit" db verify -i "$db" 2>&1) .
tap_end
