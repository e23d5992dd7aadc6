# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# timeout: 1200
# One budget for all that collecting costs: its parts are told, the rate goes down when they are more, and what was
# sampled at either rate is one event.
. "$(dirname "$0")/../sampling.sh"
need_sampling
. "$root/tests/daemon.sh"
make_spin spin
background ./spin
spin=$pid

# Nothing can be had for that: after the second window the rate is as low as it may be. What was sampled before is
# written then, and only then before the end.
"$culprit" record -v -a --budget 0.02 -o low.db -- sleep 1000 >table 2>err &
recorder=$!
started+=("$recorder")
wrote() { find low.db -name 'seg-*' | grep -q .; }

# Meanwhile, a rate that the user wants stays. Each question costs the daemon more than that budget.
start_daemon "$culprit" daemon -o "$db" --socket "$socket" -F 100 --budget 0.001
over() { [ "$(field budget_windows_over)" -ge 1 ]; }
check "with -F it is above the budget too" wait_until 300 over
check "and gives way where it can" [ "$(field budget_rate_factor)" != 1 ]
check "but not with the rate of samples" [ "$(field rate_hz)" = 100 ]
stop_daemon
"$culprit" prof -i "$db" >kept 2>&1
check "which keep their period" bash -c '! grep -q "sampled with" kept'
rm -rf "$db"

check "a rate is lowered" wait_until 300 wrote
# A sample a second of CPU time is the least that there is.
await_cpu "$spin" 500
kill -TERM "$recorder"
wait "$recorder"
check "a recording above its budget succeeds" [ -s table ]
check_match "it says what it cost, by parts" err 'a slowdown of [0-9.e-]+%, with a budget of 0.02%: .*interrupts [0-9.e-]+%.*collector [0-9.e-]+%'
check_match "and that windows were above the budget" err '; [1-9][0-9]* of [0-9]+ windows of 10 s above it'
check_match "and how far it lowered the rates" err 'lowered to 0\.[0-9]+ of what was planned'
"$culprit" prof -i low.db >out 2>err
check_match "samples of both rates are of one event" out 'sampled with [2-9] periods'
check "which is named once" [ "$(grep -c '^cpu-clock: ' out)" = 1 ]

# What an interrupt costs is looked at again: a cost of another hour, ten times too high, is not believed for long.
export CACHE_DIRECTORY=$PWD/cache
mkdir -m 700 cache
find_cost() {
	"$culprit" record -q -a -o first.db -- true
	grep -lr '^culprit interrupt' cache
}
# On a noisy machine it may not be known well enough at once.
check "what an interrupt costs is remembered" wait_until 120 find_cost
remembered=$(find_cost)
sed -i '2s/^[0-9]*/&0/' "$remembered"
start_daemon "$culprit" daemon -o "$db" --socket "$socket" --budget 8
planned=$(field rate_hz)
check "what was remembered is planned with" awk "NR == 2 { exit !(\$1 > 20000) }" "$remembered"
# Beside the loop it costs more than it did before: 2.5 times was seen.
rises() { awk "BEGIN { exit !($(field rate_hz) > 1.2 * $planned) }"; }
check "and given up for what it costs by now" wait_until 400 rises
"$culprit" ctl status --socket "$socket" 2>&1 | grep -E 'rate_hz|interrupt_ns|budget' | sed 's/^/# /'
stop_daemon
tap_end
