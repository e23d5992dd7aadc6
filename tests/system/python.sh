# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# Frames of CPython 3.11 in the place of its evaluator's, against what the program itself says of them:
# functions, files and lines of the calls.
. "$(dirname "$0")/../sampling.sh"
need_sampling
python=/usr/bin/python3.11
frames=$root/tests/system/programs/frames.py
if ! [ -x "$build/tests/system/native-stack" ] || ! [ -x $python ]; then
	skip 'frames of Python' 'not x86-64, or there is no CPython 3.11'
	tap_end
fi

# known NAME COMMAND...: a case: the stacks of the command, which runs frames.py with NAME.json. A chain has
# 32 stacks on average: fewer than 8 by chance once in 10^6 runs. What a busy machine does is more likely:
# stacks that wait for a table of a library keep the evaluator's frames, so that all of a chain may where that
# table is late. So it has three tries, of which the later ones find tables that are kept. A chain that is wrong has one.
known() {
	local name=$1 output status
	shift
	for _ in 1 2 3; do
		record "$name" --no-edges -F 100 -- "$@" || return
		output=$(python3 "$root/tests/system/python_frames.py" "$culprit" "$name.db" "$name.json" 2>&1)
		status=$?
		printf '%s\n' "$output" | sed 's/^/# /'
		case $status in
		0) pass "frames: $name"; return ;;
		1) ;;
		*) break ;;
		esac
	done
	fail "frames: $name" "$output" "$(cat "$name.err")"
}
known program $python "$frames" program.json
if ldconfig -p | grep -q libpython3.11.so.1.0; then
	known library "$programs/embed" "$frames" library.json nested by_key by_threads by_recursion
else
	skip "frames: library" "there is no libpython3.11"
fi

"$culprit" calls -i program.db --function 'by_match' >table
check_match 'the table has function, file and line' table \
	'by_match\.<locals>\.replace +0x[0-9a-f]+ +.*/programs/frames\.py$'
check_match 'the table has where a function was called' table ' work +frames\.py:[0-9]+ +.*/programs/frames\.py$'

# Processes that are gone long before anybody asks for names.
cat >brief.py <<'EOF'
import time
def brief():
    while time.process_time() < 0.06:
        sum(range(1000))
brief()
EOF
# shellcheck disable=SC2016
record brief --no-edges -F 100 -- bash -c 'for i in {1..60}; do /usr/bin/python3.11 -S brief.py; done'
expect 'processes of 60 ms have names' brief.db "from stack_reader import Stacks
s = Stacks('$culprit', 'brief.db')
print(f'{s.through(\"brief\")} of {s.samples} samples are in their function')
assert s.through('brief') > s.samples / 4"

# A report of another epoch of the same functions has the same names, once.
"$culprit" export -i program.db --pprof program.pb
check_status 'functions of Python come back from a pprof profile' 0 "$culprit" import -q program.pb -o back.db
check 'with their files' sh -c '"$1" calls -i back.db --json | grep -q frames.py' - "$culprit"
"$culprit" record -q --no-edges -F 100 -o program.db -- $python "$frames" again.json nested 2>/dev/null
check 'epochs agree on functions' python3 -c '
import json, subprocess, sys
def count(epoch):
    tree = json.loads(subprocess.check_output([sys.argv[1], "calls", "-i", "program.db", "--epoch", epoch,
        "--merge", "--function", "^nested$", "--json"]))
    def found(nodes):
        return sum((n["function"] == "nested.<locals>.middle") + found(n["children"]) for n in nodes)
    return found(tree["rows"]), tree["stacks"]
one, all = count("last"), count("all")
assert one[0] >= 1 and all[1] > one[1], (one, all)' "$culprit"

# Interpreters of versions whose frames are not known here: programs that say that they are some.
other_python() { # NAME DEFINITION: a program of 1 s of processor time
	cat >"$1.c" <<EOF
#include <time.h>
char _PyRuntime[64] = {1};
$2
int main(void)
{
	while (clock() < CLOCKS_PER_SEC)
		;
	return 0;
}
EOF
	cc -O1 -rdynamic -o "$1" "$1.c"
	record "$1" --no-edges -F 200 -- "./$1"
	"$culprit" prof -i "$1.db" >"$1.table"
}
other_python python3.12 'unsigned long Py_Version = 0x030c01f0;'
check_match 'a version that is not known is named' python3.12.table \
	'^note: functions of Python 3\.12 are not named, only those of its interpreter'
other_python python3.9 ''
check_match 'so is one from before 3.11' python3.9.table '^note: functions of Python 3\.7 to 3\.10 are not named'
check 'one that is known is not' bash -c '! "$1" prof -i program.db | grep -q "are not named"' - "$culprit"
tap_end
