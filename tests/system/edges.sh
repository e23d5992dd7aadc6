# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 12
# Followed samples: branches whose probabilities are known, in a program, in many short processes, in
# a library that is loaded late and in a file that is gone; and when they are not taken.
. "$(dirname "$0")/../sampling.sh"
need_sampling
if [ "$(uname -m)" != x86_64 ]; then
	skip 'followed samples' 'only x86-64 is interpreted'
	tap_end
fi
branches=$programs/branches
dump=$build/tests/accuracy/accuracy-dump

# edges NAME DB IMAGE SYMBOLS STATEMENTS: a case; the statements see e, the edges of the image.
edges() {
	local name=$1 output
	if output=$(python3 -c "from edges_reader import *
e = Edges('$dump', '$2', '$3', '$4')
$5" 2>&1); then
		pass "$name"
		printf '%s\n' "$output" | sed 's/^/# /'
	else
		fail "$name" "$output"
	fi
}

# Not quiet, so that it says what it did.
check_status 'a program is recorded' 0 "$culprit" record -v -o plain.db -F 1000 --budget 60 --edges -- "$branches" 120000000
cp err plain.err
edges 'branches of known probability' plain.db /branches "$branches" '
e.check_taken(200)
e.check_call(200)
print(e.windows, "windows,", e.outcomes / e.windows, "outcomes each")
assert e.windows > 60 and e.outcomes / e.windows > 5
'
check_match 'the end of the recording says what it gave' plain.err '[0-9]+ windows, [0-9.]+ outcomes and [0-9.e+]+ us each'
check_status 'the database is sound' 0 "$culprit" db verify -i plain.db
check_match 'and says how many edges it has' out ' [1-9][0-9]* edges, [1-9][0-9]* passes, '
check_status 'epochs are listed' 0 "$culprit" epochs -i plain.db --json
check 'with their windows' python3 -c '
import json
row, = json.load(open("out"))["rows"]
assert 60 < row["windows"] <= row["samples"], row'

# Far shorter than the time between two drains: what was decoded for one serves the next.
# shellcheck disable=SC2016
record short -F 1000 --budget 60 -- bash -c 'for i in {1..100}; do "$1" 300000; done' - "$branches"
edges 'many short processes' short.db /branches "$branches" '
e.check_taken(40)
e.check_call(40)
'

record late -F 1000 --budget 60 -- "$branches" 40000000 "$programs/libbranches.so"
edges 'a library that is loaded late' late.db /libbranches.so "$programs/libbranches.so" '
e.check_taken(100)
e.check_call(100)
'

# shellcheck disable=SC2016
record gone -F 1000 --budget 60 -- bash -c 'cp "$1" ./gone; ./gone 40000000 & await_exec $! "$PWD/gone"; sleep 0.3; rm gone; wait' - "$branches"
edges 'a program whose file is gone' gone.db '/gone' "$branches" 'e.check_taken(100)'

# Written in place while it ran, with other code: neither is taken for the other.
record twice -F 1000 --budget 60 -- bash -c '
	cp "$1" ./two; ./two 15000000; cat "$2" >./two; ./two 400000' - "$branches" "$programs/spots-one"
edges 'a program that is written over between two runs' twice.db '/two' "$branches" 'e.check_taken(20)'

record several -F 1000 --budget 60 -e page-faults,cpu-clock -- "$branches" 20000000
edges 'with several events the clock is followed' several.db /branches "$branches" 'e.check_taken(40)'

record without -F 1000 --no-edges -- "$branches" 5000000
edges 'nothing is followed when it is not wanted' without.db /branches "$branches" 'assert e.windows == 0'
record whole -F 1000 -a -- "$branches" 5000000
edges 'nor on a whole machine, unless asked for' whole.db /branches "$branches" 'assert e.windows == 0'
record asked -F 1000 --budget 60 -a --edges -- "$branches" 30000000
edges 'but then too' asked.db /branches "$branches" 'e.check_taken(40)'

# The windows are charged: with little to spend few are taken, and what they cost is within it.
check_status 'with little to spend' 0 "$culprit" record -v -o thrifty.db -F 1000 --budget 0.6 -- "$branches" 60000000
check 'windows keep to their part of the budget' python3 -c '
import re
said = open("err").read()
print(said)
cost = float(re.search(r"us each \(([0-9.e+-]+)% of the CPUs", said).group(1))
assert cost < 0.6'

chmod 711 .
mkdir -m 777 open
check_status 'not root: the usual message' 1 \
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all timeout 200 "$culprit" record --edges -F 100 -o open/x.db -- true
check_match 'which says what to do' err 'root|CAP_|perf_event_paranoid'
tap_end
