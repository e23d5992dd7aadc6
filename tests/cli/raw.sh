# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# Raw records of single samples: what culprit import --raw keeps of AMD's IBS and culprit export --raw shows
# of it. The files are made by perf_data.py: no such processor was at hand.
. "$(dirname "$0")/../tap.sh"
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS
make_perf() { python3 "$root/tests/cli/perf_data.py" "$@"; }
import() { rm -rf ./*.db && "$culprit" import --raw "$@" -o p.db; }
# show EXPRESSION [OPTION...]: of each record of export --raw, sorted.
show() {
	local what=$1
	shift
	"$culprit" export -i p.db --raw - "$@" | python3 -c '
import json, sys
for r in map(json.loads, sys.stdin):
    f, n = r["fields"], r["registers"]
    print(*[eval(e) for e in sys.argv[1].split(";")])' "$what" | sort
}
verified() { "$culprit" db verify p.db --json | sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p"; }

make_perf instructions i.data
check_status "a file of IBS" 0 import i.data
check_match "says how many records there are" err '^culprit: 12 raw records of single samples$'
check_match "and what is not kept: a tracepoint's" err 'not kept: raw_of_other_events 1, raw_bytes 20$'
records='0x1080 ibs_op 2 op_brn_misp
0x1100 ibs_fetch 1
0x1100 ibs_fetch 1
0x1100 ibs_fetch 1
0x1100 ibs_op 1
0x1100 ibs_op 1
0x1108 ibs_op 1
0x110c ibs_op 1
0x1114 ibs_op 1
0xffffffff81000040 ibs_op 1
0xffffffff81001234 ibs_op 1'
whole='r.get("target", r)["address"];r["kind"];r["count"];"op_brn_misp"[:20*f.get("op_brn_misp", 0)]'
check_same "each by its place or its target's, equal ones once" "$records" "$(show "$whole" | sed 's/ *$//')"
check_same "a load's latencies, source and address" "0 700 10 0 0x7ffd00001048
321 40 10 2 0x7ffd00001040" \
	"$(show 'f.get("dc_miss_lat", 0);f["tag_to_ret_ctr"];f["comp_to_ret_ctr"];f.get("data_src_lo", 0);n["IbsDcLinAd"]' \
		--event 'ibs_op*' --image program | grep 0x7ffd)"
"$culprit" export -i p.db --raw all.json
check_match "a target in the kernel is a place of it" all.json '"target":{"image":"\[kernel.kallsyms\]"'
for secret in IbsDcPhysAd IbsFetchPhysAd IbsOpRip IbsBrTarget 12345040 777100 0x5001 bad 666; do
	if grep -q "$secret" all.json; then fail "$secret is not kept"; else pass "$secret is not kept"; fi
done
check_match "that there were physical addresses is" all.json '"dc_phy_addr_valid":1'
check_same "fetches, and what took long" "7 77 2
7 None 1
7 None 1" "$(show 'f["fetch_lat"];f.get("itlb_refill_lat");len(n)' --event 'ibs_fetch*')"
check_same "registers that an old kernel does not read are not there" 0x1114 \
	"$(show 'r["address"] if "IbsOpData4" not in n else ""' --event 'ibs_op*' | grep 0x)"
check_same "selected by image" 1 "$(show 'r["kind"]' --image '*kallsyms*' | wc -l)"
check_same "by subject" 11 "$(show 'r["subject"]' --subject comm=work* | grep -c "'comm=worker'")"
check_status "none of another subject" 1 "$culprit" export -i p.db --raw none.json --subject comm=other
check_match "says so, and where they come from" err 'no raw records: .*ibs_op'
[ ! -e none.json ] && pass "... and leaves no file" || fail "... and leaves no file"
check_status "not by function" 2 "$culprit" export -i p.db --raw - --function main
check_match "says how" err '[-][-]image'
check_same "the check of the database counts them" 11 "$(verified raw_records)"

# A damaged chunk of them costs just these, and is told.
cp -r p.db damaged.db
python3 - damaged.db/*/2*/seg-* <<'E2'
import struct, sys
with open(sys.argv[1], "r+b") as f:
    data = f.read()
    at = data.index(b"\x89CHUNK\r\n" + struct.pack("<I", 6)) + 48
    f.seek(at)
    f.write(bytes([data[at] ^ 1]))
E2
check_status "an export of a damaged part" 1 "$culprit" export -i damaged.db --raw -
check_match "says what is lost" err 'damaged: .*lost: 12 samples with 11 raw records of .*program'
check_status "all else is there" 0 "$culprit" export -i damaged.db --xml -
check_match "... and the damage is told too" <("$culprit" db verify damaged.db 2>&1) ' 13 samples, .* 1 damaged'

# What a database of two imports says is what both say, and merging changes nothing.
"$culprit" import --raw i.data -q -o p.db --label again=yes
check_same "records of two epochs" 22 "$(show 'r["kind"]' --epoch all | wc -l)"
check_same "of one label" 11 "$(show 'r["kind"]' --epoch all --subject label.again=yes | wc -l)"
check_same "of one epoch" 11 "$(show 'r["kind"]' --epoch last | wc -l)"
show r --epoch all >before
"$culprit" db compact p.db
show r --epoch all >after
check_status "compaction leaves them as they are" 0 cmp before after

for form in instructions-pipe instructions-packed unmapped; do
	make_perf $form f.data
	check_status "$form" 0 import f.data
	check_same "$form: the same records" "$records" "$(show "$whole" | sed 's/ *$//')"
done
make_perf unnamed f.data
check_status "a file that says nowhere whose events they are" 0 import f.data
check_match "says that" err 'not kept: raw_of_other_events 1, raw_of_unknown_pmu 12, raw_bytes'
check_same "and keeps the samples" 13 "$("$culprit" prof -i p.db --json | python3 -c '
import json, sys
print(sum(sum(r["events"].values()) for r in json.load(sys.stdin)["rows"]))')"

# Sizes that lie cost what they are of: the record's raw data, or, past its end, the sample.
make_perf liars f.data
check_status "raw data of no known size" 0 import f.data
check_match "is counted, by the reason" err 'raw_malformed 7,'
check_match "what goes past its sample costs the sample" err 'lost 2,'
check_match "all others are there" err '^culprit: 13 raw records'

# A file that ends at any record, or within any: what was whole is there.
for form in instructions liars instructions-pipe; do
	make_perf $form f.data
	python3 - f.data <<'E2' >cuts
import struct, sys
data = open(sys.argv[1], "rb").read()
pipe = struct.unpack_from("<Q", data, 8)[0] == 16
at, end = (16, len(data)) if pipe else (lambda a, n: (a, a + n))(*struct.unpack_from("<QQ", data, 40))
while at < end:
    kind, _, size = struct.unpack_from("<IHH", data, at)
    if kind == 9:
        print(at, at + size // 2, at + size - 1)
    at += size
E2
	bad='' before=-1 pieces=0
	for at in $(cat cuts); do
		head -c "$at" f.data >cut.data
		rm -rf cut.db
		"$culprit" import --raw cut.data -o cut.db >out 2>cut.err
		status=$?
		kept=$(sed -n 's/^culprit: \([0-9]*\) raw records.*/\1/p' cut.err)
		[ $status -le 1 ] && [ "${kept:-0}" -ge "$before" ] || bad="$bad $at:$status:$kept"
		if [ -e cut.db ] && ! "$culprit" db verify cut.db >/dev/null; then bad="$bad $at:damaged"; fi
		before=${kept:-0} pieces=$((pieces + 1))
	done
	check_same "$form: cut at any of $pieces places" "" "$bad"
done
tap_end
