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
# perf fails to read what it wrote itself ("failed to process type: 17") where BPF programs of anybody came and
# went meanwhile: that says nothing of us, so it is tried again.
record_machine() {
	local try
	for try in 1 2 3 4 5 6 7 8 9 10; do
		perf record -q -a -o all.data -- bash -c burn || return
		perf report -i all.data --stdio --sort comm >all.txt 2>all.err
		grep -q 'process type: 17 ' all.err || return 0
	done
	echo "in each of $try tries BPF programs of others came or went"
	return 1
}
check "perf record of the machine" record_machine
kill -INT $recorder
wait $recorder
check "culprit ends well" test $? = 0
perf report -i one.data --stdio >one.txt 2>one.err
check_match "perf reads its command's file" one.txt 'gzip'
check_match "perf reads its machine's file" all.txt 'gzip'
check "culprit saw the same program" bash -c '"$0" prof -i beside.db --by subject --json | grep -q comm=gzip' "$culprit"
tap_end
