#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# culprit tui: what it shows of a made database, its keys, and that the terminal is as before.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"
. "$root/tests/stack_app.sh"
leaf=$(address leaf) one=$(address one) two=$(address two)
mapfile -t one_calls < <(calls one)
mapfile -t main_calls < <(calls main)
{
	printf 'epoch\t1700000000\t1700000060\n'
	frame leaf "$leaf"
	frame one "$one"
	frame one.1 "${one_calls[0]}"
	frame one.2 "${one_calls[1]}"
	frame two.1 $((two + 4))
	frame main.one "${main_calls[0]}"
	frame main.two "${main_calls[1]}"
	printf 'frame\tcut\t10\t01\t[truncated: no unwind rule]\t0\n'
	printf 'frame\tother\t1\t77\t/gone/lib\t0x500\n'
	printf 'frame\tevil\t1\t78\t/gone/evil\t0x500\n'
	printf 'symbol\t1\t78\t0x400\t0x200\tevil\\x1b[31m\xe2\x80\xae\n'
	stack cycles 1000 50 comm=app main.one one.1 leaf
	stack cycles 1000 23 comm=app main.one one.2 leaf
	stack cycles 1000 10 comm=app main.two two.1 leaf
	stack cycles 1000 5 comm=app main.one one
	stack cycles 1000 5 comm=app cut two.1 leaf
	stack cycles 1000 3 comm=app main.two evil
	stack cycles 1000 4 comm=lib main.two other
	sample() { printf 'sample\t1\t%s\t%s\tcycles\t1000\t%d\t%d\tcomm=%s\n' "$@"; }
	sample "$id" "$PWD/app" "$leaf" 88 app
	sample "$id" "$PWD/app" "$one" 5 app
	sample 78 /gone/evil 0x500 3 app
	sample 77 /gone/lib 0x500 4 lib
	printf 'counter\tcycles\t1000\tsamples\t100\n'
	printf 'sample\t1\t%s\t%s\tmisses\t1000\t%d\t7\tcomm=app\n' "$id" "$PWD/app" "$one"
} | "$mkdb" a.db m1 || fail "mkdb"

check_status "without a terminal" 1 "$culprit" tui -i a.db
check_match "says what to use" err 'needs a terminal; culprit calls'
for case in tree views search code hostile resize stop flat hangup terminate; do
	check "$case" python3 "$root/tests/cli/tui.py" "$culprit" $case
done
tap_end
