# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 45
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

# The report: each round of a loop is a path, which begins at the entry or ends by the return in 5 of them each.
cat >rounds.c <<'EOF'
#include <stdlib.h>
volatile long odd, even;
__attribute__((noinline)) void rounds(long n)
{
	for (long i = 0; i < n; i++)
		if (i % 20 < 7)
			odd += i;
		else
			even++;
}
int main(int argc, char **argv)
{
	for (int i = 0; i < 5; i++)
		rounds(atol(argv[argc - 1]));
	return 0;
}
EOF
gcc -O1 -g -o rounds rounds.c
"$culprit" record -q -o rounds.db --paths='^rounds$' -- ./rounds 2000 >/dev/null 2>&1
check_status 'the paths of a function' 0 "$culprit" paths -i rounds.db rounds --by executions --hot 0.01 --json
check 'each as often as it ran' python3 -c '
import json
rows = json.load(open("out"))["rows"]
assert [row["count"] for row in rows] == [6495, 3495, 5, 5], rows
assert [row["number"] for row in rows] == [1, 2, 3, 4], rows
assert abs(sum(row["percent"] for row in rows) - 100) < 0.01, rows
assert all(row["function"] == "rounds" and row["path"].startswith("0x") for row in rows), rows
assert ":6-7" in rows[1]["lines"] and "9" in rows[0]["lines"], rows
assert rows[0]["branches"].endswith("back to " + rows[1]["branches"].split()[-1]), rows
assert sum("returns" in row["branches"] for row in rows) == 1, rows'
check_status 'its first path, block by block' 0 "$culprit" paths -i rounds.db rounds --path 1
check_match 'its last block goes back' out 'back to'
check_refused 'no such path' 1 'the function has no path 99: 4 were run' "$culprit" paths -i rounds.db rounds --path 99
check_refused 'a path of whom' 2 'is of a function' "$culprit" paths -i rounds.db --path 1
"$culprit" record -q -o none.db -- true >/dev/null 2>&1
check_refused 'nothing counted' 1 'no paths were counted' "$culprit" paths -i none.db
tap_end
