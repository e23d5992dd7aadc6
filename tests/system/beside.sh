# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# Other people's perf works while culprit collects: asking for build-ids in the kernel's records would
# break the files that it writes (see src/collect/process/build_id.h).
. "$(dirname "$0")/../tap.sh"
command -v perf >/dev/null || {
	skip "perf beside culprit" "there is no perf"
	tap_end
}
"$culprit" record -a -q -F 500 -o beside.db --for 600s >log 2>&1 &
recorder=$!
# The epoch begins just before the samples do.
until compgen -G "beside.db/*/2*" >/dev/null || ! kill -0 $recorder; do sleep 0.05; done
burn() { # enough mappings and samples for a report
	for _ in 1 2 3 4 5; do gzip -c "$culprit" >/dev/null; done
}
export -f burn
export culprit
check "perf record of a command" perf record -q -o one.data -- bash -c burn
check "perf record of the machine" perf record -q -a -o all.data -- bash -c burn
kill -INT $recorder
wait $recorder
check "culprit ends well" test $? = 0
perf report -i one.data --stdio >one.txt 2>one.err
check_match "perf reads its command's file" one.txt 'gzip'
perf report -i all.data --stdio --sort comm >all.txt 2>all.err
check_match "perf reads its machine's file" all.txt 'gzip'
check "culprit saw the same program" bash -c '"$0" prof -i beside.db --by subject --json | grep -q comm=gzip' "$culprit"
tap_end
