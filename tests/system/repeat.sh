# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 1
# culprit record --repeat: an epoch a run, its wall time, the table at the end.
. "$(dirname "$0")/../tap.sh"
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS
[ "$(id -u)" = 0 ] || { skip "record --repeat" "not root"; tap_end; }

cat >run.sh <<'S'
n=$(cat count 2>/dev/null || echo 0)
echo $((n + 1)) >count
i=0
while [ $i -lt 20000 ]; do i=$((i + 1)); done
[ "$n" != 1 ] || exit 7
S
check_status "three runs, of which the second fails" 7 "$culprit" record --repeat 3 -F 2000 -o r.db -- sh run.sh
check "how they are sampled is said once" test "$(grep -c "cpu-clock every\|cycles every" err)" = 1
check_match "the table is that of stats" out '^range% +sum +sum% +N +mean'
check_match "with the sets" out '^set 3: '
check_match "and the run times" out '^note: run time: mean '
check "the command ran three times" [ "$(cat count)" = 3 ]
check_status "epochs" 0 "$culprit" epochs -i r.db --json
check "an epoch each" python3 -c 'import json; assert len(json.load(open("out"))["rows"]) == 3'
check_status "stats of them" 0 "$culprit" stats -i r.db --each --json
check "each with its time" python3 -c 'import json
assert all(0 < s["seconds"] < 60 and s["samples"] for s in json.load(open("out"))["sets"])'
check_status "a label marks the samples" 0 "$culprit" record -q -l team=red -F 2000 -o r.db -- sh run.sh
check_status "and selects them" 0 "$culprit" prof -i r.db --epoch all --subject label.team=r?d --by subject --json
check "alone" python3 -c 'import json
j = json.load(open("out"))
assert j["rows"] and all("label.team=red" in r["subject"] for r in j["rows"])'
check_status "--repeat without a command" 2 "$culprit" record --repeat 3 -a -o r.db
check_match "is told" err 'needs a command'
check_status "--repeat 0" 2 "$culprit" record --repeat 0 -o r.db -- true
tap_end
