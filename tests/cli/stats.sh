# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# culprit stats on made databases: the table, sets in all their forms, weights, verdicts, refusals.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"

# shellcheck disable=SC2034
python_more='by = {r["image"].split("/")[-1]: r for r in rows}'

# Four runs of an hour each, of images that vary, that do not, and that only two of them have.
run() { # NUMBER SECONDS STEADY WILD [RARE]
	printf 'epoch\t%d\t%d\n' $((1700000000 + $1 * 3600)) $((1700000000 + $1 * 3600 + $2))
	printf 'sample\t1\t11\t/bin/steady\tcycles\t1000\t16\t%d\tcomm=a\tlabel.team=red\n' "$3"
	printf 'sample\t1\t22\t/bin/wild\tcycles\t1000\t16\t%d\tcomm=b\tlabel.team=blue\n' "$4"
	if [ $# = 5 ]; then
		printf 'sample\t1\t33\t/bin/rare\tcycles\t1000\t16\t%d\tcomm=c\n' "$5"
	fi
}
{
	run 1 10 1000 200
	run 2 10 1010 400 1
	run 3 20 1020 600 1
	run 4 20 970 200
} | "$mkdb" runs.db m1 || fail "mkdb"

check_status "a set of each epoch" 0 "$culprit" stats -i runs.db --each --by image
check_match "tells the sets" out '^set 2: 20231115T001320Z, 1411 samples, 10 s$'
check_match "has the paper's columns" out '^range% +sum +sum% +N +mean +std-dev +min +max +sampling +chance +varies +image'
check_match "the one that varies comes first" out '^ +28\.57 +1400\.00 +25\.92 +4 +350\.00 +191\.49 +200\.00 +600\.00 +18\.71 +<1e-9 +yes +/bin/wild$'
check_match "what varies by chance is not said to" out '^ +1\.25 +4000\.00 +74\.05 +4 +1000\.00 +21\.60 +970\.00 +1020\.00 +31\.62 +0\.71 +/bin/steady$'
check_match "the rate of false alarms is stated" out '^note: 1 of 3 rows varies .* at most 5% .* false alarms$'

check_status "--json" 0 "$culprit" stats -i runs.db --each --by image --json
check "has all numbers" python 'r = by["wild"]
assert j["report"] == "stats" and len(j["sets"]) == 4 and j["sets"][2] == {"name": "20231115T011320Z", "samples": 1621, "seconds": 20}, j["sets"]
assert r["sets"] == {"1": 200, "2": 400, "3": 600, "4": 200} and r["n"] == 4 and r["present"] == 4
assert (r["sum"], r["mean"], r["min"], r["max"]) == (1400, 350, 200, 600) and r["varies"] == 1
assert abs(r["std_dev"] - 191.485) < 0.01 and abs(r["range_percent"] - 400 / 14) < 1e-6
assert abs(r["sampling_std_dev"] - math.sqrt(350)) < 1e-6 and r["chance"] <= r["adjusted_chance"] < 1e-9
assert r["mean_low"] < 350 - 17 and r["mean_high"] > 350 + 17 and r["mean_low"] > 330
assert by["rare"]["present"] == 2 and by["rare"]["min"] == 0 and by["rare"]["varies"] == 0
assert sum(r["sum"] for r in rows) == j["samples"] == sum(s["samples"] for s in j["sets"])
assert abs(sum(r["sum_percent"] for r in rows) - 100) < 1e-6'
check_status "--csv" 0 "$culprit" stats -i runs.db --each --by image --csv
check "is CSV" python3 -c 'import csv
rows = list(csv.DictReader(open("out", newline="")))
assert rows[0]["image"] == "/bin/wild" and rows[0]["sets.3"] == "600" and rows[0]["varies"] == "1", rows'

check_status "to the mean run time" 0 "$culprit" stats -i runs.db --each --by image --normalize time --json
check "the longer runs count less" python 'r = by["steady"]
assert abs(r["max"] - 1010 * 1.5) < 1e-6 and abs(r["min"] - 970 * 0.75) < 1e-6 and r["varies"] == 1, r'
check_status "to samples" 0 "$culprit" stats -i runs.db --each --by image --normalize samples --json
check "shares are compared" python 'mean = j["samples"] / 4
assert abs(by["wild"]["max"] - 600 * mean / 1621) < 1e-6, by["wild"]
assert by["steady"]["varies"] == 1 and abs(by["steady"]["chance"] / by["wild"]["chance"] - 1) < 0.5 or by["steady"]["chance"] < 1e-9'
{ run 1 10 100 100; printf 'fact\twall_ns\t4000000000\n'; run 2 10 100 100; printf 'fact\twall_ns\t2000000000\n'; } |
	"$mkdb" wall.db m1
check_status "the command's run time goes before that of collection" 0 "$culprit" stats -i wall.db --each --by image --json
check "it is what was noted" python 'assert [s["seconds"] for s in j["sets"]] == [4, 2]'

# Sets in all their forms.
{ run 1 10 500 50; } | "$mkdb" other.db m2
sets() { # NAME ASSERTION SET...
	local name=$1 assertion=$2
	shift 2
	check_status "$name" 0 "$culprit" stats -i runs.db --by image --json "$@"
	check "$name: numbers" python "$assertion"
}
counts='[r["sets"][str(i + 1)] for i in range(len(j["sets"]))] for r in'
sets "databases" 'assert ['"$counts"' [by["steady"]]][0] == [4000, 500]' runs.db other.db
sets "a database and its epochs" 'assert ['"$counts"' [by["steady"]]][0] == [500, 1000]' other.db runs.db@20231114
sets "epochs and ranges" 'assert ['"$counts"' [by["steady"]]][0] == [1000, 1010 + 1020 + 970]' 20231114 @20231115..
sets "labels" 'assert ['"$counts"' [by["steady"]]][0] == [4000, 0] and ['"$counts"' [by["wild"]]][0] == [0, 1400]' label:team=red label.team=blue
sets "labels, and what samples they have" 'assert [s["samples"] for s in j["sets"]] == [4000, 1400] and j["samples"] == 5400 and by["steady"]["sum_percent"] > 74' label:team=red label.team=blue
sets "labels, as shares" 'assert abs(by["wild"]["max"] - 2700) < 1e-6 and abs(by["steady"]["max"] - 2700) < 1e-6, rows' --normalize samples label:team=red label.team=blue
sets "a part of an epoch" 'assert ['"$counts"' [by["wild"]]][0] == [200, 400]' 20231114,comm=b 20231115T001320Z,comm=b
sets "machines" 'assert ['"$counts"' [by["steady"]]][0] == [4000, 500]' machine=m1 other.db,machine=m2
sets "of one event and image" 'assert set(by) == {"wild"}' --image wild --event 'cyc*' 20231114 20231115
sets "limited" 'assert len(rows) == 1 and any("2 more rows" in n for n in j["notes"])' -n 1 --each
sets "sorted" 'assert [r["image"] for r in rows] == ["/bin/rare", "/bin/steady", "/bin/wild"]' --each --sort name
sets "by sum" 'assert [r["image"] for r in rows] == ["/bin/steady", "/bin/wild", "/bin/rare"]' --each --sort sum
sets "that choose among what all have" 'assert ['"$counts"' [by["wild"]]][0] == [200, 400]' --subject comm=a --subject comm=b 20231114,comm=b 20231115T001320Z,comm=b
sets "of nothing" 'assert rows == []' comm=zzz comm=a,label.team=none
sets "with no row in common" 'assert len(rows) == 2 and all(r["present"] == 1 for r in rows)' comm=a comm=b
check "and a period of its own" sh -c "printf 'epoch\t1\t2\nsample\t1\t11\t/bin/steady\tcycles\t4000\t16\t250\tcomm=a\n' | '$mkdb' slow.db m1"
sets "another period" 'assert by["steady"]["max"] == 1000 and by["steady"]["sets"]["2"] == 250 and any("as 4 each" in n for n in j["notes"]), rows' 20231114 slow.db

refuse() { # NAME STATUS REGEX ARGUMENT...
	local name=$1 status=$2 regex=$3
	shift 3
	check_status "$name" "$status" "$culprit" stats -i runs.db "$@"
	check_match "$name: message" err "$regex"
	check "$name: in one line, nothing on stdout" test "$(wc -l <err)" = 1 -a ! -s out
}
refuse "no sets" 2 'two sets or more'
refuse "one set" 2 'two sets or more' runs.db
refuse "one epoch" 2 'less than two epochs' --each other.db
refuse "no such database" 1 'no such database' ./none.db runs.db
refuse "no such epoch" 1 "set '1999'" 1999 20231114
refuse "no such machine" 1 "no machine of .* matches 'm9'; the machines are: m1" machine=m9 20231114
refuse "no KEY=GLOB" 2 "'team' is not KEY=GLOB" runs.db,team runs.db
refuse "bad --by" 2 "'process'" --by process --each
refuse "bad --sort" 2 "'taste'" --sort taste --each
refuse "bad --normalize" 2 "'taste'" --normalize taste --each
refuse "bad --false-alarms" 2 "'0'" --false-alarms 0 --each
tap_end
