# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# Kernels with nohz_full refuse membarrier: there handlers are waited for by a visit to their CPU,
# where somebody may not let us go, or nobody can go any more. HOTPLUG=1 takes a CPU away too.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/daemon.sh"
refuse=$build/tests/system/refuse
start_visiting() {
	rm -rf state/db
	start_daemon "$refuse" "$culprit" daemon -o "$db" --socket "$socket" -F 500 --flush-every 1h
}
make_spin burn
background "$here/burn"

start_visiting
check "without membarrier it samples" wait_until 10 at_least 100 field samples
ctl flush
all=$(field samples)
check "and stores all of it" test "$(field lost)" = 0
stop_daemon
check "what was sampled is there" test "$(all_samples)" -ge "$all"

cpuset=/sys/fs/cgroup/cpuset/culprit.$$
if [ "$(nproc)" -gt 1 ] && mkdir "$cpuset" 2>/dev/null; then
	cat "${cpuset%/*}/cpuset.mems" >"$cpuset/cpuset.mems"
	echo 0 >"$cpuset/cpuset.cpus"
	start_visiting
	wait_until 10 at_least 500 field rows
	echo "$daemon" >"$cpuset/cgroup.procs"
	check_status "where it may not go to a CPU a flush fails" 1 ctl flush
	check_match "and says why" err 'cannot run on CPU [0-9]+: '
	stop_daemon
	check "so does the end" test $? = 1
	check "but what was drained before is stored" test "$(all_samples)" -ge 500
	wait_until 5 rmdir "$cpuset"
else
	skip "a CPU where it may not go" "no cpuset of cgroup version 1 here, or only one CPU"
fi

switch=/sys/devices/system/cpu/cpu1/online
if [ "${HOTPLUG:-}" != 1 ] || ! [ -w $switch ]; then
	skip "a CPU that is gone" "HOTPLUG=1 is not set, or there is no second CPU that can go"
	tap_end
fi
trap 'echo 1 >$switch; end_all' EXIT
start_visiting
echo 0 >$switch
before=$(field samples)
check "a CPU that is gone is not waited for" wait_until 20 at_least $((before + 100)) field samples
check "and a flush succeeds" ctl flush
echo 1 >$switch
stop_daemon
check "so does the end" test $? = 0
tap_end
