#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shares the machine: 10
# Programs that would hold up all who are counted with them, record --counts=all goes on beside. src/counting
. "$(dirname "$0")/../sampling.sh"
need_sampling
program=$build/tests/system/counted-hostile
if ! [ -x "$program" ]; then
	skip 'hostile programs counted whole' 'programs are counted on x86-64 only'
	tap_end
fi

# counted KIND N: without an end, where it does not come to one by itself.
counted() { timeout -k 1 60 "$culprit" record -o "$1.db" --counts=all -- "$program" "$1" "$2" >out 2>err; }

counted served 1
status=$?
if grep -q skip out; then
	skip 'code of a file that a program serves itself' 'FUSE cannot be mounted'
else
	check_same 'code of a file that a program serves itself: it runs to its end' "0 loaded" \
		"$status $(grep loaded out)"
	check_match 'code of a file that a program serves itself: why it is not counted' err \
		'/served.*on a file system that may never answer'
fi

counted knocks 1
check_same 'a program that waits for libraries without end is heard no more' "0 unheard" "$? $(grep unheard out)"
check_match 'which is told' err 'cover only part of the run'

known=$build/tests/system/known
counted stands "$known"
check_same 'beside a process that cannot be stopped: status' 3 $?
check_same 'beside a process that cannot be stopped others are counted' "known_work 1000
known_part 3000" "$(python3 "$root/tests/system/counts_reader.py" "$build/tests/accuracy/accuracy-dump" stands.db "$known" known_work known_part)"

cat >leaves.sh <<'END'
rm -f stands
"$1" stand 1 &
echo $! >pids
"$2" plain 4000000000000 >/dev/null &
echo $! >>pids
until [ -e stands ] && [ "$(grep -c culprit-copies /proc/$!/maps)" = 3 ]; do sleep 0.1; done
END
check_status 'a command that leaves a process that cannot be stopped' 0 timeout -k 1 120 "$culprit" record -o leaves.db \
	--counts=all -- sh leaves.sh "$program" "$known"
{ read -r stands && read -r beside; } <pids
check_same 'copies are taken out of the others' 0 "$(grep -c culprit-copies "/proc/$beside/maps")"
kill -KILL "$stands" "$beside"

counted crowd 200
check_same 'a thread without a table of its own waits for no libraries' "0 passed" "$? $(grep passed out)"
check_match 'and is told of' err 'thread.* shared counters'
tap_end
