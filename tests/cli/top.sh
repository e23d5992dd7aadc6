#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# timeout: 600
# culprit top: what it shows of a running program, its keys, and that the terminal is as before.
. "$(dirname "$0")/../tap.sh"

json() { python3 -c "import json
tables = [json.loads(line) for line in open('out')]
assert ($1), tables"; }

check_status "a delay that is none" 2 "$culprit" top -d 0
check_match "is named" err "'0' is not a time"
check_status "a ranking that there is not" 2 "$culprit" top --by colour
check_status "a process that does not exist" 2 "$culprit" top -b -p 999999999
check_match "is named" err '999999999'

# An unprivileged copy, as the build directory may be closed to others.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 . && cp "$culprit" copy
	check_status "without the rights" 1 setpriv --reuid=65534 --clear-groups ./copy top -b -n 1
	check "it says so in one line" [ "$(wc -l <err)" = 1 ]
else
	skip "without the rights" "needs root"
fi

if ! "$culprit" record -q -o probe.db -- true 2>why; then
	skip "the rest" "this machine cannot sample: $(head -n 1 why)"
	tap_end
fi

cat >spin.c <<'C'
volatile unsigned long turns;
__attribute__((noinline)) void spin_here(void)
{
	for (;;)
		turns++;
}
int main(void)
{
	spin_here();
}
C
check "compile" gcc -O1 spin.c -o spin
{
	echo 'volatile unsigned long turns;'
	for i in {10..69}; do
		echo "__attribute__((noinline)) void spread_$i(void) { for (int i = 0; i < 100000; i++) turns++; }"
	done
	echo 'int main(void) { for (;;) {'
	printf 'spread_%s();\n' {10..69}
	echo '} }'
} >spread.c
check "compile one of many functions" gcc -O1 spread.c -o spread
./spin &
spin=$!
trap 'kill $spin; rm -rf "$tap_scratch"' EXIT

check_status "two tables" 0 "$culprit" top -b -n 2 -d 1
check "both have the function" [ "$(grep -c ' spin_here  .*/spin$' out)" = 2 ]
check_match "the event is said" err 'culprit: .*(cycles|cpu-clock)'
if [ -c /dev/full ]; then
	check_status "tables to a full device" 1 sh -c '"$1" top -b -n 2 -d 1 >/dev/full' - "$culprit"
	check_match "say why" err 'cannot write to the standard output: No space left on device'
else
	skip "tables to a full device" "there is no /dev/full"
fi
check_status "JSON" 0 "$culprit" top --json -n 2 -d 1 --limit 3
check "one object a line" json "len(tables) == 2"
check "rows and header" json "all(len(t['rows']) <= 3 and t['samples'] > 0 and
	any(r['function'] == 'spin_here' for r in t['rows']) for t in tables)"
check_status "two events" 0 "$culprit" top -b -e cpu-clock -e page-faults -n 2 -d 1
check "have a column each" [ "$(grep -Ec '^ *cpu-clock  .*  page-faults ' out)" = 2 ]
check_status "a process alone" 0 "$culprit" top --json -n 2 -d 1 -p $spin --by subject
check "nothing else" json "all(r['subject'].startswith('comm=spin')
	for t in tables for r in t['rows']) and tables[1]['rows']"
check_status "CSV" 0 "$culprit" top --csv -n 1 -d 1 --limit 3
check "can be read" python3 -c 'import csv
rows = list(csv.DictReader(open("out", newline="")))
assert 0 < len(rows) <= 3 and all(int(r["samples"]) > 0 and None not in r for r in rows), rows'
check_match "its header is beside it" err '^lost [0-9]+'
check_status "CSV, several" 0 "$culprit" top --csv -n 2 -d 0.5 --limit 3
check "stand apart" python3 -c 'import csv
tables = open("out", newline="").read().replace("\r\n", "\n").split("\n\n")
assert len(tables) == 3 and not tables[2] and all(list(csv.DictReader(t.splitlines())) for t in tables[:2]), tables'
check_status "two forms" 2 "$culprit" top --csv --json -n 1
check_status "a metric" 0 "$culprit" top --json -n 2 -d 1 -e cpu-clock -e page-faults:1 --metric 'f = page-faults / samples(cpu-clock)' --sort f --limit 5
check "is in each row, largest first" python3 -c 'import json
for line in open("out"):
    j = json.loads(line)
    values = [r["metrics"]["f"] for r in j["rows"]]
    known = [v for v in values if v is not None]
    assert known == sorted(known, reverse=True) and values[:len(known)] == known, values
    assert j["metrics"][0]["formula"] == "page-faults / samples(cpu-clock)"
    for r in j["rows"]:
        if r["events"].get("cpu-clock") and "page-faults" in r["events"]:
            assert abs(r["metrics"]["f"] - r["events"]["page-faults"] / r["events"]["cpu-clock"]) < 1e-5 * r["metrics"]["f"] + 1e-6, r'
check_status "a filter" 0 "$culprit" top --json -n 1 -d 1 --function '^spin_h'
check "the others are left out" json "[r['function'] for r in tables[0]['rows']] == ['spin_here']"
check_status "a filter that is wrong" 1 "$culprit" top -b -n 1 -d 1 --function '['
rm out
sh -c 'until [ -s out ]; do sleep 0.1; done' & # what top prints
check_status "the process that is sampled ends" 0 timeout 120 "$culprit" top -b -d 0.5 -p $!
check "a reader that leaves ends it" bash -c "'$culprit' top -b -d 0.5 2>/dev/null | head -n 1"

# A mount with the name of what a killed one leaves: its owner may be anybody, so nothing of it is removed.
mkdir culprit-top.mounts
if mount -t tmpfs tmpfs culprit-top.mounts 2>/dev/null; then
	touch culprit-top.mounts/kept
	TMPDIR=$PWD check_status "beside a mount of such a name" 0 "$culprit" top -b -n 1 -d 0.5
	check "it stays as it is" test -e culprit-top.mounts/kept
	umount culprit-top.mounts
else
	skip "a mount of a temporary directory's name" "cannot mount"
fi

for case in keys filter pause scroll resize stop process events iterations interrupt terminate hangup killed \
	blocked; do
	check "on a terminal: $case" python3 "$root/tests/cli/top.py" "$culprit" $case
done
tap_end
