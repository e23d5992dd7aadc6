# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash source-path=SCRIPTDIR
# Where samples land, and what the core takes for known loops, is measured by the machine that records, once; it
# goes with the profile, and reports of it say so.
. "$(dirname "$0")/../sampling.sh"
need_sampling
cache=/var/cache/culprit/measured

record first -F 2000 --no-edges -- "$programs/shares"
check 'what was measured is kept' grep -qs '^culprit skid ' "$cache"/*

function=$("$culprit" prof -i first.db --image '*/shares' --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["rows"][0]["function"])')
check_status 'calc' 0 "$culprit" calc -i first.db --image '*/shares' "$function"
check_match 'uses what was measured' out '^note: [0-9]+% of stalls are shown at the next instruction \(measured on this machine\)'
# Reports read the profile alone, not the file that the collector keeps.
share=$(grep -o '[0-9]*% of stalls' out)
check 'which is most of them' test "${share%%%*}" -ge 60
record second -F 2000 --no-edges -- "$programs/shares"
check_status 'calc of the next recording' 0 "$culprit" calc -i second.db --image '*/shares' "$function"
check 'it was not measured again' test "$(grep -o '[0-9]*% of stalls' out)" = "$share"
check_status 'doctor knows it too' 0 "$culprit" doctor
check_match 'by case' out ' skid +cpu-clock.*(dependency|memory) [0-9]+%'
# A machine that is too busy for it has no times of the core's loops.
if grep -qs '^culprit core loops ' "$cache"/*; then
	check_status 'calc once more' 0 "$culprit" calc -i second.db --image '*/shares' "$function"
	check_match 'the core is the measured one' out '^note: core: .*; [0-9]+ measured loops off by [0-9]+% \(median\)'
else
	skip 'the core is the measured one' 'its loops were disturbed'
fi
for report in stalls summary; do
	check_status "$report" 0 "$culprit" "$report" -i first.db
	check_match "$report uses it" out '\(measured on this machine\)'
done

tap_end
