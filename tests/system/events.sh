# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 2
# Several events at once, with counts that are known; and what cannot be had.
. "$(dirname "$0")/../sampling.sh"
need_sampling

record several -e cpu-clock,page-faults:1,context-switches:1 -F 1000 -- "$programs/deeds" 20000 3000 0
expect 'a column for each event, and no deed is missed' several.db '
names = [e["name"] for e in p.json["events"]]
found = {name: p.count(event=name) for name in names}
print(found)
touched = p.count(event=names[1], function="touch_pages")
assert names[0] == "cpu-clock" and found[names[0]] > 0
# Also those of the loader and libc; each page that is touched faults once.
assert 20000 <= touched <= 20010, p.top()
assert found[names[2]] >= 3000
'
record faults -e page-faults:100 -- "$programs/deeds" 20000 0 0
expect 'one in 100 page faults' faults.db '
found = p.function("touch_pages")
# The period is redrawn a few times a second between 87 and 113: the rate is right to 13%, and each
# CPU may begin a period that it does not end.
print(found)
assert 20000 / 113 - 4 <= found <= 20000 / 87 + 4, p.top()
'

record spelt -e software/config=0/u@1M -- "$programs/deeds" 20000 0 0
check "a clock is known by its usual name, however it is spelt" \
	sh -c '"$1" prof -i spelt.db | grep -q "^cpu-clock:u: [0-9]* samples, one every 1 ms of a CPU"' - "$culprit"
check_refused "an event twice" 2 "event 'CPU-CLOCK' is named twice" "$culprit" record -e cpu-clock -e CPU-CLOCK -- true
check_refused "a group" 2 'groups are not supported; leave out the braces' "$culprit" record -e '{cpu-clock,faults}' -- true
record both -e cpu-clock:1M,cpu-clock:2M -- "$programs/deeds" 20000 0 0
check "one event with two periods is two" sh -c '"$1" prof -i both.db | grep -c "^cpu-clock:[12]000000: " | grep -qx 2' - "$culprit"

# The name of a system call that the program makes just so often, and nothing else does.
tracefs=$(awk '$3 == "tracefs" { print $2; exit }' /proc/mounts)
if [ -z "$tracefs" ]; then
	# In a mount namespace of our own, so that the machine stays as it was.
	if [ -z "${CULPRIT_UNSHARED:-}" ] && [ -d /sys/kernel/tracing ] &&
		unshare -m mount -t tracefs none /sys/kernel/tracing 2>/dev/null; then
		inside() {
			unshare -m bash -c 'mount -t tracefs none /sys/kernel/tracing; exec "$@"' - "$@"
		}
	else
		inside() { false; }
	fi
else
	inside() { "$@"; }
fi
if ! inside test -d /sys/kernel/tracing/events/syscalls/sys_enter_getpriority; then
	skip 'tracepoints' 'there is no tracefs'
else
	culprit_itself=$culprit
	trace() { # NAME EVENT COUNT
		inside "$culprit_itself" record -q -o "$1.db" -e "$2" -- "$programs/deeds" 0 0 "$3" >"$1.out" 2>"$1.err" ||
			fail "record $1" "$(cat "$1.err")"
	}
	trace each syscalls:sys_enter_getpriority:1 12345
	expect 'each hit of a tracepoint is a sample' each.db '
print(p.samples)
assert p.samples == 12345 and p.lost == 0, p.top()
'
	trace hundredth syscalls:sys_enter_getpriority:100 100000
	expect 'one in 100 hits of a tracepoint' hundredth.db '
# Each period is uniform in 88..112 (standard deviation 7.2), so 1000 of them end within 230 of
# 100,000: 4 standard deviations are 10 samples; the first hit of each CPU is always taken.
import os
print(p.samples)
assert abs(p.samples - 1000) <= 10 + os.cpu_count(), p.samples
'
fi

# What cannot be had says so in one line, and leaves nothing behind.
refused() { # NAME STATUS REGEX ARGUMENT...
	local name=$1 status=$2 regex=$3 got
	shift 3
	rm -rf none.db
	timeout 200 "$culprit" record -o none.db "$@" >out 2>err </dev/null
	got=$?
	if [ $got = "$status" ] && grep -Eq -- "$regex" err && [ "$(grep -c '' err)" -le 2 ] && [ ! -s out ] &&
		[ -z "$(find none.db -name 'seg-*' -o -name '*.tmp' 2>/dev/null)" ]; then
		pass "$name"
	else
		fail "$name" "status $got, not $status; wanted $regex in:" "$(cat err)" "$(find none.db 2>/dev/null)" "$(head out)"
	fi
}
refused 'an event that does not exist' 2 'no-such-event' -e no-such-event -- true
refused 'an event that exists on other machines' 2 'mem-loads|MEM' -e MEM_LOAD_RETIRED.L1_MISS -- true
refused 'a process that does not exist' 2 'no process 4194303' -p 4194303
refused 'two scopes' 2 '.' -a -p 1
refused 'nothing to sample' 2 'say what to sample' -F 100
refused 'a command that does not exist' 1 "cannot run './no-such-command'" -F 100 -- ./no-such-command
refused 'a command that is nowhere in the path' 1 "cannot run 'no-such-command'" -- no-such-command
refused 'a command that is a directory' 1 "cannot run '/'" -F 100 -- /
mkdir locked file-parent
echo >file-parent/file
chattr +i locked 2>/dev/null
mkfifo fifo
at() { # NAME PATH: a database that cannot be there.
	timeout 200 "$culprit" record -F 100 -o "$2" -- touch ran >out 2>err </dev/null
	got=$?
	if [ $got = 1 ] && [ "$(grep -c '' err)" = 1 ] && [ ! -e ran ] && [ ! -s out ]; then pass "$1"; else
		fail "$1" "status $got" "$(cat err)" "$(ls)"
	fi
	rm -f ran
}
if lsattr -d locked 2>/dev/null | cut -d' ' -f1 | grep -q i; then
	at 'a database in a directory that cannot be written' "$PWD/locked/new.db"
	chattr -i locked
else
	skip 'a database in a directory that cannot be written' 'chattr +i is not supported here'
fi
at 'a database below a file' "$PWD/file-parent/file/new.db"
at 'a database that is a file' "$PWD/file-parent/file"
at 'a database that is a FIFO' "$PWD/fifo"
at 'a database that is a device' /dev/null

chmod 711 . 2>/dev/null
mkdir -m 777 open
setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all timeout 200 "$culprit" record -F 100 -o open/x.db -- true >out 2>err
status=$?
if [ $status = 1 ] && grep -Eq 'root|CAP_|perf_event_paranoid' err && [ "$(grep -c '' err)" -le 2 ]; then
	pass 'without any right'
else
	fail 'without any right' "status $status" "$(cat err)"
fi
tap_end
