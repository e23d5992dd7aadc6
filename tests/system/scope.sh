# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 16
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
# A server as many are: its parent waits, and its children, which were there before, do the work.
cat >prefork.py <<'PY'
import os, sys, time
def work():
    end = time.monotonic() + 60
    while time.monotonic() < end and not os.path.exists("stop"):
        sum(range(10000))
    os._exit(0)
for i in range(3):
    if os.fork() == 0:
        work()
if os.fork() == 0:
    if os.fork() == 0:
        work()
    time.sleep(60)
    os._exit(0)
open("ready", "w")
while os.wait():
    pass
PY
python3 prefork.py 2>/dev/null &
server=$!
until [ -e ready ]; do sleep 0.05; done
record parent -F 500 --for 1s -p $server
check_match "of a server's parent it is said that its children are left out" parent.err '5 processes that came of it before now are not sampled; --tree samples them too'
"$culprit" prof -i parent.db >parent.prof 2>&1
check_match 'and why there are no samples' parent.prof 'note: there are no samples of .*: what was sampled did not run, or only its children'
check_match 'what was left out is counted' parent.prof 'note: 5 processes were left out: children of sampled processes, .* \(--tree samples them too\)'
record tree -F 500 --per-process --for 1.5s --tree -p $server
check_match 'with --tree it is said that they are not' tree.err '5 processes that came of it before now are sampled, too'
expect 'with --tree they are sampled: children and theirs, and nobody else' tree.db '
by = p.by("--by", "process")
pids = {row["pid"] for row in by.rows}
print(len(pids), p.samples)
assert {row["comm"] for row in by.rows} == {"python3"}, by.rows
assert len(pids) == 4 and p.samples > 100, by.rows
'
touch stop
kill $server
wait $server 2>/dev/null

# Children that fork all the time, also while the tree is taken in: none of their own is missed. They
# wait, and work when all are there.
cat >busy.py <<'PY'
import glob, os, sys, time
go, gone = os.pipe()
pids = []
while not os.path.exists("enough"):
    # The tree is looked for when the epoch has begun.
    if len(pids) == 100 or not glob.glob("busy.db/*/2*"):
        time.sleep(0.05)
    if len(pids) == 100:
        continue
    pid = os.fork()
    if pid == 0:
        os.close(gone)
        os.read(go, 1)
        had = time.process_time()
        while time.process_time() < had + 0.01:
            pass
        os._exit(0)
    pids.append(pid)
    if len(pids) == 5:
        open("forking." + sys.argv[1], "w")
with open("pids." + sys.argv[1], "w") as out:
    out.write(" ".join(map(str, pids)))
time.sleep(0.1)
os.close(gone)
for pid in pids:
    os.waitpid(pid, 0)
PY
bash -c 'for i in 1 2 3 4 5 6; do python3 busy.py $i & done; wait' &
busy=$!
until [ "$(find . -name "forking.*" | wc -l)" = 6 ]; do sleep 0.02; done
"$culprit" record -q -o busy.db -F 2000 --budget 100 --per-process --tree -p $busy >busy.out 2>busy.err &
recorder=$!
until grep -qs 'that came of it' busy.err || ! kill -0 $recorder 2>/dev/null; do sleep 0.02; done
touch enough
wait $busy $recorder
expect 'of children that fork all the time no child is missed' busy.db '
pids = {int(pid) for pid in " ".join(open(f"pids.{i}").read() for i in range(1, 7)).split()}
by = p.by("--by", "process")
seen = {row["pid"] for row in by.rows}
print(len(pids), "children,", len(pids - seen), "not seen,", p.samples, "samples")
assert len(pids) >= 30 and not pids - seen, (sorted(pids - seen), open("busy.err").read())
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
# The epoch begins just before the samples do, and when the process has been found.
bash -c 'until compgen -G "end.db/*/2*"; do sleep 0.02; done' >/dev/null &
record end -F 100 -p $!
pass 'a recording of a process ends with it'
tap_end
