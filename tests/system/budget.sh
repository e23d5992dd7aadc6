# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# One budget for all that collecting costs: its parts are told, the rate goes down when they are more, and what was
# sampled at either rate is one event.
. "$(dirname "$0")/../sampling.sh"
need_sampling

# Nothing can be had for that: after the second window the rate is as low as it may be.
"$culprit" record -v -a --budget 0.02 -o low.db -- timeout 24 sh -c 'while :; do :; done' >table 2>err
check "a recording above its budget succeeds" [ -s table ]
check_match "it says what it cost, by parts" err 'a slowdown of [0-9.e-]+%, with a budget of 0.02%: .*interrupts [0-9.e-]+%.*collector [0-9.e-]+%'
check_match "and that a window was above the budget" err '; 1 of 2 windows of 10 s above it'
check_match "and how far it lowered the rates" err 'lowered to 0\.[0-9]+ of what was planned'
"$culprit" prof -i low.db >out 2>err
check_match "samples of both rates are of one event" out 'sampled with 2 periods'
check "which is named once" [ "$(grep -c '^cpu-clock: ' out)" = 1 ]

# A rate that the user wants stays.
"$culprit" record -v -a -F 100 --budget 0.02 -o fixed.db -- sleep 22 >table 2>err
check_match "with -F it is above the budget too" err '; 1 of 2 windows of 10 s above it'
"$culprit" prof -i fixed.db >out 2>err
check "but keeps its period" bash -c '! grep -q "sampled with" out'
tap_end
