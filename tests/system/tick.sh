# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# Samples by the scheduler's tick: where they are, against known answers and against timers, in user
# mode and in the kernel, with their stacks and windows.
. "$(dirname "$0")/../sampling.sh"
need_sampling
. "$root/tests/daemon.sh"
"$culprit" doctor --json >doctor.json
if ! python3 -c 'import json; assert {"name": "tick", "state": "good"}.items() <= {
	**next(r for r in json.load(open("doctor.json"))["rows"] if r["name"] == "tick")}.items()'; then
	skip 'samples by the tick' 'this kernel does not offer it'
	tap_end
fi

# In step with nothing: 7.78 ms are no simple multiple of any tick. Not the program shares: where others
# want the CPU too its slices end with a tick, and which of its turns that meets is not random.
record phases -e tick --stack-rate all --edges -- "$programs/phases" 7777777 6
expect 'each function gets its share of the time' phases.db '
p = p.by("--event", "cpu-clock:tick")
event = p.json["events"][0]
truth = float(open("phases.out").read())
first, rest = p.function("phase_first"), p.function("phase_rest")
n, ms = first + rest, event["period"] / 1e6
assert event["name"] == "cpu-clock:tick" and not event["randomized"], event
error = math.sqrt(truth * (1 - truth) / n)
print(f"{n} samples, one every {ms} ms; phase_first: {100 * first / n:.2f}%, in truth {100 * truth:.2f}% (+-{100 * error:.2f})")
assert n > 100 and abs(first / n - truth) < 4 * error'
"$culprit" calls -i phases.db >phases.calls
check_match 'with their stacks' phases.calls '[0-9]+ stacks, (100|9[0-9])\.[0-9]+% complete'
"$culprit" record -e tick --edges -o edges.db -- "$programs/shares" 3 >out 2>edges.err
check_match 'and their windows of branches' edges.err 'samples were followed for branches'

# One thread, and in the same seconds both kinds of samples of it, in the kernel.
zero() { # NAME EVENT...
	local name=$1
	shift
	record "$name" --stack-rate all "$@" -- dd if=/dev/zero of=/dev/null bs=64k count=400000
}
period=$("$culprit" prof -i phases.db --event cpu-clock:tick --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["events"][0]["period"])')
zero both -e tick -e "cpu-clock:$period"
expect 'in the kernel they are where those of timers are' both.db '
tick, timer = (p.by("--event", e) for e in ("cpu-clock:tick", "cpu-clock"))
n = tick.samples, timer.samples
assert min(n) > 50 and 0.7 < n[0] / n[1] < 1.4, n
assert p.json["events"][0]["name"] == "cpu-clock" and len(p.json["events"]) == 1, p.json["events"]
assert 0.9 * sum(n) < p.samples < 1.1 * sum(n), (n, p.samples)
top = tick.rows[0]["function"]
a, b = tick.function(re.escape(top)) / n[0], timer.function(re.escape(top)) / n[1]
error = math.sqrt(b * (1 - b) * (1 / n[0] + 1 / n[1]))
print(f"{top}: {100 * a:.1f}% of {n[0]} ticks, {100 * b:.1f}% of {n[1]} timers +-{100 * error:.1f}")
assert a > 0.3 and abs(a - b) < 4 * error + 0.02'
"$culprit" calls -i both.db >both.calls
check_match 'and so are their stacks, without the interrupt itself' both.calls 'ksys_read|__x64_sys_read'
check 'none of which has the frames of the tick' sh -c '! grep -Eq "hrtimer_interrupt|sysvec_apic_timer|bpf_trace_run" both.calls'

# In step with the ticks: by them alone a function has all of the time or none. With random samples beside
# them each has its share, within 3 standard errors of those alone (a false alarm in 370 runs; tried twice).
cat >in_step.py <<'END'
import sys
from profile_reader import *

culprit, db, truth, least = sys.argv[1], sys.argv[2], json.loads(sys.argv[3]), float(sys.argv[4])
kinds = ((), ("--event", "cpu-clock:tick"), ("--event", "cpu-clock"))
count = [{f: q.function(f) for f in truth} for q in (Profile(culprit, db, *more) for more in kinds)]
sums, whole, most = [sum(c.values()) for c in count], sum(truth.values()), [0, 0]
for f in truth:
    t = truth[f] / whole
    error = math.sqrt(t * (1 - t) / sums[2])
    shares = [c[f] / n for c, n in zip(count, sums)]
    most = [max(m, abs(s - t) / error) for m, s in zip(most, shares)]
    print(f"{f}: {100 * shares[0]:.1f}%, by ticks alone {100 * shares[1]:.1f}%, in truth {100 * t:.1f}% +-{100 * error:.1f}")
print(f"at most {most[0]:.1f} standard errors off, by {sums[1]} ticks alone {most[1]:.1f}, by {sums[2]} random samples")
assert most[0] < 3 and most[1] >= least
END
in_step() { # NAME WHAT LEAST COMMAND...: so many errors off by ticks alone, at least; what it says is to be seen
	local attempt well=1
	for attempt in 1 2; do
		record "$1" -e tick -F 40 -- "${@:4}" && python3 in_step.py "$culprit" "$1.db" "$(truth "$1.out")" "$3" >"$1.log" 2>&1 && well=0 && break
	done
	if [ $well = 0 ]; then pass "$2"; else fail "$2, attempt $attempt" "$(cat "$1.log")"; fi
	sed 's/^/# /' "$1.log"
}
truth() { python3 -c 'import json, sys; x = float(open(sys.argv[1]).read()); print(json.dumps({"phase_first": x, "phase_rest": 1 - x}))' "$1"; }
in_step step 'a program in step with the ticks' 3 "$programs/phases" "$period" 8
# Four that share a CPU: their slices end with a tick, which therefore meets long turns more often.
truth() {
	python3 -c 'import collections, json, sys
sums = collections.Counter()
for line in open(sys.argv[1]):
    sums[line.split()[0]] += int(line.split()[1])
print(json.dumps(sums))' "$1"
}
in_step slices 'four programs in slices on one CPU' 0 taskset -c 0 sh -c 'for i in 1 2 3 4; do "$1" 3 >"out.$i" & done; wait; cat out.?' - "$programs/shares"

"$culprit" prof -i step.db --json >prof.json
"$culprit" calls -i step.db --json >calls.json
check 'stacks stand for the joined samples of the function that they end in' python3 -c '
import json
def own(node):
    return node["self"] + sum(own(n) for n in node["children"] if n["inlined"])
def total(nodes):
    return sum(own(n) if n["function"] == "phase_first" else total(n["children"]) for n in nodes)
prof, calls = (json.load(open(f + ".json")) for f in ("prof", "calls"))
first = sum(r["samples"] for r in prof["rows"] if r["function"] == "phase_first")
print(first, prof["samples"], total(calls["rows"]), calls["samples"])
assert first > 10 and abs(first - total(calls["rows"])) < 3, calls["notes"]'

# A budget in which there is no room for their program. Where CPUs hardly work a cost is a larger share of that, also
# when it is ticks no more that tell of it: on machines that say that they are never idle, and for 99% of the time.
spent() { # NAME SECONDS: with ./stat for /proc/stat
	unshare -m sh -c 'mount --bind stat /proc/stat && exec "$@"' - "$culprit" record -v -a -e tick --budget 0.01 -o "$1.db" -- \
		"$programs/phases" 7777777 "$2" >out 2>"$1.err"
}
be_idle() {
	while :; do
		printf 'cpu 0 0 0 %020d 0 0 0 0 0 0\n' $(($(date +%s) * $(getconf CLK_TCK) * $(nproc --all) * 99 / 100)) 1<>stat
		sleep 0.1
	done
}
echo 'cpu 0 0 0 0 0 0 0 0 0 0' >stat
spent busy 3
background be_idle
spent dear 24
check_match 'ticks that cost too much are not taken any more' dear.err 'ticks cost .* from now on only timers are sampled'
expect 'and random samples go on' dear.db '
print(p.json["notes"])
assert p.samples > 0'
check 'costs are shares of the time that CPUs were at work' python3 -c '
import re
busy, idle = (float(re.search(r"\bticks ([0-9.e-]+)%", open(f + ".err").read())[1]) for f in ("busy", "dear"))
print(busy, idle)
assert idle > 2.5 * busy'

# What the daemon takes with --ticks goes by what an interrupt costs here: by what is remembered of that, which here is made up.
export CACHE_DIRECTORY=$here/cache
mkdir -m 700 cache
find_cost() {
	"$culprit" record -q -a -o first.db -- true
	grep -lr '^culprit interrupt' cache
}
costs() { sed -i "2s/^[0-9.]* [0-9.]*/$1.0 1.0/" "$remembered"; } # NANOSECONDS
by_cost() { start_daemon "$culprit" daemon --ticks -o "$db" --socket "$socket" --flush-every 1h "$@"; }
takes() { ctl status | sed -n 's/^events  *//p' | cut -d, -f1 | paste -sd' '; }
takes_timers() { # WHAT OPTION...
	by_cost "${@:2}"
	check "$1: timers alone" [ "$(takes)" = cpu-clock ]
	stop_daemon
}
if grep -q '"no hardware counters: ' doctor.json && wait_until 120 find_cost; then
	remembered=$(find_cost)
	costs 2000
	takes_timers 'where an interrupt is cheap'
	check_match 'which is said' log "no ticks are sampled: a timer's interrupt costs 2 us here, less than 10"
	costs 50000
	takes_timers 'that was asked for' -e cpu-clock
	takes_timers 'a rate that was asked for' -F 50
	takes_timers 'at fixed periods nothing would be random' --fixed-periods
	start_daemon "$culprit" daemon -o "$db" --socket "$socket" --flush-every 1h
	check 'without the option: timers alone' [ "$(takes)" = cpu-clock ]
	stop_daemon

	by_cost
	check 'where an interrupt is dear: ticks, and random samples' [ "$(takes)" = 'cpu-clock:tick cpu-clock' ]
	check 'which are few' [ "$(field rate_hz)" = 40 ]
	check_match 'which is said' log "interrupt costs [0-9.]+ us here, so the scheduler's ticks are sampled, and 40 a second at random"
	# In step with the ticks, as above, and among all else that runs here.
	"$programs/phases" "$period" 8 >step.out
	ctl flush >flushed
	stop_daemon
	truth=$(python3 -c 'import json, sys; x = float(open(sys.argv[1]).read()); print(json.dumps({"phase_first": x, "phase_rest": 1 - x}))' step.out)
	check 'by which a program in step with the ticks has its share' python3 in_step.py "$culprit" "$db" "$truth" 0
	"$culprit" prof -i "$db" >out
	check_match 'and reports say what they are made of' out '^note: cpu-clock: [0-9]+ ticks and [0-9]+ random samples, joined'

	# Without ticks they would be too few.
	start_daemon unshare -m sh -c 'mount --bind stat /proc/stat && exec "$@"' - \
		"$culprit" daemon --ticks -o "$db" --socket "$socket" --flush-every 1h --budget 0.4
	wait_until 60 grep -q 'from now on only timers' log
	check 'random samples alone are as many as the budget allows' awk '
		/from now on only timers/ { n++; for (i = 1; i < NF; i++) if ($(i + 1) == "times") hz = $i }
		END { exit !(n == 1 && hz > 40) }' log
	stop_daemon
else
	skip 'what the daemon takes with --ticks' 'it takes hardware events here, or what an interrupt costs could not be measured'
fi

check_refused 'a mode' 2 'has no modifiers and no period' "$culprit" record -e tick:u -- true
check_refused 'a period' 2 'has no modifiers and no period' "$culprit" record -e tick@1M -- true
tap_end
