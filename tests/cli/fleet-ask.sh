# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154,SC2015
# A fleet's reports are those of its machines added up: of one machine the same, byte for byte, as of its
# database; of several, of builds, labels and times, their sums.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"
. "$root/tests/fleet.sh"
[ -x "$server" ] || { skip "a fleet" "there is no clickhouse-server"; tap_end; }

configure_server one
start_server one || tap_end
unset CULPRIT_FLEET_AUTH
# shellcheck disable=SC2154
export CULPRIT_FLEET=$url_one
fleet() { "$culprit" fleet "$@"; }
make_hot_app

# A program with code and lines, in two epochs of one machine and, of an older build, on another.
app=$'1\t'$id$'\t'$PWD/app old=$'1\taa11bb22\t/srv/app'
lines() { # START SAMPLES
	printf 'epoch\t%d\t%d\n' "$1" $(($1 + 60))
	printf 'keep\t%s\t%d\n' "$app" "$loop"
	printf 'sample\t%s\tcpu-clock\t1000000\t%d\t%d\tcomm=app\tlabel.zone=%s\n' \
		"$app" "$hot" "$2" a "$app" "$loop" $(($2 * 9)) a "$app" "$main" 3 b
	printf 'edge\t%s\twindows\t%d\t%d\t%d\t%d\n' "$app" "$loop" "$hot" "$2" "$2"
	printf 'touch\t%s\t%d\t77\t3\n' "$app" "$loop"
	printf 'frame\tm\t%s\t%d\nframe\th\t%s\t%d\nstack\tcpu-clock\t1000000\t%d\tcomm=app\tm\th\n' "$app" "$main" "$app" "$loop" "$2"
	printf 'counter\tcpu-clock\t1000000\tsamples\t%d\ncounter\tcpu-clock\t1000000\tlost.ring\t2\nfact\tkernel\t6.1\n' $(($2 * 10 + 3))
}
{ lines 1700000000 10 && lines 1700090000 20; } | $mkdb db 'host-a'
{
	printf 'epoch\t1700000000\t1700000060\nsymbol\t%s\t0x1000\t0x100\thot\n' "${old%$'\t'*}"
	printf 'sample\t%s\tcpu-clock\t1000000\t4096\t400\tcomm=app\tlabel.zone=b\nfact\tkernel\t6.2\n' "$old"
} | $mkdb other "host-b"
fleet init >/dev/null && "$culprit" push -i db -q && "$culprit" push -i other -q || fail "push"

# Of one machine.
of_fleet() { fleet --machines host-a "$@" 2>&1 | sed 's/machine"*:* "*fleet/MACHINE/; s/, [0-9]* epochs*/EPOCHS/; s/^epochs* .*/EPOCHS/; s/-i .* --epoch all/DB/'; }
of_db() { "$culprit" "$1" -i db --epoch all "${@:2}" 2>&1 | sed 's/machine"*:* "*host-a/MACHINE/; s/, [0-9]* epochs*/EPOCHS/; s/^epochs* .*/EPOCHS/; s/-i db --epoch all/DB/'; }
for report in "prof" "prof --csv" "prof --by image" "prof --by subject" "prof --by line" "prof --inclusive" "calls" \
	"list hot" "calc hot" "stalls" "summary" "why"; do
	# shellcheck disable=SC2086
	check_same "of one machine: $report" "$(of_db $report)" "$(of_fleet $report)"
done

# Of all, and of parts.
rows() { "$@" --csv 2>err | tail -n +2 | cut -d, -f1,4 | tr '\n' ' '; }
samples() { "$@" --json 2>err | python3 -c 'import json, sys; print(sum(r["samples"] for r in json.load(sys.stdin)["rows"]))'; }
check_same "all machines" 706 "$(samples fleet prof)"
check_same "one machine" 306 "$(samples fleet prof --machines 'host-a')"
check_same "a build" 400 "$(samples fleet prof --build aa11)"
check_same "another" 306 "$(samples fleet prof --build "${id:0:8}")"
check_same "a label" 300 "$(samples fleet prof --label zone=a)"
check_same "up to a day" 503 "$(samples fleet prof --until 2023-11-14)"
check_same "since a day" 203 "$(samples fleet prof --since 2023-11-15)"
check_same "to the instruction" 706 "$(samples fleet prof --by line)"
check_refused "no such machine" 1 'no epochs of such machines' fleet prof --machines nobody
check_refused "no such build" 1 'no such image' fleet prof --build 77
check_refused "no such time" 2 "'yesterday' is no time" fleet prof --since yesterday

# Sets.
check_status "two builds are compared" 0 fleet diff "build=aa11" "build=${id:0:8}" --json
python 'row = by["hot"]; assert row["samples_a"] == 400 and row["samples_b"] == 300, row' && pass "by function, of both builds" || fail "by function, of both builds" "$(cat out)"
check_status "machines are compared" 0 fleet stats --by-machine --json
check_match "each is a set" out 'host-b'
check_status "and parts of machines" 0 fleet stats machines=host-a,until=2023-11-14 machines=host-a,since=2023-11-15
check_refused "sets must be named" 2 'name sets of the fleet' fleet diff
check_refused "what a set can have" 2 "'x=1' is none of build=" fleet diff build=aa11,x=1 build=aa11

# What others put there is not believed.
sql one "INSERT INTO culprit.machines VALUES (7, 'liar', today())"
sql one "INSERT INTO culprit.subjects SELECT subject, 'forged', today() FROM culprit.subjects"
sql one "INSERT INTO culprit.images SELECT image, 'ffff', '/forged', today() FROM culprit.images"
check_same "names that are not what their numbers say are not taken" 706 "$(samples fleet prof)"
check_match "and that is said" err 'not what the number in the fleet says'
check_same "nor are they seen" 0 "$(fleet prof --by image 2>&1 | grep -c forged)"
check_refused "nor is a machine" 1 'no epochs of such' fleet prof --machines liar
sql one "INSERT INTO culprit.edges (day, image, event, epoch, evidence, from_off, to_image, to_off, cnt, windows, ver)
	SELECT day, image, event, epoch, 77, from_off, to_image, to_off, cnt, windows, ver FROM culprit.edges"
check_status "rows of a newer culprit are passed over" 0 fleet calc hot --build "${id:0:8}"
check_match "and that is said" err 'left out'

# A server that is not well.
check_refused "no server" 1 'cannot reach' fleet prof --from http://127.0.0.1:1 --patience 1
check_refused "no fleet there" 1 'culprit fleet init' fleet prof --from "$url_one/nothing"
check_status "say what" 2 fleet
check_status "no such report" 2 fleet frobnicate
check_status "help" 0 fleet --help
check_same "nothing is left behind" "" "$(ls -d /dev/shm/culprit-fleet.* 2>/dev/null)"
tap_end
