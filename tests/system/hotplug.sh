# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# A CPU goes and comes back while the daemon runs: its events are gone, which is said and counted.
# It disturbs whatever else runs on the machine, so only HOTPLUG=1 takes a CPU away.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/daemon.sh"
switch=/sys/devices/system/cpu/cpu1/online
if [ "${HOTPLUG:-}" != 1 ] || ! [ -w $switch ]; then
	skip "a CPU that goes and comes back" "HOTPLUG=1 is not set, or there is no second CPU that can go"
	tap_end
fi
trap 'echo 1 >$switch; end_all' EXIT

start_daemon exec_service "$unit_capabilities" "$culprit" daemon -o "$db" --socket "$socket" -F 500 || {
	fail "the daemon starts" "$(cat log)"
	tap_end
}
missed() { [ "$(field cpus_missed)" = "$1" ]; }
sleep 6
check "at first no CPU is missed" missed 0
echo 0 >$switch
sleep 6
check "nor while it is away" missed 0
echo 1 >$switch
check "it is when it is back" wait_until 30 missed 1
check_match "which is said" log '1 CPU came online after the events were opened'
check "the others are sampled" at_least $(($(field samples) + 100)) eval 'sleep 5; field samples'
sleep 6
ctl flush >/dev/null
"$culprit" prof -i "$db" >out 2>err
check_match "and reports tell" out 'seconds of CPUs that came online later were not sampled'
stop_daemon
tap_end
