# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# The daemon and its disk: full, read-only, of another version; epochs that begin and go by time;
# many small writes merged.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/daemon.sh"
make_spin burn
background "$here/burn"
plain_socket=(--socket "$socket")

mkdir disk
mount -t tmpfs -o size=64m tmpfs disk || { skip "a full disk" "tmpfs cannot be mounted"; tap_end; }
db=$here/disk/db
start_daemon "$culprit" daemon -o "$db" "${plain_socket[@]}" --flush-every 1s
wait_until 10 at_least 2 field flushes
head -c 128M /dev/zero >disk/filler 2>/dev/null
check "on a full disk a flush fails" wait_until 20 at_least 1 field failed_flushes
check_match "and says so" log 'No space left'
check_status "ctl flush says so too" 1 ctl flush
check_match "in one line" err 'the daemon says: .*No space left'
before=$(field samples)
check "sampling goes on" wait_until 10 at_least $((before + 300)) field samples
check "what cannot be written stays in memory" at_least 1 field rows
rm disk/filler
check "with room again it is written" wait_until 10 ctl flush
all=$(field samples)
check "nothing is lost" test "$(field lost)" = 0
ctl stop
wait "$daemon"
check "and it ends with 0" test $? = 0
check "everything that was sampled is there" test "$(all_samples)" -ge "$all"

# Full at the end: what cannot be written is lost, which it does not hide.
start_daemon "$culprit" daemon -o "$db" "${plain_socket[@]}" --flush-every 1h
wait_until 10 at_least 200 field samples
head -c 128M /dev/zero >disk/filler 2>/dev/null
stop_daemon
check "when the disk is still full at the end, status 1" test $? = 1
check_match "and why" log 'No space left'
rm disk/filler
check "what was written before is whole" test "$(all_samples)" -ge "$all"

mount -o remount,ro disk
check_status "a read-only disk" 1 "$culprit" daemon -o "$db" "${plain_socket[@]}"
check_match "is told in one line" err '^culprit: cannot .*Read-only file system'
check "only one" test "$(wc -l <err)" = 1
check "and leaves no socket" test ! -e "$socket"
mount -o remount,rw disk
sed -i 's/version .*/version 999/' "$db"/*/meta
check_status "a database whose header is damaged is mended" 0 timeout 200 "$culprit" record -o "$db" -- true
printf 'culprit database, version 2\nsum %s\n' 0f0c9bdd499de67c >disk/newer
cp disk/newer "$(echo "$db"/*/meta)"
for command in "daemon ${plain_socket[*]}" "record -a --for 1s"; do
	# shellcheck disable=SC2086 # words
	check_status "a newer database is refused by ${command%% *}" 1 "$culprit" $command -o "$db"
	check_match "in one line" err '^culprit: .*version 2'
done
check "and stays as it is" cmp disk/newer "$(echo "$db"/*/meta)"
umount disk
db=$here/state/db

# Retention, with epochs of a second.
start_daemon "$culprit" daemon -o "$db" "${plain_socket[@]}" --epoch-every 1s --flush-every 1h \
	--keep-size 1
epochs() {
	"$culprit" epochs -i "$db" | grep -c '20[0-9]*T[0-9]*Z'
}
first=$(field epoch)
differs() { [ "$(field epoch)" != "$first" ]; }
check "an epoch begins by time" wait_until 10 differs
gone() { ! find "$db" -name "$first" | grep -q .; }
check "the oldest go when there are too many bytes" wait_until 20 gone
check "but never the newest three" at_least 3 epochs
check "all of it is read without a complaint" test -z "$("$culprit" prof -i "$db" --epoch all 2>&1 | grep damaged)"
stop_daemon

rm -rf state/db
start_daemon "$culprit" daemon -o "$db" "${plain_socket[@]}" --epoch-every 1s --flush-every 1h \
	--keep-age 2s
first=$(field epoch)
check "the oldest go by their age" wait_until 30 gone
check "but never the newest three" at_least 3 epochs
stop_daemon

rm -rf state/db
start_daemon "$culprit" daemon -o "$db" "${plain_socket[@]}" --flush-every 1h
written() { kill -HUP "$daemon" && at_least 18 field flushes; }
check "many writes" wait_until 40 written
segments() { find "$db" -name 'seg-*' | wc -l; }
check "are merged" test "$(segments)" -lt 17
all=$(field samples)
ctl flush
check "nothing is lost by it" test "$(all_samples)" -ge "$all"
stop_daemon
check "and one file is left" test "$(segments)" = 0
check "with everything" test "$(all_samples)" -ge "$all"
check "undamaged" test -z "$("$culprit" prof -i "$db" 2>&1 | grep damaged)"

# The wall clock is set back a day, as where a machine starts with a clock that is wrong.
compile set_back.so -shared -fPIC <<'C'
#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *t)
{
	int r = syscall(SYS_clock_gettime, id, t);
	if (id == CLOCK_REALTIME && !access("was_set_back", F_OK))
		t->tv_sec -= 100000;
	return r;
}
C
rm -rf state/db
start_daemon env LD_PRELOAD="$here/set_back.so" "$culprit" daemon -o "$db" "${plain_socket[@]}" --flush-every 1s
wait_until 10 at_least 1 field flushes
before=$(field flushes)
first=$(field epoch)
touch was_set_back
check "when the clock is set back it goes on to write" wait_until 20 at_least $((before + 3)) field flushes
check "and begins an epoch of the new time" differs
stop_daemon
check "all of it is there" test "$(epochs)" = 2
tap_end
