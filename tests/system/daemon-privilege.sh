# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# timeout: 240
# The unit's capabilities suffice for everything, and no smaller set does: each one is taken away in
# turn, and what that costs is looked at.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/daemon.sh"

for given in 4 -1; do
	echo $given >$paranoid
	unit_prepare
	check "perf_event_paranoid of $given" test "$(cat $paranoid)" = $((given > 2 ? 2 : given))
done
echo "$paranoid_kept" >$paranoid

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
		sleep 3
		stop_daemon
	fi
	kill "${targets[@]}"
	wait "${targets[@]}"
	unknown=$(header unknown)
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
without() {
	printf '%s\n' $unit_capabilities | grep -vx "$1" | paste -sd' '
}

collect "$unit_capabilities"
check "with the unit's capabilities: a program that ran before" seen burn_here /home/before
check "one that started later" seen burn_here /home/after
check "one that is deleted" seen burn_here '/home/deleted (deleted)'
check "the kernel's functions" seen '' '[kernel.kallsyms]'
check "no unknown sample" test "$unknown" = 0

for needed in bpf perfmon; do
	collect "$(without $needed)"
	check "without CAP_${needed^^} there is no sampling" test ! -e "$db" -o "$unknown" = ''
	check_match "and one line says what is missing" log "CAP_(BPF|PERFMON)"
	check "only one" test "$(wc -l <log)" = 1
done

# Since Linux 6.15 CAP_PERFMON is enough for /proc/PID/maps, but not for the files behind.
collect "$(without sys_ptrace)"
check "without CAP_SYS_PTRACE a deleted program has no symbols" \
	unseen burn_here '/home/deleted (deleted)'
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
	unseen burn_here '/home/deleted (deleted)'
check "but its samples are its own" seen '' '/home/deleted (deleted)'
tap_end
