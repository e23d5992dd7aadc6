#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shares the machine: 12
# culprit why: of programs whose one culprit is known, the first sentence names it.
. "$(dirname "$0")/../sampling.sh"
need_sampling
known=$root/tests/accuracy/known
if [ "$(uname -m)" != x86_64 ]; then
	skip 'known culprits' 'not x86-64'
	tap_end
fi
check 'compile' gcc -O2 -g -no-pie -Wl,--build-id -o known "$known"/main.c "$known"/core.c "$known"/code.c \
	"$known"/memory.c "$known"/kernel.c

# names CASE REGEX: the first sentence matches, and is on the case's function.
names() {
	record "$1" -e cpu-clock:u -F 2000 -- ./known "$1" 1 || return
	"$culprit" why -i "$1.db" --json >"$1.json"
	check "$1" python3 -c 'import json, re, sys
first = json.load(open(sys.argv[1] + ".json"))["rows"][0]
assert first["function"] == "known_" + sys.argv[1] and re.search(sys.argv[2], first["text"]), first["text"]' "$1" "$2"
}
names dcache_4 'for (memory|data that misses the caches)'
names divider 'for the divider'
names branch_mispredict 'to branches that are mispredicted'
names lock 'for a locked operation'
names dependency 'for an operand that is still being computed'
names issue_width "is execution at the core's full width"
tap_end
