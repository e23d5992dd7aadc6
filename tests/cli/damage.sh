# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# Each kind of chunk, blob and file of a database damaged: every report that would have used it says so
# in every form, and none that has nothing to do with it.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"
make_hot_app
image=$(printf '1\t%s\t%s' "$id" "$PWD/app")
{
	printf 'epoch\t100\t160\n'
	for at in "$hot" "$loop"; do
		printf 'sample\t%s\tcpu-clock\t1000000\t%d\t500\tcomm=app\n' "$image" "$at"
	done
	printf 'edge\t%s\tbranches\t-1\t%d\t100\t100\n' "$image" "$hot"
	printf 'edge\t%s\tbranches\t%d\t%d\t9900\t100\n' "$image" "$loop" $((loop - 8))
	printf 'edge\t%s\tbranches\t%d\t-1\t100\t100\n' "$image" "$loop"
	printf 'frame\tmain\t%s\t%d\nframe\thot\t%s\t%d\n' "$image" $((main + 8)) "$image" "$hot"
	printf 'stack\tcpu-clock\t1000000\t50\tcomm=app\tmain\thot\n'
	printf 'counter\tcpu-clock\t1000000\tsamples\t1000\n'
	printf 'keep\t%s\t%d\n' "$image" "$hot"
} >input
"$mkdb" whole.db m <input || fail "mkdb"
check_status "the whole database" 0 "$culprit" db verify whole.db

# damage KIND: in whole.db's copy d.db, the middle of each chunk of a kind.
damage() {
	rm -rf d.db && cp -r whole.db d.db
	python3 - "$1" d.db/m/*/[sb][ea][gs]* <<'P'
import struct, sys
kind = {"head": 1, "rows": 2, "index": 3, "edges": 8, "stacks": 5, "raws": 6}[sys.argv[1]]
for path in sys.argv[2:]:
    data, hit = bytearray(open(path, "rb").read()), 0
    at = 24
    while data[at:at + 8] == b"\x89CHUNK\r\n":
        found, size = struct.unpack_from("<II", data, at + 8)
        if found == kind:
            data[at + 48 + size // 2] ^= 0x55
            hit += 1
        at += 48 + size
    open(path, "wb").write(data)
    assert hit, path
P
}
# notes REPORT...: the notes of damage, of each form, in out; different ones fail.
notes() {
	"$culprit" "$@" -i d.db >text 2>text.err
	"$culprit" "$@" -i d.db --json >json 2>json.err
	"$culprit" "$@" -i d.db --csv >csv 2>csv.err
	cat text text.err | sed -En 's/^(note|culprit): (set [12]: )?(damaged: .*)/\3/p' | LC_ALL=C sort -u >out
	[ -s json ] && python3 -c 'import json, re
for n in json.load(open("json")).get("notes", ()):
    n = re.sub("^set [12]: ", "", n)
    if n.startswith("damaged: "): print(n)' | LC_ALL=C sort -u >out.json
	sed -En 's/^(# )?note: (set [12]: )?(damaged: .*)/\3/p' csv.err | LC_ALL=C sort -u >out.csv
	cmp -s out out.json && cmp -s out out.csv
}
reports=("prof" "prof --inclusive" "list hot" "calc hot" "stalls" "summary" "cfg hot" "calls"
	"calls --gprof" "stats last last" "diff last last" "epochs" "why")
# what_reads KIND: the reports that use such chunks.
what_reads() {
	case $1 in
	rows) printf '%s\n' "${reports[@]}" ;;
	edges) printf '%s\n' "list hot" "calc hot" "stalls" "summary" "cfg hot" "calls --gprof" "epochs" "why" ;;
	stacks) printf '%s\n' "prof --inclusive" "calls" "calls --gprof" "why" ;;
	head) ;; # it stands twice
	index) printf '%s\n' "${reports[@]}" ;;
	esac
}
for kind in rows edges stacks head index; do
	damage "$kind"
	what_reads "$kind" >readers
	for report in "${reports[@]}"; do
		# shellcheck disable=SC2086
		notes $report
		same=$?
		if [ ! -s json ]; then # what it is about is all gone
			check "$kind: $report fails, and names it" grep -q '^culprit: damaged: ' text.err
		elif grep -qx -- "$report" readers; then
			check "$kind: $report names it" grep -Eq "^damaged: .*(wrong checksum|index)" out
			check "... in every form" test $same = 0
		else
			check "$kind: $report does not" test ! -s out
		fi
	done
	"$culprit" db verify d.db >out
	check "$kind: verify names it" grep -q '^damaged: ' out
done

damage edges
"$culprit" calc hot -i d.db >out 2>&1
check "no edges that can be read are not no edges that were recorded" \
	grep -q 'no edges were recorded, or their part of the database is damaged' out
"$culprit" diff --cpi last last -i d.db >out 2>&1
check "nor for a difference" grep -q '^note: set 2: .*or their part of the database is damaged: .*record --edges' out
{ "$culprit" diff --cpi last last -i whole.db && "$culprit" cfg hot -i whole.db; } >out 2>&1
check "where edges were recorded nobody asks for them" test "$(grep -c -e --edges out)" = 0
"$culprit" calls --gprof -i d.db >out 2>&1
check "nor are calls" grep -q 'no calls were followed, or their part of the database is damaged' out
"$culprit" export -i d.db --autofdo - >out 2>err
check "an export that wants edges tells" grep -q '^culprit: damaged: .*passes over' err
"$culprit" export -i d.db --folded - >out 2>err
check "one of stacks does not" test "$(grep -c damaged err)" = 0
damage stacks
"$culprit" export -i d.db --folded - >out 2>err
check "but of damaged stacks it does" grep -q '^culprit: damaged: .*samples of' err

# Raw records are shown by one export only.
python3 "$root/tests/cli/perf_data.py" instructions i.data
"$culprit" import --raw i.data -o raw.db 2>err || fail "import"
mv whole.db kept.db && cp -r raw.db whole.db && mv whole.db/* whole.db/m
damage raws
"$culprit" export -i d.db --raw - >out 2>err
check "raws: an export of them names it" grep -q '^culprit: damaged: .*samples with' err
"$culprit" prof -i d.db >out 2>err
check "raws: prof does not" test "$(cat out err | grep -c damaged)" = 0
rm -rf whole.db && mv kept.db whole.db

# damage_blob KIND: in whole.db's copy d.db, the middle of what is kept of that kind.
damage_blob() {
	rm -rf d.db && cp -r whole.db d.db
	python3 - d.db/m/images/*."$1" <<'P'
import sys
for path in sys.argv[1:]:
    data = bytearray(open(path, "rb").read())
    data[len(data) // 2] ^= 0x55
    open(path, "wb").write(data)
P
}
# names_blob REPORT...: in how many of the three forms it says that what is kept is damaged.
names_blob() {
	"$culprit" "$@" -i d.db >text 2>&1
	"$culprit" "$@" -i d.db --json >json 2>&1
	"$culprit" "$@" -i d.db --csv >csv 2>&1
	grep -lE 'kept symbols, lines or code of an image could not be read|the kept .* damaged' text json csv | wc -l
}
reports+=("prof --by line" "prof --by loop" "diff --cpi last last")
exports=(folded pprof callgrind xml block-counts autofdo bolt-preaggregated)
what_reads_blob() {
	case $1 in
	code) printf '%s\n' "prof --by loop" "list hot" "calc hot" "stalls" "summary" "cfg hot" "diff --cpi last last" "why" \
		xml block-counts autofdo bolt-preaggregated ;;
	lines) printf '%s\n' "prof --by line" "prof --by loop" "list hot" "stalls" "calls" "why" folded pprof callgrind xml \
		autofdo ;;
	esac
}
for file in there gone; do
	[ $file = there ] || rm app
	for kind in code lines; do
		damage_blob $kind
		what_reads_blob $kind >readers
		for report in "${reports[@]}"; do
			grep -qx -- "$report" readers && wanted=3 || wanted=0
			# shellcheck disable=SC2086
			check_same "kept $kind, the file is $file: forms of $report that name it" "$wanted" "$(names_blob $report)"
		done
		for export in "${exports[@]}"; do
			grep -qx -- "$export" readers && wanted=yes || wanted=no
			"$culprit" export -i d.db "--$export" - >out 2>err
			grep -qE 'kept symbols, lines or code|the kept .* damaged' err && named=yes || named=no
			check_same "kept $kind, the file is $file: --$export names it" "$wanted" "$named"
		done
		"$culprit" db verify d.db >out
		check "kept $kind: verify names it" grep -q "^damaged: images/.*\.$kind: damaged" out
	done
done

# A file that is lost, of an epoch that is sealed.
rm -rf d.db && cp -r whole.db d.db
rm d.db/m/*/[sb][ea][gs]*
check_status "a sealed epoch without its files" 1 "$culprit" db verify d.db
check_match "is damaged" out '^damaged: .* is missing; lost: 1000 samples and what else it held'
"$culprit" epochs -i d.db >out 2>&1
check_match "and epochs says so" out 'damaged: .* is missing; lost: 1000 samples'
check_status "prof too" 1 "$culprit" prof -i d.db
check_match "says so" err 'is missing; lost: 1000 samples'
tap_end
