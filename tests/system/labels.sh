# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# Label sets: record --label, and ctl label while a daemon runs, chosen in every report.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/daemon.sh"
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS

# has NAME FUNCTION NOT ARGUMENT...: a report's JSON, which names the one function and not the other.
has() {
	local name=$1 yes=$2 no=$3
	shift 3
	check_status "$name" 0 "$culprit" "$@"
	check "$name: has $yes" grep -q "\"$yes\"" out
	check "$name: has not $no" sh -c "! grep -q '\"$no\"' out"
}

# every_report DB: with what is labelled phase=one in burn_one, two in burn_two.
every_report() {
	local from=(-i "$1" --epoch all --image '*/burn-*') one=(--subject label.phase=one) two=(--subject label.phase=two) report
	for report in 'prof' 'prof --by loop' 'calls --callers' 'stalls' 'calc --brief'; do
		# shellcheck disable=SC2086
		{
			has "$report of one" burn_one burn_two $report "${from[@]}" "${one[@]}" --json
			has "$report of two" burn_two burn_one $report "${from[@]}" "${two[@]}" --json
		}
	done
	check_status "prof --by subject of one" 0 "$culprit" prof "${from[@]}" "${one[@]}" --by subject --json
	check "has no other" python3 -c 'import json
rows = json.load(open("out"))["rows"]
assert rows and all("label.phase=one" in r["subject"] for r in rows), rows'
	for report in list cfg calc; do
		check_status "$report of a function under its label" 0 "$culprit" "$report" "${from[@]}" "${two[@]}" burn_two --json
		check_status "$report of a function under another label" 1 "$culprit" "$report" "${from[@]}" "${one[@]}" burn_two --json
		check_match "is not there" err "no samples in 'burn_two'"
	done
	check_status "summary of one" 0 "$culprit" summary "${from[@]}" "${one[@]}" --json
	for report in folded callgrind xml; do
		check_status "export --$report of one" 0 "$culprit" export -i "$1" --epoch all "${one[@]}" "--$report" made
		check "has its function alone" sh -c "grep -q burn_one made && ! grep -q burn_two made"
	done
	check_status "stats of labels" 0 "$culprit" stats -i "$1" --image '*/burn-*' all,label:phase=one all,label:phase=two --json
	check "has a set of each" python3 -c 'import json
by = {r["function"]: r["sets"] for r in json.load(open("out"))["rows"]}
one, two = by["burn_one"], by["burn_two"]
assert one["1"] > 20 and one["2"] == 0 and two["1"] == 0 and two["2"] > 20, by'
	check_status "diff of labels" 0 "$culprit" diff -i "$1" --image '*/burn-*' all,label:phase=one all,label:phase=two --json
	check "has both sides" python3 -c 'import json
by = {r["function"]: (r["samples_a"], r["samples_b"]) for r in json.load(open("out"))["rows"]}
one, two = by["burn_one"], by["burn_two"]
assert one[0] > 20 and one[1] == 0 and two[0] == 0 and two[1] > 20, by'
}

# burn-one and burn-two, whose functions no other test has; they end after as many rounds as told.
for run in one two; do
	compile "burn-$run" -DBURN="burn_$run" <<'C'
#include <stdlib.h>
volatile unsigned long n;
__attribute__((noinline)) void BURN(void)
{
	for (int i = 0; i < 1000000; i++)
		n++;
}
int main(int argc, char **argv)
{
	for (long i = argc > 1 ? atol(argv[1]) : 1L << 40; i; i--)
		BURN();
}
C
done
for run in one two; do
	check_status "record --label phase=$run" 0 "$culprit" record -q -o runs.db -F 1000 --label "phase=$run" --label who=me -- "./burn-$run" 300
done
every_report runs.db
check_status "two labels at a time" 0 "$culprit" prof -i runs.db --epoch all --subject label.phase=two --subject 'label.who=m*' --json
check "both must match" grep -q '"burn_two"' out
check_status "and one that nothing has" 0 "$culprit" prof -i runs.db --epoch all --subject label.phase=two --subject label.who=you --json
check "is no row" python3 -c 'import json; assert json.load(open("out"))["rows"] == []'

# ticks_of PID: its processor time, in hundredths of a second: on a busy machine samples are mostly of others.
ticks_of() {
	awk '{ print $14 + $15 }' "/proc/$1/stat"
}

# The daemon: one program after the other, the label put on while it runs.
start_daemon "$culprit" daemon -o "$db" --socket "$socket" --flush-every 1h -F 1000 || fail "no daemon" "$(cat log)"
for run in one two; do
	check "ctl label phase=$run" ctl label "phase=$run"
	background "$here/burn-$run"
	wait_until 120 at_least 100 ticks_of "$pid"
	kill "$pid"
	wait "$pid" 2>/dev/null
done
check "the end of labels" ctl label phase=
check "flush" ctl flush
stop_daemon
every_report "$db"
tap_end
