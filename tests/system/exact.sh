#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# timeout: 900
# shares the machine: 2
# A whole run counted: each instruction of a program's own functions as often as valgrind says that it ran.
. "$(dirname "$0")/../tap.sh"
native=$build/tests/system/native-exact
if ! [ -x "$native" ]; then
	skip 'exact counts' 'not x86-64'
	tap_end
elif ! command -v valgrind >/dev/null; then
	skip 'exact counts' 'no valgrind: dev/deps installs it'
	tap_end
fi

# exact NAME PROGRAM ARGUMENT...
exact() {
	local name=$1 status
	shift
	"$@" >wanted
	status=$?
	"$native" counts "$@" >out 2>err
	check_same "$name: status" $status $?
	if grep -q 'cannot be traced' err; then
		skip "$name" "$(cat err)"
		return
	fi
	check "$name: output" cmp wanted out
	valgrind --tool=callgrind --dump-instr=yes --collect-jumps=yes --skip-plt=no --callgrind-out-file=truth "$@" >/dev/null 2>&1
	check "$name: counts" python3 "$root/tests/system/exact_counts.py" truth counts "$1"
	sed 's/^/# /' err
}
exact 'a program with recursion, tables and calls back' "$build/tests/system/exact" 20000
head -c 1000000 "$build/culprit" >data
exact 'gzip' "$(command -v gzip)" -c -1 data
tap_end
