#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# timeout: 900
# shares the machine: 42
# Programs of all kinds run on rightly while copies of a function with counters are put into them and taken out
# again, also by one who is killed at it; and what is counted is what they did. src/instrument/attach/attach.h
. "$(dirname "$0")/../tap.sh"
native=$build/tests/system/native-counted
counted=$build/tests/system/counted
if ! [ -x "$native" ]; then
	skip 'counted' 'not x86-64'
	tap_end
fi
offset_of() { nm "$1" | sed -n 's/^\([0-9a-f]*\) T counted_work$/\1/p'; }
cp "$counted" plain
cp "${counted}-throw" throw
offset=$(offset_of plain) offset_throw=$(offset_of throw)
strip plain throw # all that is known of them is where the function lies

"$PWD/plain" loop 1 >/dev/null
"$native" "$offset" whole "$PWD/plain" loop 1 >out 2>err
if [ $? = 1 ] && grep -q 'cannot be traced' err; then
	skip 'counted' "$(cat err)"
	tap_end
fi

# whole NAME OFFSET PROGRAM ARGUMENT...: output and exit status are those of a run without, and what is counted is
# what the program says it did.
whole() {
	local name=$1 at=$2 status
	shift 2
	"$@" >wanted
	status=$?
	"$native" "$at" whole "$@" >out 2>err
	check_same "$name: status" $status $?
	# How many signals come is not the same twice.
	if [ "$2" = signals ]; then
		check_same "$name: output" "$(grep sum wanted)" "$(grep sum out)"
	else
		check_same "$name: output" "$(cat wanted)" "$(cat out)"
	fi
	check_same "$name: counts" "$(grep calls out)" "$(grep calls err)"
}
whole 'a loop' "$offset" "$PWD/plain" loop 20000
whole 'threads' "$offset" "$PWD/plain" threads 20000
whole 'threads that come and go' "$offset" "$PWD/plain" births 500
whole 'forks' "$offset" "$PWD/plain" forks 300
whole 'spawns, by vfork and by posix_spawn' "$offset" "$PWD/plain" spawns 60
whole 'signals at any instruction' "$offset" "$PWD/plain" signals 200000
whole 'signals on a stack of their own' "$offset" "$PWD/plain" raises 1000
whole 'jumps past the function' "$offset" "$PWD/plain" jumps 20000
whole 'system calls that wait' "$offset" "$PWD/plain" sleeps 100
whole 'exceptions through the function' "$offset_throw" "$PWD/throw" x 5000
"$PWD/plain" execs 20 >wanted
"$native" "$offset" whole "$PWD/plain" execs 20 >out 2>err
check_same 'a program that becomes others: output' "$(cat wanted)" "$(cat out)"
check_match 'a program that becomes others: counts' err '^calls 21 '

"$PWD/plain" execs 2000 >wanted
"$PWD/plain" execs 2000 >out &
pid=$!
await_exec $pid "$PWD/plain"
check 'a program that cannot be followed is told of' "$native" "$offset" closed $pid
wait $pid
check_same 'a program that cannot be followed: status' 0 $?
check_same 'a program that cannot be followed: output' "$(cat wanted)" "$(cat out)"

# under NAME HOW COUNT ARGUMENT...: the program runs while somebody attaches and detaches, or is killed at it.
under() {
	local name=$1 how=$2 count=$3 pid status
	shift 3
	"$PWD/plain" "$@" >wanted
	"$PWD/plain" "$@" >out &
	pid=$!
	await_exec $pid "$PWD/plain"
	"$native" "$offset" "$how" "$count" $pid >said 2>err
	status=$?
	check_same "$name: nothing went wrong" "0 " "$status $(grep native-counted: err)"
	wait $pid
	check_same "$name: status" 0 $?
	check_same "$name: output" "$(grep -v "$filter" wanted)" "$(grep -v "$filter" out)"
}
filter='^$'
under 'threads, 1000 rounds' rounds 1000 threads 6000000
under 'a server of threads, 1000 rounds' rounds 1000 serves 100000
under 'sleeping threads, 200 rounds' rounds 200 sleeps 1500
under 'threads that come and go, 100 rounds' rounds 100 births 5000
under 'forks, 100 rounds' rounds 100 forks 3000
under 'forks beside threads, 200 rounds' rounds 200 crowd 2000000
under 'spawns, 50 rounds' rounds 50 spawns 500
under 'jumps, 100 rounds' rounds 100 jumps 1000000
under 'threads, 300 bursts' bursts 300 threads 6000000
under 'forks beside threads, 100 bursts' bursts 100 crowd 2000000
under 'threads that come and go, 100 bursts' bursts 100 births 20000
under 'jumps, 100 bursts' bursts 100 jumps 10000000
under 'threads, 100 kills' kills 100 threads 16000000
under 'sleeping threads, 100 kills' kills 100 sleeps 2000
under 'forks, 50 kills' kills 50 forks 2000
filter='^calls'
under 'signals, 100 rounds' rounds 100 signals 8000000
under 'signals, 100 bursts' bursts 100 signals 8000000
under 'signals, 100 kills' kills 100 signals 16000000

# stepped NAME ARGUMENT: the same where who counts dies before each of its system calls in turn. The program checks
# each result, and has no end of its own.
stepped() {
	local pid status
	"$PWD/plain" "$2" 4000000000 >out &
	pid=$!
	await_exec $pid "$PWD/plain"
	"$native" "$offset" steps 3000 $pid >said 2>err
	status=$?
	kill $pid
	wait $pid 2>/dev/null
	check_same "$1, a death at each system call: the program went on, and nothing is left" "143 0 " \
		"$? $status $(grep native-counted: err)"
	check_match "$1: deaths" err '^died [0-9]{3,}$'
	check_same "$1: output" '' "$(cat out)"
}
stepped 'a loop' loop
stepped 'threads' threads
stepped 'threads that come and go' births
stepped 'sleeping threads' sleeps
stepped 'signals' signals
stepped 'jumps' jumps
stepped 'forks' forks
stepped 'spawns' spawns

"$PWD/plain" filters 20000 >out &
pid=$!
until grep -q '^SigCgt:.*2[0-9a-f]\{2\}$' /proc/$pid/status; do sleep 0.01; done
check 'one that forbids itself calls is left copies, unused' "$native" "$offset" leave $pid
wait $pid
check_same 'and runs on: status' 0 $?
check_match 'and what it does' out '^calls 20000 '

# refused NAME REGEX PID: is left alone, with the reason.
refused() {
	check_status "$1" 1 "$native" "$offset" clean "$3"
	check_match "$1: why" err "$2"
	check_same "$1: in one line" 1 "$(wc -l <err)"
}
"$PWD/plain" loop 4000000000 >/dev/null &
pid=$!
await_exec $pid "$PWD/plain"
"$native" "$offset" rounds 100000000 $pid 2>/dev/null &
other=$!
until [ "$(sed -n 's/^TracerPid:\t//p' /proc/$pid/status)" = $other ]; do sleep 0.01; done
kill -STOP $other
if [ "$(sed -n 's/^TracerPid:\t//p' /proc/$pid/status)" = $other ]; then
	refused 'one that another culprit counts' "is traced by process $other" $pid
fi
kill -KILL $other
wait $other 2>/dev/null
check 'what that one left is taken out' "$native" "$offset" clean $pid
kill $pid
wait $pid 2>/dev/null
refused 'none' 'there is no process' $pid
refused 'a thread of the kernel' 'thread of the kernel' 2
tap_end
