# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154,SC2015
# The same statements on the current ClickHouse: tables, pushes, reports, and what waits for it (codecs, TTL).
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"
. "$root/tests/fleet.sh"
start_current now || { skip "the current ClickHouse" "npm's @chdb/lib-linux-x64-gnu is not installed"; tap_end; }
unset CULPRIT_FLEET_AUTH
export CULPRIT_FLEET=$url_now
make_hot_app
app=$'1\t'$id$'\t'$PWD/app
lines() { # START SAMPLES
	printf 'epoch\t%d\t%d\nkeep\t%s\t%d\n' "$1" $(($1 + 60)) "$app" "$loop"
	printf 'sample\t%s\tcpu-clock\t1000000\t%d\t%d\tcomm=%s\n' "$app" "$hot" "$2" "a'b\\\\" "$app" "$loop" $(($2 * 9)) a "$app" "$main" 3 a
	printf 'edge\t%s\twindows\t%d\t%d\t%d\t%d\ntouch\t%s\t%d\t77\t3\n' "$app" "$loop" "$hot" "$2" "$2" "$app" "$loop"
	printf 'frame\tm\t%s\t%d\nframe\th\t%s\t%d\nstack\tcpu-clock\t1000000\t%d\tcomm=a\tm\th\n' "$app" "$main" "$app" "$loop" "$2"
	printf 'counter\tcpu-clock\t1000000\tlost.ring\t2\nfact\tkernel\t6.1\n'
}
{ lines 1700000000 10 && lines 1700090000 20; } | $mkdb db host-a
check_status "init makes the tables" 0 "$culprit" fleet init --keep 36500
check_match "with all migrations" out ' 2 migrations$'
check_status "init again changes nothing" 0 "$culprit" fleet init
check_match "it says so" out ' 0 migrations$'
check_status "a push" 0 "$culprit" push -i db
wanted=$(printf '306\t6\n306\n30\t2\n30\t30\nlost.ring\t4')
check_same "all is there once" "$wanted" "$(totals now)"
check_status "all again" 0 "$culprit" push -i db --all
check_same "still once" "$wanted" "$(totals now)"
check_status "nothing new" 0 "$culprit" push -i db
check_match "it says so" out '^pushed 0 epochs \(2 unchanged\)'
of_fleet() { "$culprit" fleet "$@" 2>&1 | sed 's/machine fleet/MACHINE/; s/^epochs* .*/EPOCHS/'; }
of_db() { "$culprit" "$1" -i db --epoch all "${@:2}" 2>&1 | sed 's/machine host-a/MACHINE/; s/^epochs* .*/EPOCHS/'; }
for report in "prof" "prof --by line" "calls" "calc hot" "summary"; do
	# shellcheck disable=SC2086
	check_same "as of the database: $report" "$(of_db $report)" "$(of_fleet $report)"
done
# The dashboard: its form, and that each of its questions has an answer with the data that are there.
python3 - "$root/packaging/fleet/grafana.json" >questions <<'PYTHON' || fail "the dashboard is well-formed"
import json, sys
board = json.load(open(sys.argv[1]))
for key, kind in (("title", str), ("uid", str), ("schemaVersion", int), ("panels", list), ("time", dict), ("templating", dict)):
    assert isinstance(board[key], kind), key
names = {v["name"] for v in board["templating"]["list"]}
assert names == {"source", "machine"} and all(v["type"] in ("datasource", "textbox") for v in board["templating"]["list"])
assert len({p["id"] for p in board["panels"]}) == len(board["panels"])
taken = set()
for panel in board["panels"]:
    place = panel["gridPos"]
    assert panel["type"] in ("table", "timeseries") and place["x"] + place["w"] <= 24
    cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
    assert not cells & taken, "panels lie over one another"
    taken |= cells
    (target,) = panel["targets"]
    assert target["datasource"]["uid"] == "${source}"
    sql = target["rawSql"].replace("$__fromTime", "toDateTime(1699900000)").replace("$__toTime", "toDateTime(1700200000)")
    sql = sql.replace("${machine}", "host-%")
    assert "$" not in sql, sql
    print(sql)
PYTHON
check_same "the dashboard has four questions" 4 "$(wc -l <questions)"
while read -r question; do
	sql now "$question" >answer
	check_match "it answers: ${question:0:40}" answer '^(hot.*app|host-a|.*app.*'"$id"'|2023-11-14).*[0-9]$'
done <questions
check_status "an upgrade, with days to keep" 0 "$culprit" fleet upgrade --keep 400
sql now "OPTIMIZE TABLE culprit.samples FINAL" >optimized
check_same "what is older goes by the server's TTL" "0" "$(sql now "SELECT count() FROM culprit.samples")"
tap_end
