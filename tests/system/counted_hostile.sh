#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shares the machine: 10
# Programs that make it hard to count them are left alone, or counted rightly; who counts never waits for them, and
# they never end of it. src/instrument/attach/attach.h
. "$(dirname "$0")/../tap.sh"
native=$build/tests/system/native-counted
program=$build/tests/system/counted-hostile
if ! [ -x "$native" ]; then
	skip 'hostile programs counted' 'not x86-64'
	tap_end
fi
cp "$program" program
offset=$(nm program | sed -n 's/^\([0-9a-f]*\) T counted_work$/\1/p')

# One that runs until it is killed: that a program has ended is no reason to skip all of this.
"$PWD/program" forks 4000000000 >/dev/null &
await_exec $! "$PWD/program"
"$native" "$offset" clean $! >/dev/null 2>err
kill -KILL $!
wait $! 2>/dev/null
if grep -q 'cannot be traced' err; then
	skip 'hostile programs counted' "$(cat err)"
	tap_end
fi

# ready KIND: starts one that waits; pid. false: the machine does not let it.
ready() {
	: >told
	"$PWD/program" "$1" 1 >told &
	pid=$!
	until grep -q . told; do sleep 0.01; done
	grep -q ready told
}

# end_of NAME: it still runs, nobody has read what must not be read, and is ended.
end_of() {
	check_same "$1: it runs on" 0 "$(kill -KILL $pid && echo $?)"
	wait $pid 2>/dev/null
	check_same "$1: nobody waited for its memory" ready "$(cat told)"
}

if ready stack; then
	check_status 'a stack in memory that is for another to give' 1 "$native" "$offset" clean $pid
	check_match 'a stack in memory that is for another to give: why' err 'its stack cannot be read'
	end_of 'a stack in memory that is for another to give'
	ready copies
	check 'copies in memory that is for another to give are no copies' "$native" "$offset" rounds 3 $pid
	end_of 'copies in memory that is for another to give'
else
	skip 'memory that is for another to give' 'FUSE cannot be mounted'
fi

if ready ring; then
	check 'a process with a thread of io_uring is counted, and restored, time and again' "$native" "$offset" rounds 3 $pid
	end_of 'a process with a thread of io_uring'
else
	skip 'a process with a thread of io_uring' 'the machine has none'
fi

for kind in many large; do
	ready $kind
	check_status "$kind forged records" 1 "$native" "$offset" clean $pid
	check_match "$kind forged records: why" err "has more mapped under the names of culprit's copies"
	end_of "$kind forged records"
done

# Limits are of what is looked at: without them it would take hundreds of times as long as this has.
ready deep
check_status 'forged frames on deep stacks' 1 timeout -k 1 200 "$native" "$offset" clean $pid
check_match 'forged frames on deep stacks: why' err 'its stack cannot be read'
end_of 'forged frames on deep stacks'

# under NAME COUNT KIND ROUNDS: the program runs while somebody attaches and detaches.
under() {
	local status
	"$PWD/program" "$3" "$4" >wanted
	"$PWD/program" "$3" "$4" >out &
	pid=$!
	await_exec $pid "$PWD/program"
	"$native" "$offset" rounds "$2" $pid >said 2>err
	status=$?
	check_same "$1: nothing went wrong" "0 " "$status $(grep native-counted: err)"
	wait $pid
	check_same "$1: status" 0 $?
	check_same "$1: output" "$(cat wanted)" "$(cat out)"
}
under 'a process that shares its memory' 100 shares 6000000
under 'threads that hide' 200 hidden 20000

# met NAME MODE KIND: what MODE of native-counted meets with the program goes well, and the program runs on.
met() {
	rm -f go went gone born
	ready "$3"
	check "$1" "$native" "$offset" "$2" $pid
	end_of "$1"
}
check 'a number that goes to another process' "$native" "$offset" recycled
met 'a thread that is born before all are stopped' born bears
met 'code that changes while threads are let run' changed bears
met 'a thread that waits in the kernel is let go when it comes out' late waits
met 'a child whose parent is not whom it was forked by' cousins uncle

"$PWD/program" forks 300 >wanted
"$PWD/program" forks 300 >told &
pid=$!
await_exec $pid "$PWD/program"
check 'a child that cannot be followed is told of' "$native" "$offset" full $pid
wait $pid
check_same 'a child that cannot be followed: status' 0 $?
check_same 'a child that cannot be followed: output' "$(cat wanted)" "$(cat told)"
tap_end
