# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# timeout: 1800
# shares the machine: 90
# Frames of CPython 3.8 to 3.13 in the place of its evaluator's, against what the programs themselves say of
# them: functions, files and lines of the calls.
. "$(dirname "$0")/../sampling.sh"
need_sampling
frames=$root/tests/system/programs/frames.py
if ! [ -x "$build/tests/system/native-stack" ]; then
	skip 'frames of Python' 'not x86-64'
	tap_end
fi

# find_pythons MINOR: the machine's interpreters of 3.MINOR that have what frames.py needs.
find_pythons() {
	local python
	for python in "/usr/bin/python3.$1" "/usr/local/bin/python3.$1" \
		"${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$1".*/bin/"python3.$1"; do
		[ -x "$python" ] && "$python" -c 'import asyncio, ctypes, hashlib, sys
sys.exit("t" in getattr(sys, "abiflags", ""))' 2>/dev/null && echo "$python"
	done
}

# known NAME COMMAND...: a case: the stacks of the command, which runs frames.py with NAME.json. Each sample has
# a stack, a chain 32 on average: that one of 20 has fewer than 8 comes by chance once in 10^5 runs. What a busy
# machine does is more likely: stacks that wait for a table of a library keep the evaluator's frames, so that all
# of a chain may where that table is late. So it has three tries, of which the later ones find tables that are
# kept; where a chain is wrong it has one.
known() {
	local name=$1 output status
	shift
	for _ in 1 2 3; do
		record "$name" --no-edges -F 100 --stack-rate 100 -- "$@" || return
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

# What calls all the time: where an evaluator begins or ends, its frame is not the thread's innermost. In each
# stack through both functions all must be there, once.
cat >steep.py <<'EOF'
import time
def leaf():
    pass
def steep(left):
    if left:
        return steep(left - 1)
    for _ in range(300):
        leaf()
def main():
    while time.process_time() < 2:
        steep(2)
main()
EOF
# steep NAME PYTHON
steep() {
	record "steep-$1" --no-edges -F 500 --stack-rate 500 -- "$2" -S steep.py || return
	expect "calls in quick succession: $1" "steep-$1.db" "from stack_reader import Stacks
s = Stacks('$culprit', 'steep-$1.db')
whole = ('<module>', 'main', 'steep', 'steep', 'steep', 'leaf')
names = lambda path: tuple(n['function'] for n in path if (n['image'] or '').endswith('steep.py'))
all = s.count(lambda path: 'steep' in names(path))
def is_odd(path):
    if 'steep' not in names(path):
        return False
    before = s.functions(path)[:s.functions(path).index('steep')]
    return names(path) != whole[:len(names(path))] or '_PyEval_EvalFrameDefault' in before
odd = s.count(is_odd)
print(f'{odd} of {all} samples are in stacks that are not whole')
assert all > 300 and odd <= 0.01 * all"
}
python='' known_versions=0
for minor in {8..13}; do
	mapfile -t pythons < <(find_pythons $minor)
	[ ${#pythons[@]} != 0 ] || skip "frames: Python 3.$minor" "there is no CPython 3.$minor"
	for i in "${!pythons[@]}"; do
		known "3.$minor-$i" "${pythons[i]}" "$frames" "3.$minor-$i.json"
		steep "3.$minor-$i" "${pythons[i]}"
		# The other cases are for one of them, of 3.11 if there is one.
		if [ -z "$python" ] || [ "$minor-$i" = 11-0 ]; then
			python=${pythons[i]} program=3.$minor-$i.db
		fi
		known_versions=$((known_versions + 1))
	done
done
if [ $known_versions = 0 ]; then
	skip 'the rest' 'there is no CPython whose frames are known'
	tap_end
fi
if ldconfig -p | grep -q libpython3.11.so.1.0; then
	known library "$programs/embed" "$frames" library.json nested by_key by_threads by_recursion
else
	skip "frames: library" "there is no libpython3.11"
fi

"$culprit" calls -i "$program" --function 'by_match' >table
check_match 'the table has function, file and line' table \
	'(by_match\.<locals>\.)?replace +0x[0-9a-f]+ +.*/programs/frames\.py$'
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
record brief --no-edges -F 100 -- bash -c 'for i in {1..60}; do "$0" -S brief.py; done' "$python"
expect 'processes of 60 ms have names' brief.db "from stack_reader import Stacks
s = Stacks('$culprit', 'brief.db')
print(f'{s.through(\"brief\")} of {s.samples} samples are in their function')
assert s.through('brief') > s.samples / 4"

# A report of another epoch of the same functions has the same names, once.
"$culprit" export -i "$program" --pprof program.pb
check_status 'functions of Python come back from a pprof profile' 0 "$culprit" import -q program.pb -o back.db
check 'with their files' sh -c '"$1" calls -i back.db --json | grep -q frames.py' - "$culprit"
"$culprit" record -q --no-edges -F 100 -o "$program" -- "$python" "$frames" again.json nested 2>/dev/null
check 'epochs agree on functions' python3 -c '
import json, subprocess, sys
def count(epoch):
    tree = json.loads(subprocess.check_output([sys.argv[1], "calls", "-i", sys.argv[2], "--epoch", epoch,
        "--merge", "--function", "^nested$", "--json"]))
    def found(nodes):
        return sum((n["function"] in ("nested.<locals>.middle", "middle")) + found(n["children"]) for n in nodes)
    return found(tree["rows"]), tree["stacks"]
one, all = count("last"), count("all")
assert one[0] >= 1 and all[1] > one[1], (one, all)' "$culprit" "$program"

# Interpreters of versions whose frames are not known here: programs that say that they are some.
other_python() { # NAME DEFINITION: a program of 1 s of processor time
	cat >"$1.c" <<EOF
#include <time.h>
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
other_python python3.14 'char _PyRuntime[64] = {1}; unsigned long Py_Version = 0x030e00f0;'
check_match 'a version that is not known is named' python3.14.table \
	'^note: functions of Python 3\.14 are not named, only those of its interpreter'
other_python python3.7 'char _PyRuntime[64] = {1};'
check_match 'so is one from before 3.8' python3.7.table '^note: functions of Python 3\.7 are not named'
# Threads without the interpreter's lock have other structures.
other_python python3.13t 'unsigned long Py_Version = 0x030d00f0;
struct { char cookie[8]; unsigned long words[100]; } runtime __asm__("_PyRuntime") = {
	"xdebugpy", {0x030d00f0, 1, [2 ... 69] = 24}};'
check_match 'so is a build with other structures' python3.13t.table '^note: functions of Python 3\.13 are not named'
mapfile -t pythons < <(find_pythons 7)
if [ ${#pythons[@]} != 0 ]; then
	record real --no-edges -F 200 -- "${pythons[0]}" -c 'sum(range(30000000))'
	"$culprit" prof -i real.db >real.table
	check_match 'so is a real one of 3.7' real.table '^note: functions of Python 3\.7 are not named'
else
	skip 'so is a real one of 3.7' 'there is no CPython 3.7'
fi
check 'one that is known is not' bash -c '! "$1" prof -i "$2" | grep -q "are not named"' - "$culprit" "$program"
tap_end
