# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 62
# record --counts=all: what a whole run of a program executed, in the database, as often as the program says; with
# the output, status and signals that it has without.
. "$(dirname "$0")/../sampling.sh"
need_sampling
if [ "$(uname -m)" != x86_64 ]; then
	skip 'counts' 'programs are counted on x86-64 only'
	tap_end
fi
known=$build/tests/system/known
check_refused 'counts of whom' 2 "--counts=all needs a command" "$culprit" record --counts=all -a
check_refused 'bursts of whom' 2 "--counts needs a command to run, or one process" "$culprit" record --counts -a
check_refused 'other counts' 2 "--counts 'some' is not all" "$culprit" record --counts=some -- true
dump=$build/tests/accuracy/accuracy-dump

# counted NAME STATUS ENTRIES PARTS FILE ARGUMENT...: output and exit status are those of a run without, known_work() was
# entered so many times, and known_part().
counted() {
	local name=$1 status=$2 entries=$3 parts=$4
	shift 4
	"$known" "$@" >wanted 2>/dev/null
	check_status "$name: status" "$status" "$culprit" record -v -o "$1.db" --counts=all -- "$known" "$@"
	cp err "$1.err"
	check_same "$name: output" "$(cat wanted)" "$(head -n "$(wc -l <wanted)" out)"
	check_same "$name: counts" "known_work $entries
known_part $parts" "$(python3 "$root/tests/system/counts_reader.py" "$dump" "$1.db" "$known" known_work known_part)"
	check_status "$name: the database is sound" 0 "$culprit" db verify -i "$1.db"
}
counted 'a program' 3 1000 3000 plain 1000
check_match 'it says how many functions were counted' plain.err '^culprit: counted [0-9]+ of [0-9]+ functions of 3 files, in 1 program$'
check_match 'and why others were not' plain.err '^culprit: not counted: [0-9]+ functions: '
check_status 'a program that runs for longer' 3 "$culprit" record -F 1000 --budget 100 -o long.db --counts=all -- "$known" plain 30000000
check 'samples are charged to the functions that ran in copies' python3 -c '
import json, subprocess, sys
rows = json.loads(subprocess.run([sys.argv[1], "prof", "-i", "long.db", "--json"], check=True, stdout=subprocess.PIPE).stdout)["rows"]
own = sum(row["samples"] for row in rows if row["image"].endswith("/known") and row["function"] in ("known_work", "known_part", "main"))
assert own >= 0.8 * sum(row["samples"] for row in rows), rows
' "$culprit"
check_status 'a program that is counted has stacks' 3 "$culprit" record -F 1000 --budget 100 --stack-rate 1000 -o stacks.db \
	--counts=all -- "$known" plain 30000000
check_status 'which are written out' 0 "$culprit" export -i stacks.db --folded stacks.folded
check 'and go on from copies to the beginning of their thread' python3 -c '
stacks = [line.rsplit(" ", 1) for line in open("stacks.folded")]
total = sum(int(count) for _, count in stacks)
whole = sum(int(count) for stack, count in stacks if ";main;" in stack + ";" and "[truncated" not in stack)
assert total > 20 and whole >= 0.9 * total, (whole, total)
'
check_status 'and a report says how often each ran' 0 "$culprit" calc -i long.db known_part
check_match 'counted' out 'called 90000000 \(counted\)'
check_match 'and which share of the samples that is' out 'functions with (100|9[0-9][0-9.]*)% of the samples are counted'
counted 'threads' 3 1000 3000 threads 1000
counted 'children' 3 1000 3000 forks 1000
counted 'a program that becomes another' 3 1000 3000 execs 1000
check_match 'which is a second program' execs.err ' in 2 programs$'
counted 'a program that dies by a signal' 139 1000 3000 dies 1000
counted 'handlers of signals' 3 1000 3000 signals 1000
counted 'a library that is loaded late' 3 0 0 library 1000 "$build/tests/system/libknown.so"
check_same 'is counted from its first instruction on' 'known_library 1000
known_constructor 1' "$(python3 "$root/tests/system/counts_reader.py" "$dump" library.db "$build/tests/system/libknown.so" \
	known_library known_constructor)"

check_same 'and is of the whole run' '' "$(grep -h 'part of the run' ./*.err)"
fact() { "$dump" "$1" | grep -o '"fact":"counts","value":"[a-z]*"'; }
check_same 'which the database says' '"fact":"counts","value":"whole"' "$(fact library.db)"
check_status 'a program of too many mappings runs as without' 3 "$culprit" record -q -o crowded.db --counts=all -- \
	"$known" crowded 1000 "$build/tests/system/libknown.so"
check_match 'that its library was not counted is said, also with -q' err \
	'^culprit: [0-9]+ times? a process ran libraries uncounted(, the first)?: process [0-9]+ cannot be looked at: it has too many mappings'
check_match 'and that counts are of a part of the run' err '^culprit: so the counts cover only part of the run$'
check_same 'as in the database' '"fact":"counts","value":"part"' "$(fact crowded.db)"
"$culprit" prof -i crowded.db >prof.txt 2>&1
check_match 'reports say so' prof.txt '[0-9]+ times? a process ran libraries uncounted'
check_same 'and the library has no counts' 'known_library 0' "$(python3 "$root/tests/system/counts_reader.py" \
	"$dump" crowded.db "$build/tests/system/libknown.so" known_library)"

check_status 'a program without memory for copies of its library' 3 "$culprit" record -q -o tight.db --counts=all -- \
	"$known" tight 1000 "$build/tests/system/libknown.so"
check_match 'that it was not counted is said once' err '^culprit: 1 file was not counted: .*/libknown.so: '
check_same 'it has no counts' 'known_library 0' "$(python3 "$root/tests/system/counts_reader.py" \
	"$dump" tight.db "$build/tests/system/libknown.so" known_library)"
check_same 'the others go on' 'known_work 1000
known_part 3000' "$(python3 "$root/tests/system/counts_reader.py" "$dump" tight.db "$known" known_work known_part)"
check_same 'and their counts are of the whole run' '"fact":"counts","value":"whole"' "$(fact tight.db)"

check_status 'a child that writes over its copies' 0 "$culprit" record -q -o forger.db --counts=all -- \
	"$build/tests/system/counted-hostile" forger 1
check_same 'changes nothing of what its parent runs' "unchanged
sum 0" "$(head -n 2 out)"

check_status 'a program that writes to its counters' 0 "$culprit" record -v -o spoiler.db --counts=all -- \
	"$build/tests/system/counted-hostile" spoiler 1
check_match 'which it does' out '^spoilt$'
check_match 'loses the functions that they are of' err '^culprit: the counts of [1-9][0-9]* functions do not fit together$'
check_match 'and no others of their file' err '^culprit: counted [0-9]+ of [0-9]+ functions of 3 files, in 1 program$'

# counting PID: until the program has its copies, those of its libraries too, or is gone.
counting() { until [ "$(grep -c culprit-copies "/proc/$1/maps")" = 3 ] || ! [ -e "/proc/$1" ]; do sleep 0.02; done; }
# child PID: the first child that it has become.
child() { until pgrep -P "$1" -x known; do sleep 0.02; done; }

"$culprit" record -q -o interrupted.db --counts=all -- "$known" plain 4000000000000 >/dev/null 2>&1 &
recorder=$!
program=$(child $recorder)
counting "$program"
check_same 'its counters are left out of core dumps' dd "$(sed -n '/culprit-counters/,/^VmFlags/ s/^VmFlags:.* \(dd\) .*/\1/p' \
	"/proc/$program/smaps")"
kill -INT $recorder
wait $recorder
check_same 'Ctrl-C ends the program and the recording as without' 143 $?
check_status 'whose counts are there' 0 "$culprit" db verify -i interrupted.db
check_match 'as edges' out ' [1-9][0-9]* edges, '

# More counters than a table has at the start: a branch has one.
printf '.globl known_library\n.type known_library, @function\nknown_library:\n.rept 280000\ntest %%edi, %%edi\njz 1f\nnop\n1:\n.endr
xor %%eax, %%eax\nret\n.size known_library, . - known_library\n' >branches.s
if cc -shared -nostdlib -o libbranches.so branches.s; then
	check_status 'a library of 280,000 counters' 3 "$culprit" record -q -o branches.db --counts=all -- "$known" library 10 ./libbranches.so
	check_same 'that is loaded late is counted' 'known_library 10' "$(python3 "$root/tests/system/counts_reader.py" \
		"$dump" branches.db ./libbranches.so known_library)"
else
	skip 'a library of many counters' 'no compiler'
fi

# Which is changed when it is loaded, after it has its copies.
printf '.globl known_library, known_value\n.data\nknown_value: .quad 5\n.text\n.type known_library, @function
known_library: movabs $known_value, %%rax\nmov (%%rax), %%rax\nadd %%rdi, %%rax\ntest %%rdi, %%rdi\njz 1f\ninc %%rax\n1: ret
.size known_library, . - known_library\n' >relocated.s
if cc -shared -nostdlib -Wl,-z,notext -o librelocated.so relocated.s 2>/dev/null; then
	"$known" library 1000 ./librelocated.so >wanted
	check_status 'a library whose code is relocated' 3 "$culprit" record -q -o relocated.db --counts=all -- "$known" library 1000 ./librelocated.so
	check_same 'runs as without' "$(cat wanted)" "$(head -n "$(wc -l <wanted)" out)"
	check_match 'and is not counted' err '^culprit: 1 file was not counted: .*/librelocated.so: its code is written to'
else
	skip 'a library whose code is relocated' 'no compiler'
fi

# In bursts. How many there are is up to the load of the machine.
"$known" plain 400000000 >wanted
check_status 'bursts: status' 3 "$culprit" record -v -F 500 --budget 50 -o bursts.db --counts -- "$known" plain 400000000
check_same 'bursts: output' "$(cat wanted)" "$(head -n "$(wc -l <wanted)" out)"
check_match 'it says how many there were' err '^culprit: counted in [0-9]+ bursts?, which cover [0-9.e-]+ s of [0-9.]+ s of CPU time, and took [0-9]+% longer for it; stopped for '
check_match 'and what was counted' err '^culprit: counted [1-9][0-9]* of [0-9]+ functions? of [1-9] files?, in 1 program$'
check_same 'the database says what they are' '"fact":"counts","value":"bursts"' "$(fact bursts.db)"
"$dump" bursts.db >bursts.json
check 'how many there were, and of how many threads' python3 -c '
import json, re
n = {p["counter"]: p["value"] for p in json.load(open("bursts.json")) if "counter" in p}
said = int(re.search("counted in ([0-9]+) burst", open("err").read())[1])
assert n["counting.bursts"] == said and 0 < n["counting.bursts.counted_ns"] < n["counting.bursts.total_ns"], n
assert n["counting.threads"] == n["counting.processes"] == 1, n
'
check_status 'the database is sound' 0 "$culprit" db verify -i bursts.db
check_status 'a report says how often each ran' 0 "$culprit" calc -i bursts.db --json known_part
check 'as often as it did, but for what differs by moments' python3 -c '
import json
calls = next(f["calls"] for f in json.load(open("out"))["functions"] if f["name"] == "known_part")
assert 0.6 < calls / 1.2e9 < 1.6, calls
'

"$build/tests/system/counted-hostile" altered 1000000 >wanted
check_status 'bursts of a program that has changed its code' 0 "$culprit" record -v -F 500 --budget 50 -o altered.db --counts -- \
	"$build/tests/system/counted-hostile" altered 1000000
check_same 'which runs as without' "$(cat wanted)" "$(head -n 1 out)"
check_match 'and is left alone where it did' err '^culprit: not counted: 1 function: the code in memory is not that of the file$'
check_status 'bursts of a program whose child works' 3 "$culprit" record -q -F 500 --budget 50 -o parent.db --counts -- \
	bash -c '"$0" plain 400000000 >/dev/null; exit 3' "$known"
check_same 'are of a part of the run' '"fact":"counts","value":"part"' "$(fact parent.db)"
check_match 'which is said' err '^culprit: so the counts cover only part of the run$'

"$known" plain 4000000000000 >/dev/null 2>&1 &
program=$!
"$culprit" record -q -F 500 --budget 50 -o running.db --counts -p $program 2>err &
recorder=$!
until grep -q culprit-copies "/proc/$program/maps"; do sleep 0.02; done
kill -INT $recorder
wait $recorder
check_same 'Ctrl-C ends bursts in a process that runs' 0 $?
check_same 'nothing is left in it' 0 "$(grep -c culprit- "/proc/$program/maps")"
await_cpu "$program" 20
"$culprit" record -q -F 500 --budget 50 -o running.db --counts -p $program 2>err &
recorder=$!
until grep -q culprit-copies "/proc/$program/maps"; do sleep 0.02; done
sleep 0.1
kill -KILL $recorder
wait $recorder 2>/dev/null
await_cpu "$program" 20
check 'it runs on when the recorder is killed' kill "$program"

# Four functions of eight million instructions each, which take seconds to plan.
for i in 1 2 3 4; do
	printf '.globl large_%s\n.type large_%s, @function\nlarge_%s:\n.fill 8000000, 1, 0x90\nret\n.size large_%s, . - large_%s\n' \
		$i $i $i $i $i
done >large.s
if cc -shared -nostdlib -o liblarge.so large.s; then
	"$culprit" record -v -o large.db --counts=all -- "$known" library 1000 ./liblarge.so >/dev/null 2>err &
	recorder=$!
	child $recorder >/dev/null
	# A process for each file, children of the one that starts them.
	until [ "$(pgrep -P "$(pgrep -P $recorder -x culprit)" -x culprit | wc -l)" = 4 ]; do sleep 0.02; done
	check_same 'who plans is the first to go where memory is short' 1000 \
		"$(cat "/proc/$(pgrep -o -P "$(pgrep -d, -P $recorder -x culprit)" -x culprit)/oom_score_adj")"
	kill -INT $recorder
	wait $recorder
	check_same 'Ctrl-C ends a recording that waits for a plan' 143 $?
	check_match 'of which file is said that it was not counted' err 'liblarge.so: the recording ended before it was planned$'
	check_match 'and the others were' err '^culprit: counted [0-9]+ of [0-9]+ functions of 3 files'
else
	skip 'Ctrl-C during a plan' 'no compiler'
fi

"$culprit" record -q -o killed.db --counts=all -- "$known" plain 4000000000000 >/dev/null 2>&1 &
recorder=$!
program=$(child $recorder)
counting "$program"
kill -KILL $recorder
wait $recorder 2>/dev/null
await_cpu "$program" 20
check 'a recorder that is killed leaves a program that runs on' kill "$program"

# Whenever the recorder dies: while it plans, puts copies in place, follows a fork, or counts.
"$known" plain 1000000 >wanted
echo $? >wanted-status
rounds=0 wrong=
for delay in 0.2 0.4 0.6 0.8 1.0 1.2 1.5 2.0; do
	# A folder of its own: a program may begin after nobody waits for it. The status has its name once it is whole.
	mkdir "round-$delay"
	cd "round-$delay" || exit 1
	# shellcheck disable=SC2016
	"$culprit" record -q -o killed.db --counts=all -- \
		sh -c 'echo >began; "$1" plain 1000000 >got; echo $? >ending; mv ending ended' sh "$known" >/dev/null 2>&1 &
	recorder=$!
	sleep $delay
	kill -KILL $recorder 2>/dev/null # it may have ended
	wait $recorder 2>/dev/null
	# What is not its program yet goes with it; so it may begin still, or never.
	for _ in $(seq 40); do [ -e began ] && break; sleep 0.05; done
	if [ -e began ]; then
		for _ in $(seq 1200); do [ -e ended ] && break; sleep 0.05; done
		rounds=$((rounds + 1))
		{ cmp -s ended ../wanted-status && cmp -s got ../wanted; } ||
			wrong="$wrong $delay: status $(cat ended 2>&1), $(wc -c 2>&1 <got) bytes;"
	fi
	cd ..
done
echo "# $rounds programs outlived their recorder"
check_same 'programs have their output and status after a recorder that is killed' '' "$wrong"

# left_alone NAME STATUS REGEX COMMAND...: runs, and is not counted, with the reason.
left_alone() {
	check_status "$1: runs" "$2" "$culprit" record -o alone.db --counts=all -- "${@:4}"
	check_match "$1: why it is not counted" err "$3"
}
cp "$known" known-suid
chmod 4755 known-suid
chmod 755 .
left_alone 'a set-user-ID program' 3 '1 program was not counted: process [0-9]+ is set-user-ID' \
	setpriv --reuid=65534 --clear-groups "$PWD/known-suid" plain 10
python3 - <<'END'
import struct
code = bytes([0xb8, 1, 0, 0, 0, 0xbb, 5, 0, 0, 0, 0xcd, 0x80])  # exit(5)
header = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 0, 0, 0)
segment = struct.pack("<IIIIIIII", 1, 0, 0x8048000, 0x8048000, 84 + len(code), 84 + len(code), 5, 4096)
with open("narrow", "wb") as file:
    file.write(header + segment + code)
END
chmod +x narrow
if ./narrow; [ $? = 5 ]; then
	left_alone 'a program of 32 bits' 5 'narrow: is not a 64-bit program' ./narrow
	check_match 'and is said to be none' err '1 program was not counted: process [0-9]+ has no file'
else
	skip 'a program of 32 bits' 'this kernel runs none'
fi
tap_end
