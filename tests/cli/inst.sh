# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# Instruction samples: what culprit import makes of IBS, PEBS and SPE in perf.data, and culprit inst shows
# of it. The files are made by perf_data.py, as no such processor was at hand; what is added up is
# compared with what went in, by mkdb's databases of known rates.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"
make_perf() { python3 "$root/tests/cli/perf_data.py" "$@"; }
import() { rm -rf p.db && "$culprit" import "$@" -o p.db; }
verified() { "$culprit" db verify "${2:-p.db}" --json | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"; }
# inst DB EXPRESSION [OPTION...]: of each row, sorted.
inst() {
	local db=$1 what=$2
	shift 2
	"$culprit" inst -i "$db" --json "$@" >out
	python3 -c 'import json, sys
lines = []
for r in json.load(open("out"))["rows"]:
    cells = eval("[" + sys.argv[1] + "]")
    lines.append(" ".join(f"{e:.4g}" if isinstance(e, float) else str(e) for e in cells))
print("\n".join(sorted(lines)))' "$what"
}

# Each source, in each form that perf writes.
for form in instructions instructions-pipe instructions-packed; do
	make_perf $form f.data
	check_status "$form" 0 import f.data
	check_match "$form: says how many" err '^culprit: 12 instruction samples'
	check_same "$form: no registers are kept" 0 "$(verified raw_records)"
	check_same "$form: as the records say" "0x1100 ibs_fetch// 3 None
0x1100 ibs_op// 2 100
0x1104 ibs_op// 2 100
0x1108 ibs_op// 1 100
0x110c ibs_op// 1 100
0x1110 ibs_op// 1 100
0x1114 ibs_op// 1 100
0xffffffff81001234 ibs_op// 1 100" "$(inst p.db 'r["address"], r["event"], r["samples"], r["retired_percent"]')"
	check_same "$form: both that mispredicted" "0x1104 2000 100" \
		"$(inst p.db 'r["address"], r["total"], r["share_percent"]' --by mispredicted)"
	check_same "$form: of two loads one missed" "0x1100 1000 50" \
		"$(inst p.db 'r["address"], r["total"], r["share_percent"]' --by dcache_miss)"
	check_same "$form: and took that long" "0x1100 3.21e+05 321" \
		"$(inst p.db 'r["address"], r["total"], r["mean"]' --by load_data)"
done
for form in precise precise-pipe precise-packed; do
	make_perf $form f.data
	check_status "$form" 0 import f.data
	check_match "$form: says how many" err '^culprit: 12 instruction samples'
	check_same "$form: where data came from" "0x1100 10 40 40 10
0x1104 1 100 None None" "$(inst p.db 'r["address"], r["samples"], *(r["events"].get(e) for e in
		("dcache_miss", "l2_miss", "l3_miss"))' 0x1100 --image '*program')"
	check_same "$form: three latencies" "25 13.5 4.5 None
None 0 3 None" "$(inst p.db '*(r["latency_mean"].get(e) for e in
		("load_data", "issue_done", "retire_gap", "dtlb"))' 0x1100 --image '*program')"
done
make_perf foreign f.data
check_status "weights of a processor that is not Intel's" 0 import f.data
check_same "have one latency" "25 None None
None None None" "$(inst p.db '*(r["latency_mean"].get(e) for e in
	("load_data", "issue_done", "retire_gap"))' 0x1100 --image '*program')"
make_perf vague f.data
check_status "events that are not precise" 0 import f.data
check_same "are no instruction samples" 0 "$(verified instruction_samples)"
check_status "so that there is nothing to show" 1 "$culprit" inst -i p.db
check_match "which is said, with what would give some" err 'no instruction samples: .*ibs_op//.*arm_spe//'
for form in spe spe-pipe spe-packed; do
	make_perf $form f.data
	check_status "$form" 0 import f.data
	check_match "$form: says how many, and what made no sense" err 'lost 1, unknown 1$'
	check_same "$form: by what is mapped when" "0x1010 3 66.67
0x1100 9 100
0x1108 1 100
0x110c 1 100
0x500108 1 100
0xffffffff81001234 1 100" "$(inst p.db 'r["address"], r["samples"], r["retired_percent"]')"
	check_same "$form: each is a sample, too" 16 "$(verified samples)"
	check_same "$form: misses and what they took" "0x1100 33.33 11.11 34 10 24" \
		"$(inst p.db 'r["address"], r["events"].get("dcache_miss"), r["events"]["dtlb_walk"], *(r["latency_mean"][l]
			for l in ("dispatch_done", "dispatch_issue", "load_data"))' 0x1100 --image '*program' | grep 0x1100)"
	check_same "$form: branches" "0x1010 33.33 66.67 66.67" \
		"$(inst p.db 'r["address"], *(r["events"][e] for e in ("mispredicted", "taken", "retired"))' 0x1010 --image '*late')"
	check_same "$form: by thread" 15 "$(inst p.db 'r["samples"],' --subject comm=worker | awk '{ n += $1 } END { print n }')"
done
for form in trace nameless; do
	make_perf $form f.data
	check_status "a trace that is not known to be SPE's ($form)" 1 import f.data
	check_match "has no samples" err 'no samples'
done
make_perf liars f.data
check_status "raw data that lies" 0 import f.data
check_match "costs itself alone" err '^culprit: 13 instruction samples'

# A file that ends anywhere: what was whole is there.
for form in spe spe-pipe precise; do
	make_perf $form f.data
	bad='' before=-1 pieces=0
	for at in $(seq 600 61 "$(stat -c %s f.data)"); do
		head -c "$at" f.data >cut.data
		rm -rf cut.db
		"$culprit" import cut.data -o cut.db >out 2>cut.err
		status=$?
		kept=$(sed -n 's/^culprit: \([0-9]*\) instruction sample.*/\1/p' cut.err)
		[ $status -le 1 ] && [ "${kept:-0}" -ge "$before" ] || bad="$bad $at:$status:$kept"
		if [ -e cut.db ] && ! "$culprit" db verify cut.db >/dev/null; then bad="$bad $at:damaged"; fi
		before=${kept:-0} pieces=$((pieces + 1))
	done
	check_same "$form: cut at any of $pieces places" "" "$bad"
done

# Known rates: of each instruction of hot() what was put there.
make_hot_app
cat >make.py <<'E2'
import sys
hot, build = int(sys.argv[1]), sys.argv[2]
app = ("1", build, sys.argv[3], "ibs_op//", 1000)
print("epoch\t1000\t1009")
for at, samples, missed in (hot, 400, 100), (int(sys.argv[4]), 100, 1):
    print("sample", *app, at, samples, "comm=x", sep="\t")
    for k in range(samples):
        events = 1 | (k < missed) << 14
        print("inst", *app, at, 1, "comm=x", 1, 1 | 1 << 14 | 2, 0, 1 | 1 << 9, f"{events},{10 + k % 10}", sep="\t")
E2
python3 make.py "$hot" "$id" "$PWD/app" "$loop" >made.txt
"$mkdb" made.db m <made.txt || fail "mkdb"
check_status "a function" 0 "$culprit" inst -i made.db hot --json
python 'a = [r for r in rows if r["samples"]]
assert [r["samples"] for r in a] == [400, 100], a
assert [r["count"] for r in a] == [400e3, 100e3], a
assert [round(r["count_low"]) for r in a] == [380000, 90000], a
assert [r["events"]["dcache_miss"] for r in a] == [25, 1] and a[0]["events_samples"]["dcache_miss"] == 100
low, high = a[0]["events_low"]["dcache_miss"], a[0]["events_high"]["dcache_miss"]
assert 22.8 < low < 22.9 and 27.2 < high < 27.3, (low, high)
assert a[0]["latency_mean"]["dispatch_done"] == 14.5 and a[0]["latency_most"]["dispatch_done"] == 19
assert 14 <= a[0]["latency_median"]["dispatch_done"] <= 15 and a[0]["latency_90"]["dispatch_done"] in (18, 19)
assert a[0]["retired_percent"] == 100 and "l2_miss" not in a[0]["events"]
assert any("ret" in r["code"] for r in rows) and len(rows) > 4' && pass "by instruction, as it was put there" ||
	fail "by instruction, as it was put there"
check_status "a function, as text" 0 "$culprit" inst -i made.db hot
check_match "with ranges" out 'dcache_miss 25% \(23-27\)'
check_match "and latencies" out 'dispatch_done 14\.5 1[45] 1[89]'
check_status "in Intel's syntax" 0 "$culprit" inst -i made.db hot --intel --csv
check_match "... as CSV" out 'events\.dcache_miss'
check_status "the ranking" 0 "$culprit" inst -i made.db --by dcache_miss --json -n 1
python 'assert len(rows) == 1 and rows[0]["function"] == "hot" and rows[0]["total"] == 100e3, rows
assert rows[0]["total_low"] == 90e3 and abs(rows[0]["percent"] - 100 * 100 / 101) < 1e-6, rows' &&
	pass "... has the first first" || fail "... has the first first"
check_same "of functions that match" "" "$(inst made.db 'r["address"],' --function main)"
check_status "a function without such samples" 1 "$culprit" inst -i made.db main
check_status "an order that there is not" 2 "$culprit" inst -i made.db --by wind
check_match "names those that there are" err 'samples, aborts, latency, retired, .*, dtlb \('
check_status "several functions" 2 "$culprit" inst -i made.db hot main

# Two imports are one sum, compaction leaves it, damage costs what is damaged and is told.
make_perf spe f.data
import f.data 2>/dev/null
"$culprit" import f.data -q -o p.db --label again=yes
check_same "two epochs" 32 "$(inst p.db 'r["samples"],' --epoch all | awk '{ n += $1 } END { print n }')"
inst p.db 'sorted(r.items()),' --epoch all >before
"$culprit" db compact p.db
inst p.db 'sorted(r.items()),' --epoch all >after
check_status "compaction leaves them as they are" 0 cmp before after
import f.data 2>/dev/null
python3 - p.db/*/2*/seg-* <<'E2'
import struct, sys
with open(sys.argv[1], "r+b") as f:
    data = f.read()
    at = data.index(b"\x89CHUNK\r\n" + struct.pack("<I", 11)) + 48
    f.seek(at)
    f.write(bytes([data[at] ^ 1]))
E2
check_status "a damaged part" 1 "$culprit" inst -i p.db
check_match "is told, with what is lost" err 'damaged: .*lost: 16 samples with 16 instruction samples'
check_status "all else is there" 0 "$culprit" prof -i p.db
tap_end
