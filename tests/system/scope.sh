# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# What is sampled: a command and all that comes of it, processes, everything; user, kernel.
. "$(dirname "$0")/../sampling.sh"
need_sampling

# A stranger that must not appear, under a name of its own.
cp "$programs/spots-two" stranger
./stranger 600000000 &
stranger=$!
trap 'kill $stranger; tap_clean' EXIT

# The daemon's parent ends at once, and it outlives its session.
cp "$programs/spots-one" offspring
record command -F 1000 --per-process -- bash -c '(setsid ./offspring 800000 &) ; sleep 1.5'
expect 'a command: also what it detached, and nothing else' command.db '
by = p.by("--by", "process")
commands = {row["comm"] for row in by.rows}
print(commands)
assert p.function("one_first", image=".*/offspring") > 50, p.top()
assert commands <= {"bash", "setsid", "sleep", "offspring", "culprit"}, commands
assert p.unknown == 0
'

# -p: the threads that it has, the children that it will have.
"$programs/threads" 2 600 &
threads=$!
await_exec $threads "$programs/threads"
await_cpu $threads 5
record process -F 1000 --per-process --for 1.5s -p $threads
kill $threads
wait $threads
expect 'a process: its threads and its later children, under their process' process.db '
by = p.by("--by", "process")
commands = {row["comm"] for row in by.rows}
print(commands)
# The threads have names of their own, but it is the process that is charged.
assert commands == {"threads"}, commands
assert p.function("thread_work") > 50 and p.function("child_work") > 20, p.top()
assert len({row["pid"] for row in by.rows}) > 2
'
record all -F 1000 -a -- "$programs/spots-one" 800000
expect 'everything: the command, the stranger and the kernel' all.db '
assert p.function("one_first") > 50 and p.function("two_second", image=".*/stranger") > 20, p.top()
assert p.count(image=r"\[kernel.*") > 0
'
# dd spends its time in both, and so can show what is left out.
both=(bash -c 'timeout 1.5 dd if=/dev/zero of=/dev/null bs=1; true')
record user -e cpu-clock:u -F 1000 -- "${both[@]}"
expect ':u has no kernel' user.db '
assert p.count(image=r"\[kernel.*") == 0 and p.count(image=".*/(dd|libc.*)") > 20, p.top()
'
record kernel -e cpu-clock:k -F 1000 -- "${both[@]}"
expect ':k has nothing else' kernel.db '
assert p.count(image=r"\[kernel.*") > 20 and p.count(image="/.*") == 0, p.top()
assert p.count(image=r"\[kernel.*") >= 0.99 * p.samples, p.top()
'
record end -F 100 -p "$(bash -c 'sleep 1 >/dev/null & echo $!')"
pass 'a recording of a process ends with it'
tap_end
