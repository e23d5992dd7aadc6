# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154,SC2034
# For the scripts of tests/cli whose reports are of databases that mkdb makes: after tap.sh,
# `. "$root/tests/made_db.sh"`. The program that makes them is $mkdb.
mkdb=$build/tests/cli/mkdb
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS

# python STATEMENTS: with the JSON in out as j, its rows as rows, and these by function as by. What a
# script has in $python_more comes first.
python_more=
python() {
	python3 -c 'import csv, io, json, math, sys
j = json.load(open("out")); rows = j.get("rows")
by = {r.get("function"): r for r in rows or ()}
'"$python_more
$1"
}

# A program with a loop, ./app, its build-id in $id, and where its functions and the end of the loop are
# in $hot, $main and $loop.
make_hot_app() {
	cat >app.c <<'C'
volatile int x;
__attribute__((noinline)) void hot(void)
{
	for (int i = 0; i < 100; i++)
		x += i;
}
int main(void)
{
	hot();
	return 0;
}
C
	cc -g -O1 -Wl,--build-id -o app app.c || fail "cc"
	id=$(readelf -n app | sed -n 's/.*Build ID: //p')
	hot=$(printf %d "0x$(nm app | sed -n 's/ T hot$//p')")
	main=$(printf %d "0x$(nm app | sed -n 's/ T main$//p')")
	loop=$(printf %d "0x$(objdump -d --no-show-raw-insn app |
		awk '/<hot>:/ { on = 1 } on && $2 ~ /^j/ { sub(":", "", $1); print $1; exit }')")
}
