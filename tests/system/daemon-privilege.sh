# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# The unit's capabilities suffice for everything, and no smaller set does: each one is taken away in
# turn, and what that costs is looked at. What is only for the start is given up.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/daemon.sh"

without() {
	printf '%s\n' $unit_capabilities | grep -vx "$1" | paste -sd' '
}

# The least set, as in doc/security.md: of every thread, in the sets that count, and nothing in the
# others.
least=$(python3 -c 'print("%016x" % sum(1 << n for n in (2, 19, 34, 38, 39, 40)))')
has_least() {
	local threads=("/proc/$daemon/task/"*/status) file set
	for file in "${threads[@]}"; do
		for set in CapInh:0000000000000000 CapPrm:"$least" CapEff:"$least" CapBnd:0000000000000000 CapAmb:0000000000000000; do
			[ "$(awk -v name="${set%%:*}:" '$1 == name { print $2 }' "$file")" = "${set#*:}" ] || {
				grep '^Cap' "$file"
				return 1
			}
		done
	done
	echo "${#threads[@]} threads"
}

# Field 41: the policy, 1 is SCHED_FIFO; 40: the priority.
ahead_of_crowds() {
	[ "$(awk '$41 == 1 && $40 == 1' "/proc/$daemon/task/"*/stat | wc -l)" = 1 ]
}

# Debian's and Ubuntu's level, at which the daemon starts with more than it keeps; the lower one, at
# which it needs no more; the lowest one.
for level in 4 2 -1; do
	echo $level >$paranoid
	given=$unit_capabilities
	[ $level = 4 ] || given=$(without sys_admin)
	rm -rf run state
	mkdir -m 755 run state
	start_daemon exec_service "$given" "$culprit" daemon -o "$db" --socket "$socket" --flush-every 1s -F 1000 || {
		fail "it starts at perf_event_paranoid $level" "$(cat log)"
		continue
	}
	check "it samples at perf_event_paranoid $level" wait_until 20 at_least 100 field samples
	check "no thread has more than the least set" has_least
	# By the unit's limit, where a test may raise it; else daemon-remap.sh sees root's go ahead.
	if (ulimit -r 1) 2>/dev/null; then
		check "the thread that empties the rings goes ahead of all others" ahead_of_crowds
	fi
	check "the sysctl is as it was" test "$(cat $paranoid)" = $level
	stop_daemon
	check "it has no complaint" test -z "$(grep -E 'error|warning' log)"
	[ $level -gt 0 ] || continue
	(exec_user "$culprit" doctor) >out
	check_match "to nobody doctor says what mends it" out \
		"^culprit cannot sample.*with sudo, or for everyone who may run it: $([ $level = 2 ] || echo 'sudo sysctl kernel.perf_event_paranoid=2; ')sudo setcap"
done
echo "$paranoid_kept" >$paranoid
if [ "$paranoid_kept" -gt 2 ]; then
	! start_daemon exec_service "$(without sys_admin)" "$culprit" daemon -o "$db" --socket "$socket"
	check "without CAP_SYS_ADMIN it does not start at $paranoid_kept" test $? = 0
	check_match "which says what mends it" log 'sudo sysctl kernel.perf_event_paranoid=2'
else
	skip "without CAP_SYS_ADMIN it does not start" "this kernel heeds CAP_PERFMON"
fi

# What only privileges show: programs of another user in a directory of mode 0700, one of them
# deleted while it runs.
mkdir home
for name in before deleted after; do make_spin home/$name; done
cp home/deleted spare
chown -R 64124:64124 home
chmod 700 home home/*

# collect CAPABILITIES: samples the three programs; then db holds it.
collect() {
	local targets=() target
	rm -rf state run home/deleted
	mkdir -m 755 state run
	install -m 700 -o 64124 -g 64124 spare home/deleted
	for target in before deleted; do
		background_as_user "$here/home/$target"
		targets+=("$pid")
	done
	rm home/deleted
	if start_daemon exec_service "$1" "$culprit" daemon -o "$db" --socket "$socket"; then
		background_as_user "$here/home/after"
		targets+=("$pid")
		for target in "${targets[@]}"; do await_cpu "$target" 30; done
		stop_daemon
	fi
	kill "${targets[@]}"
	wait "${targets[@]}"
	unknown=$(unknown)
} 2>/dev/null

seen() { # FUNCTION IMAGE: the daemon resolved some samples of it so
	local n
	n=$(samples_of "$1" "$2")
	[ "$n" -gt 10 ] || { echo "$n samples of '$1' in $2"; tail -3 log; false; }
}
unseen() {
	! seen "$@" >/dev/null || { echo "$(samples_of "$@") samples of '$1' in $2"; false; }
}
kernel_symbols() {
	"$culprit" prof -i "$db" --image '\[kernel.kallsyms\]' --limit 0 >/dev/null &&
		seen '' '[kernel.kallsyms]'
}
collect "$unit_capabilities"
check "with the unit's capabilities: a program that ran before" seen burn_here /home/before
check "one that started later" seen burn_here /home/after
check "one that is deleted" seen burn_here /home/deleted
check "the kernel's functions" seen '' '[kernel.kallsyms]'
check_same "no unknown sample" 0 "$unknown"

for needed in bpf perfmon; do
	collect "$(without $needed)"
	check "without CAP_${needed^^} there is no sampling" test ! -e "$db" -o "$unknown" = ''
	check_match "and one line says what is missing" log "CAP_(BPF|PERFMON)"
	check "only one" test "$(wc -l <log)" = 1
done

# Since Linux 6.15 CAP_PERFMON is enough for /proc/PID/maps, but not for the files behind.
collect "$(without sys_ptrace)"
check "without CAP_SYS_PTRACE a deleted program has no symbols" \
	unseen burn_here /home/deleted
check "the kernel's functions are still there" seen '' '[kernel.kallsyms]'

collect "$(without dac_read_search)"
check "without CAP_DAC_READ_SEARCH a private program has no symbols" unseen burn_here /home/before
check "but its samples are its own" seen '' /home/before

if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 1 ] && [ "$(cat /proc/sys/kernel/kptr_restrict)" = 0 ]; then
	skip "without CAP_SYSLOG the kernel is unknown" "kernel.perf_event_paranoid lets everyone see it"
else
	collect "$(without syslog)"
	check "without CAP_SYSLOG the kernel is unknown" unseen '' '[kernel.kallsyms]'
	check_match "which is said at the start" log 'CAP_SYSLOG'
	check "and counted" test "$unknown" -gt 0
fi

collect "$(without checkpoint_restore)"
check "without CAP_CHECKPOINT_RESTORE a deleted program has no symbols" \
	unseen burn_here /home/deleted
check "but its samples are its own" seen '' /home/deleted
tap_end
