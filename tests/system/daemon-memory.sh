# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# A fast clock on all CPUs loses nothing, and of tens of thousands of short processes nothing is left.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/daemon.sh"
for name in one two three; do
	make_spin $name
	background "$here/$name"
done

# Forks and execs as often as it is told, many at a time.
compile storm <<'C'
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int left = argc > 1 ? atoi(argv[1]) : 0, running = 0;

	while (left || running) {
		if (left && running < 16) {
			if (fork() == 0) {
				if (left % 4 == 0)
					execl("/bin/true", "true", (char *)0);
				_exit(0);
			}
			left--, running++;
		} else if (wait(0) > 0) {
			running--;
		}
	}
}
C

resident_kb() {
	awk '/^VmRSS/ { print $2 }' "/proc/$daemon/status"
}
# Without what it shares with the kernel: unwind tables of new images, which have a limit of their own.
own_kb() {
	awk '/^RssAnon/ { print $2 }' "/proc/$daemon/status"
}
shows() { # NAME MAXIMUM
	[ "$(field "$1")" -le "$2" ]
}

start_daemon "$culprit" daemon -o "$db" --socket "$socket" -F 15000 --flush-every 1h
wait_until 20 at_least 60000 field samples
check "at 15 kHz nothing is lost" test "$(field lost)" = 0
ctl flush
echo "# $(field samples) samples, RSS $(resident_kb) kB"
check "its memory is bounded (the goal is 32 MB)" test "$(resident_kb)" -lt 65536
stop_daemon
check "it ends with 0" test $? = 0

# The load was for the clock only.
# shellcheck disable=SC2046 # one word each
kill $(jobs -p) 2>/dev/null
# To ask makes processes too, so it is asked seldom.
wait_forgotten() { # MAXIMUM
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		sleep 3
		shows processes "$1" && return
	done
	return 1
}

rm -rf state/db
start_daemon "$culprit" daemon -o "$db" --socket "$socket" --flush-every 1h
lives=$(field processes)
# The first time may set a high-water mark; the second must not raise it.
./storm 10000
wait_forgotten $((lives + 200))
ctl flush
before=$(own_kb)
ticks() { cut -d' ' -f14,15 "/proc/$daemon/stat" | tr ' ' +; }
cpu=$(($(ticks)))
./storm 10000
cpu=$(($(ticks) - cpu))
peak=$(own_kb)
check "the dead are forgotten" wait_forgotten $((lives + 200))
ctl flush
after=$(own_kb)
echo "# its own before $before kB, right after 10000 processes $peak kB, later $after kB; CPU of the daemon ${cpu}0 ms"
check "and their memory is used again (4 MB to spare)" test "$after" -lt $((before + 4096))
check "few files are known" shows files 5000
check "no mapping was refused" test "$(field mappings_refused)" = 0
stop_daemon
check "it ends with 0" test $? = 0
tap_end
