# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# One database of two machines: every report of all, and of one of them.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"

cat >app.c <<'C'
volatile int x;
__attribute__((noinline)) void nearby(void)
{
	for (int i = 0; i < 100; i++)
		x += i;
}
__attribute__((noinline)) void remote(void)
{
	for (int i = 0; i < 100; i++)
		x -= i;
}
int main(void)
{
	nearby();
	remote();
	return 0;
}
C
cc -g -O1 -Wl,--build-id -o app app.c || fail "cc"
id=$(readelf -n app | sed -n 's/.*Build ID: //p')
address() { printf %d "0x$(nm app | sed -n "s/ T $1\$//p")"; }
# machine NAME START_S FUNCTION SAMPLES
machine() {
	local at main
	# The jump back of its loop.
	at=$(printf %d "0x$(objdump -d --no-show-raw-insn app | awk -v f="<$3>:" '$2 == f { on = 1 } on && $2 ~ /^j/ { sub(":", "", $1); print $1; exit }')")
	main=$(address main)
	{
		printf 'epoch\t%d\t%d\n' "$2" $(($2 + 60))
		printf 'sample\t1\t%s\t%s\tcycles\t1000\t%d\t%d\tcomm=app\tpid=7\n' "$id" "$PWD/app" "$at" "$4"
		printf 'sample\t1\t%s\t%s\tcycles\t1000\t%d\t10\tcomm=app\tpid=7\n' "$id" "$PWD/app" "$main"
		printf 'frame\tmain\t1\t%s\t%s\t%d\nframe\tf\t1\t%s\t%s\t%d\n' "$id" "$PWD/app" $((main + 9)) "$id" "$PWD/app" "$at"
		printf 'stack\tcycles\t1000\t%d\tcomm=app\tmain\tf\n' "$4"
	} | "$mkdb" two.db "$1"
}
machine alpha 1700000000 nearby 60
machine beta 1700000000 remote 30
check "each machine has its folder" test -d two.db/alpha -a -d two.db/beta

check_status "epochs" 0 "$culprit" epochs -i two.db --json
check "of both, which began at the same time, each with its own" python 'assert {r["machine"]: r["events"] for r in rows} == {"alpha": "cycles", "beta": "cycles"}
assert sorted(r["machine"] for r in rows) == ["alpha", "beta"], rows'
check_status "epochs of one" 0 "$culprit" epochs -i two.db --machine 'b*' --json
check "are its own" python 'assert [r["machine"] for r in rows] == ["beta"]'

# functions WANTED ARGUMENT...: the functions that a report's rows are about.
functions() {
	local name="${*:2} has $1" wanted=$1
	shift
	check_status "$name" 0 "$culprit" "$@" --epoch all --json -i two.db
	check "$name: functions" python3 -c 'import json, sys
j = json.load(open("out"))
found = set()
def walk(v):
    if isinstance(v, dict):
        for key in ("function", "name"):
            if v.get(key) in ("nearby", "remote"):
                found.add(v[key])
        for one in v.values():
            walk(one)
    elif isinstance(v, list):
        for one in v:
            walk(one)
walk({k: v for k, v in j.items() if k not in ("notes", "metrics")})
assert found == set(sys.argv[1].split()), (found, j)
machines = {"nearby": "alpha", "remote": "beta", "nearby remote": "alpha, beta"}
assert j["machine"] == machines[sys.argv[1]], j["machine"]' "$wanted"
}
for report in 'prof' 'prof --by line' 'prof --by loop' 'calls' 'calls --callers' 'stalls' 'calc --cutoff 100'; do
	# shellcheck disable=SC2086
	{
		functions 'nearby remote' $report
		functions nearby $report --machine alpha
		functions remote $report --machine 'b*'
	}
done
functions nearby list nearby --machine alpha
check_status "cfg of one" 0 "$culprit" cfg remote -i two.db --epoch all --machine beta --json
check "has its samples" python 'assert sum(r["samples"] or 0 for r in rows) == 30 and j["machine"] == "beta", rows'
check_status "summary of one" 0 "$culprit" summary -i two.db --epoch all --machine beta --json
check "has its samples" python 'assert j["samples"] == 40 and j["machine"] == "beta", j'
check_status "a function of the other" 1 "$culprit" list -i two.db --epoch all nearby --machine beta
check_match "is not there" err "no samples in 'nearby'"

check_status "prof adds both up" 0 "$culprit" prof -i two.db --epoch all --json
check "in one row for a function" python 'assert {r["function"]: r["samples"] for r in rows} == {"nearby": 60, "remote": 30, "main": 20}, rows'
check_status "stats of machines" 0 "$culprit" stats -i two.db machine=alpha machine=beta --json
check "has a set of each" python 'assert {r["function"]: r["sets"] for r in rows} == {"nearby": {"1": 60, "2": 0}, "remote": {"1": 0, "2": 30}, "main": {"1": 10, "2": 10}}, rows'
check_status "stats of each epoch" 0 "$culprit" stats -i two.db --each --json
check "keeps epochs of one name apart" python 'assert [s["samples"] for s in j["sets"]] == [70, 40], j["sets"]'

check_status "diff of machines" 0 "$culprit" diff -i two.db machine=alpha machine=beta --json
check "has both sides" python 'assert {r["function"]: (r["samples_a"], r["samples_b"]) for r in rows} == {"nearby": (60, 0), "remote": (0, 30), "main": (10, 10)}, rows'

exported() { # OPTION MACHINE HAS LACKS
	check_status "export $1 of $2" 0 "$culprit" export -i two.db --epoch all "$1" made --machine "$2"
	check "export $1 of $2: its function alone" sh -c "grep -aq '$3' made && ! grep -aq '$4' made"
}
for form in --folded --speedscope --callgrind --xml; do
	exported $form alpha nearby remote
	exported $form beta remote nearby
done
check_status "export --block-counts of one" 0 "$culprit" export -i two.db --epoch all --block-counts made --machine beta

# What was kept of an image by one machine serves the samples of the other.
rm -rf two.db/*/images
check_status "a report keeps symbols for a machine" 0 "$culprit" prof -i two.db --epoch all --machine beta
check "in its folder" test -n "$(ls two.db/beta/images)"
mv app gone
functions 'nearby remote' prof
functions nearby prof --machine alpha
mv gone app

check_status "no such machine" 1 "$culprit" prof -i two.db --machine gamma
check_match "names those there are" err "gamma.*alpha, beta"
check_status "a pattern of none in a set" 1 "$culprit" diff -i two.db machine=gamma machine=beta
check_match "names those there are, too" err "gamma.*alpha, beta"
tap_end
