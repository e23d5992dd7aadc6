# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 5
# Iterations of loops, from pairs of samples: right for a loop that goes on for long, not told for one
# that is entered again and again.
. "$(dirname "$0")/../sampling.sh"
need_sampling
if [ "$(uname -m)" != x86_64 ]; then
	skip 'pairs of samples' 'samples are followed on x86-64 only'
	tap_end
fi

# counts DB FUNCTION STATEMENTS: a case; the statements see b, the block with the most samples, and d,
# the report.
counts() {
	local name="$1: $2" output
	if output=$("$culprit" calc -i "$1" --json "$2" 2>err | python3 -c "
import json, sys
d = json.load(sys.stdin)
b = max(d['functions'][0]['blocks'], key=lambda block: block['samples'])
print(b)
$3" 2>&1); then
		pass "$name"
	else
		fail "$name" "$output"
	fi
}

# 3 s or more: some thousand samples, of which one in eight ends a pair when half of them are followed.
record long -F 1000 --budget 60 --edges -- "$programs/rounds" 1500000000 0
check_status 'the database is sound' 0 "$culprit" db verify -i long.db
check_match 'and has pairs' out ' [1-9][0-9]* raw records, '
counts long.db long_loop '
assert any("iterations of 1 loop with" in n for n in d["notes"]), d["notes"]
assert b["confidence"] in ("high", "medium"), b
assert abs(b["frequency"] / 1.5e9 - 1) < 0.25, b
assert b["frequency_high"] / b["frequency_low"] < 1.7, b'
check_status 'they are no records of the processor' 1 "$culprit" export -i long.db --raw -
check_match 'and are not shown as such' err 'no raw records'

# 2 us each time: consecutive samples are never of one call.
record short -F 1000 --budget 60 --edges -- "$programs/rounds" 0 1000000000
counts short.db short_loop '
assert not any("iterations of" in n for n in d["notes"]), d["notes"]'

record without -F 1000 --no-edges -- "$programs/rounds" 100000000 0
check_status 'nothing is paired when samples are not followed' 0 "$culprit" db verify -i without.db
check_match 'no pair' out ' 0 raw records, '
tap_end
