# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 40
# record --paths: how often each path through a function ran. Programs of many kinds have the output, status and signals
# that they have without; and through each block as many paths lead as it has executions when these are counted.
. "$(dirname "$0")/../sampling.sh"
need_sampling
if [ "$(uname -m)" != x86_64 ]; then
	skip 'paths' 'programs are counted on x86-64 only'
	tap_end
fi
programs=$build/tests/system
check_refused 'paths of whom' 2 "--paths needs a command to run, or one process" "$culprit" record --paths -a
check_refused 'two ways to count' 2 "leave out one of them" "$culprit" record --paths --counts -- true
check_refused 'names that are none' 1 'is not a regular expression' "$culprit" record --paths='(' -- true
dump=$build/tests/accuracy/accuracy-dump

# both NAME STATUS PROGRAM ARGUMENT...: by paths and by executions; functions are named in $of, all if it is empty.
both() {
	local name=$1 status=$2
	shift 2
	"$@" >wanted 2>/dev/null
	check_status "$name: status" "$status" "$culprit" record -q -o paths.db --paths -- "$@"
	cp err paths.err
	check_same "$name: output" "$(cat wanted)" "$(cat out)"
	check_status "$name: the database is sound" 0 "$culprit" db verify -i paths.db
	"$culprit" record -q -o counts.db --counts=all -- "$@" >/dev/null 2>&1
	# shellcheck disable=SC2086
	check_same "$name: paths and executions" "equal
enough" "$(python3 "$root/tests/system/paths_reader.py" "$dump" paths.db counts.db "${file:+$programs/}${file:-$1}" $of)"
	rm -rf paths.db counts.db
}
of='' file=''
both 'a program' 3 "$programs/known" plain 1000
both 'exceptions through a function' 0 "$programs/counted-throw" x 500
of='known_work known_part'
both 'threads' 3 "$programs/known" threads 1000
both 'children' 3 "$programs/known" forks 1000
both 'a program that becomes another' 3 "$programs/known" execs 1000
both 'a program that dies by a signal' 139 "$programs/known" dies 1000
both 'handlers of signals' 3 "$programs/known" signals 1000
of='' file=libknown.so
both 'a library that is loaded late' 3 "$programs/known" library 1000 "$programs/libknown.so"
file=''
of=counted_work
for kind in threads births forks spawns execs raises jumps; do
	both "counted: $kind" 0 "$programs/counted" $kind 50
done
tap_end
