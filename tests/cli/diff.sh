# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# culprit diff: two builds of one program, with functions moved, changed, renamed, new and gone; the
# same build twice; totals; refusals.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"

mkdir v1 v2
cat >v1/app.c <<'C'
#include <stdio.h>
volatile long x, y, z;
__attribute__((noinline)) void stays(void)
{
	for (int i = 0; i < 100; i++)
		x += i * y;
}
__attribute__((noinline)) long changed(long a)
{
	long s = 0;
	for (int i = 0; i < 10; i++) {
		s += x * i + a;
		y = s ^ z;
		if (s & 1)
			z = s / 3;
	}
	return s;
}
__attribute__((noinline)) long old_name(const long *list, long n)
{
	long most = 0, least = 0;
	for (long i = 0; i < n; i++) {
		if (list[i] > most)
			most = list[i];
		if (list[i] < least)
			least = list[i];
		x = most - least;
	}
	return most * 7 + least;
}
__attribute__((noinline)) void is_gone(void)
{
	for (int i = 0; i < 5; i++)
		puts("gone");
}
int main(void)
{
	long list[4] = {1, 2, 3, 4};
	stays();
	is_gone();
	return (int)(changed(3) + old_name(list, 4));
}
C
# Another order, so that everything moves; a line more in one loop; a name; one for another.
python3 - <<'P'
text = open("v1/app.c").read()
parts = text.split("__attribute__((noinline)) ")
head, stays, changed, old, gone = parts
gone, main = gone.split("int main")
changed = changed.replace("y = s ^ z;", "y = s ^ z;\n\t\tx = s + 5 * y;")
new = 'void is_new(int k)\n{\n\tswitch (k) { case 1: x = 5; break; case 2: y *= 3; break; default: z ^= x * y; }\n\tx = 0;\n}\n'
old = old.replace("old_name", "new_name")
attribute = "__attribute__((noinline)) "
body = "".join(attribute + p for p in (new, old, changed, stays))
main = "int main" + main.replace("old_name", "new_name").replace("is_gone()", "is_new(2)")
open("v2/app.c", "w").write(head + body + main)
P
for v in v1 v2; do
	(cd $v && cc -g -O1 -Wl,--build-id -o app app.c) || fail "cc"
done

# place VERSION FUNCTION N: the address of its Nth instruction.
place() {
	objdump -d --no-show-raw-insn "$1/app" |
		awk -v f="<$2>:" -v n="$3" '$2 == f { on = 1; next } on && !NF { exit } on && i++ == n { sub(":", "", $1); print "0x" $1; exit }'
}
sample() { # VERSION FUNCTION N COUNT
	printf 'sample\t1\t%s\t%s\tcycles\t1000\t%d\t%d\tcomm=app\n' \
		"$(readelf -n "$1/app" | sed -n 's/.*Build ID: //p')" "$PWD/$1/app" "$(($(place "$1" "$2" "$3")))" "$4"
}
{
	printf 'epoch\t1700000000\t1700000060\n'
	sample v1 stays 3 1000
	sample v1 changed 4 500
	sample v1 changed 0 10
	sample v1 old_name 5 300
	sample v1 is_gone 2 80
	printf 'sample\t9\t01\t\tcycles\t1000\t%d\t10\tcomm=app\n' $((0xdead))
} | "$mkdb" a.db m1
{
	printf 'epoch\t1700001000\t1700001060\n'
	sample v2 stays 3 1010
	sample v2 changed 4 700
	sample v2 changed 0 12
	sample v2 new_name 5 200
	sample v2 new_name 1 9
	sample v2 is_new 1 60
	printf 'sample\t9\t01\t\tcycles\t1000\t%d\t10\tcomm=app\n' $((0xdead))
} >b.rows
"$mkdb" b.db m1 <b.rows

check_status "two builds" 0 "$culprit" diff a.db b.db
check_match "sets are told" out '^set 2: b.db, 2001 samples, 60 s$'
check_match "what changed" out '^ +510 +712 +26\.84 +35\.58 +202\.00 +39\.61 +[0-9e.<-]+ +yes +name [0-9]+% +changed '
check_match "what did not" out '^ *1000 +1010 +52\.63 +50\.47 +10\.00 +1\.00 +0\.8[0-9]* +name 100% +stays '
check_match "what was renamed, and how surely" out '^ +300 +209 .*yes +code 100% +new_name \(was old_name\)'
check_match "what is new" out '^ +0 +60 +0\.00 +3\.00 +60\.00 +<?[0-9e.-]+ +yes +new +is_new'
check_match "what is gone" out '^ +80 +0 .*-100\.00 .* gone +is_gone'
check_match "totals: both" out '^note: in both: 4 rows, 1820 samples of A, 1941 of B$'
check_match "totals: gone" out '^note: only in A \(gone\): 1 row, 80 samples of A, 0 of B$'
check_match "totals: new" out '^note: only in B \(new\): 1 row, 0 samples of A, 60 of B$'
check_match "totals: all" out '^note: all: 6 rows, 1900 samples of A, 2001 of B$'

check_status "--json" 0 "$culprit" diff a.db b.db --json
check "adds up to the sets" python 'assert sum(r["samples_a"] for r in rows) == j["sets"][0]["samples"] == 1900
assert sum(r["samples_b"] for r in rows) == j["sets"][1]["samples"] == 2001
assert abs(sum(r["delta"] for r in rows) - 101) < 1e-9
assert abs(sum(r["percent_a"] for r in rows) - 100) < 1e-6'
check "has how rows were matched" python 'r = by["new_name"]
assert r["match"] == "code" and r["function_a"] == "old_name" and r["similarity"] == 100 and r["changed"] == 1, r
r = by["changed"]
assert r["match"] == "name" and 30 < r["similarity"] < 95, r
assert by["stays"]["changed"] == 0 and by["is_new"]["match"] == "new" and by["is_gone"]["match"] == "gone"
assert by["is_new"]["change_percent"] is None and by["[unknown]"]["samples_b"] == 10'
check_status "an image that is not there" 0 "$culprit" diff a.db b.db --image nowhere
check_match "says so as prof does" out 'note: nothing matches the selection'
check_status "B A" 0 "$culprit" diff b.db a.db --json
check "is the other way round" python 'r = by["old_name"]
assert r["function_a"] == "new_name" and (r["samples_a"], r["samples_b"], r["delta"]) == (209, 300, 91), r
assert by["is_new"]["match"] == "gone" and by["is_gone"]["match"] == "new"'
check_status "--csv" 0 "$culprit" diff a.db b.db --csv
check "is CSV" python3 -c 'import csv
rows = list(csv.DictReader(open("out", newline="")))
assert len(rows) == 6 and rows[0]["function"] == "changed", rows'

check_status "by instruction" 0 "$culprit" diff a.db b.db --by instruction --json
check "aligns the code" python 'at = {(r["function"], r["address_a"], r["address_b"]): (r["samples_a"], r["samples_b"]) for r in rows}
assert at["stays", "'"$(place v1 stays 3)"'", "'"$(place v2 stays 3)"'"] == (1000, 1010), at
assert at["new_name", "'"$(place v1 old_name 5)"'", "'"$(place v2 new_name 5)"'"] == (300, 200), at
assert at["new_name", "'"$(place v1 old_name 1)"'", "'"$(place v2 new_name 1)"'"] == (0, 9), at
assert at["changed", "'"$(place v1 changed 0)"'", "'"$(place v2 changed 0)"'"] == (10, 12), at
assert at["is_gone", "'"$(place v1 is_gone 2)"'", None] == (80, 0), at
assert sum(r["samples_a"] for r in rows) == 1900 and sum(r["samples_b"] for r in rows) == 2001'
check_status "by block" 0 "$culprit" diff a.db b.db --by block --json
check "has the blocks of both" python 'r = [r for r in rows if r["function"] == "stays"]
assert len(r) == 1 and (r[0]["samples_a"], r[0]["samples_b"]) == (1000, 1010), r
assert sum(r["samples_a"] for r in rows) == 1900 and sum(r["samples_b"] for r in rows) == 2001'
check_status "by line" 0 "$culprit" diff a.db b.db --by line --json
check "adds up" python 'assert sum(r["samples_a"] for r in rows) == 1900 and sum(r["samples_b"] for r in rows) == 2001
assert any(r["file"] and r["file"].endswith("v1/app.c") for r in rows)'
# Lines added above: the code tells which line is which, in a file of one name.
mkdir m1 m2
cat >m1/move.c <<'C'
volatile long x, y;
__attribute__((noinline)) void hot(void)
{
	for (long i = 0; i < 100; i++) {
		x += i;
		y ^= x / 7;
		x -= 3 * y;
	}
}
int main(void)
{
	hot();
	return 0;
}
C
sed -e '1a static const char *const text = "two lines";\nconst char *more(void) { return text; }' -e '/y ^= x/i\		x ^= 5;' m1/move.c >m2/move.c
for v in m1 m2; do
	(cd $v && cc -g -O1 -fdebug-prefix-map="$PWD=/src" -Wl,--build-id -o app move.c) || fail "cc"
done
# line VERSION LINE COUNT: samples of each instruction of a line of hot.
line() {
	objdump -d --no-show-raw-insn --disassemble=hot "$1/app" | sed -n 's/^ *\([0-9a-f]*\):.*/0x\1/p' >addresses
	addr2line -e "$1/app" <addresses | sed 's/.*:\([0-9]*\).*/\1/' | paste addresses - | while read -r at number; do
		[ "$number" = "$2" ] && printf 'sample\t1\t%s\t%s\tcycles\t1000\t%d\t%d\tcomm=app\n' \
			"$(readelf -n "$1/app" | sed -n 's/.*Build ID: //p')" "$PWD/$1/app" "$((at))" "$3"
	done
}
{ printf 'epoch\t1700000000\t1700000060\n'; line m1 5 100; line m1 6 500; line m1 7 40; } | "$mkdb" m1.db m1
{ printf 'epoch\t1700001000\t1700001060\n'; line m2 7 100; line m2 8 30; line m2 9 500; line m2 10 40; } | "$mkdb" m2.db m1
check_status "with lines added above" 0 "$culprit" diff m1.db m2.db --by line --json
check "lines are matched by their code" python 'got = {(r["line_a"], r["line"]): r for r in rows}
assert sorted(got, key=str) == sorted([(5, 7), (6, 9), (7, 10), (None, 8)], key=str), sorted(got, key=str)
assert all(got[k]["match"] == "code" and got[k]["samples_a"] == got[k]["samples_b"] for k in got if k[0])
assert got[None, 8]["match"] == "new" and not any(r["changed"] for r in rows if r["line_a"]), rows'
rm m1/app m2/app
check_status "without the programs" 0 "$culprit" diff m1.db m2.db --by line
check_status "by image" 0 "$culprit" diff a.db b.db --by image --json
check "images of one name are one row" python 'assert [(r["samples_a"], r["samples_b"], r["match"]) for r in rows if r["image"].endswith("app")] == [(1890, 1991, "name")], rows'
check_status "with CPI" 0 "$culprit" diff a.db b.db --cpi --json
check "has cycles of both" python 'r = by["stays"]
assert r["cpi_a"] > 0 and r["cpi_b"] > 0 and "cause" in r, r'
check "and says what would narrow their intervals" python 'n = [n for n in j["notes"] if "record --edges" in n]
assert len(n) == 2 and n[0].startswith("set 1: ") and n[1].startswith("set 2: "), j["notes"]'

check_status "the same twice" 0 "$culprit" diff a.db a.db --by instruction --json
check "has no change" python 'assert all(r["delta"] == 0 and r["changed"] == 0 and r["match"] == "same" for r in rows), rows'
check_status "only what changed" 0 "$culprit" diff a.db b.db --changed --json
check "is shown" python 'assert {r["function"] for r in rows} == {"changed", "new_name", "is_new", "is_gone"}, by.keys()
assert any(n.startswith("not shown: 2 rows, 1010 samples of A, 1020 of B") for n in j["notes"]), j["notes"]'
check_status "only what matters" 0 "$culprit" diff a.db b.db --min 20 --json
check "is shown" python 'assert {r["function"] for r in rows} == {"changed", "stays"}'
check_status "sorted and limited" 0 "$culprit" diff a.db b.db --sort a -n 1 --json
check "is so" python 'assert [r["function"] for r in rows] == ["stays"]'
check_status "as shares" 0 "$culprit" diff a.db b.db --normalize samples --json
check "deltas add up to nothing" python 'assert abs(sum(r["delta"] for r in rows)) < 1e-6 and abs(by["stays"]["points"] - (101000 / 2001 - 100000 / 1900)) < 1e-6'
check_status "nothing in common" 0 "$culprit" diff a.db,comm=none b.db --json
check "is all new" python 'assert len(rows) == 5 and all(r["match"] == "new" for r in rows)'

# Without the files there is no code: names match, renamed functions do not.
mv v1/app v1/hidden
"$culprit" diff a.db b.db --json >wanted
sed 's/\tcycles\t/\tcycles:P\t/' b.rows | "$mkdb" precise.db m1
check_status "an event that differs by its precision" 0 "$culprit" diff a.db precise.db --json
check "is the same" python3 -c 'import json
wanted, out = (json.load(open(name))["rows"] for name in ("wanted", "out"))
assert wanted == out and wanted'
check_status "without code" 0 "$culprit" diff a.db b.db --json
check "still adds up" python 'assert sum(r["samples_a"] for r in rows) == 1900 and sum(r["samples_b"] for r in rows) == 2001'
mv v1/hidden v1/app

# refuse NAME STATUS REGEX ARGUMENT...
refuse() { check_refused "$1" "$2" "$3" "$culprit" diff "${@:4}"; }
refuse "one set" 2 'two sets' a.db
refuse "three sets" 2 'two sets' a.db b.db a.db
refuse "no such database" 1 'no such database' a.db ./none.db
export CULPRIT_DB=nowhere
refuse "neither a database nor an epoch of one" 1 "'none.db' is not an existing database; as an epoch.* no database nowhere" a.db none.db
unset CULPRIT_DB
refuse "bad --by" 2 "'process'" --by process a.db b.db
refuse "bad --sort" 2 "'taste'" --sort taste a.db b.db
refuse "bad --min" 2 "'-1'" --min -1 a.db b.db
refuse "--cpi by line" 2 'for functions' --cpi --by line a.db b.db
printf 'epoch\t1\t2\nsample\t1\tef01\t/none/r\tcpu-clock\t1000\t0x10\t3\tcomm=r\n' | "$mkdb" bare.db m1
check_status "of an image that is gone" 0 "$culprit" diff bare.db bare.db
check_match "one is one" out '^note: set 1: no symbols of 1 image: /none/r'
tap_end
