# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# The daemon and its image worker under the unit's restrictions of system calls and of the file system,
# made here with the means that systemd has, since no systemd may be running.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/daemon.sh"
if ! command -v systemd-analyze >/dev/null; then
	skip "the unit's system calls" "systemd-analyze is not installed"
	tap_end
fi

# expand SET-OR-CALL...: the names of the calls.
expand() {
	local name
	for name; do
		if [[ $name == @* ]]; then
			# shellcheck disable=SC2046
			expand $(systemd-analyze syscall-filter "$name" | sed -n '2,$s/^ *\([@a-z0-9_-]*\).*/\1/p')
		elif [ -n "$name" ]; then
			echo "$name"
		fi
	done
}
filters=$(sed -n 's/^SystemCallFilter=//p' "$unit")
# shellcheck disable=SC2046,SC2086
expand $(grep -v '^~' <<<"$filters") | sort -u >allowed
# shellcheck disable=SC2046,SC2086
expand $(sed -n 's/^~//p' <<<"$filters") | sort -u >denied
comm -23 allowed denied >calls
check "the unit's list of system calls is understood" test "$(wc -l <calls)" -gt 150

# As SystemCallFilter, RestrictAddressFamilies=AF_UNIX, RestrictNamespaces, MemoryDenyWriteExecute.
cc -x c -o confine - -lseccomp <<'C' || exit 1
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#define SPACES (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
		CLONE_NEWPID | CLONE_NEWNET)
static scmp_filter_ctx f;
static void allow(int call, int arg, unsigned long mask, unsigned long value)
{
	seccomp_rule_add(f, SCMP_ACT_ALLOW, call, 1,
			 SCMP_CMP64(arg, SCMP_CMP_MASKED_EQ, mask, value));
}
int main(int argc, char **argv)
{
	char name[64];
	FILE *calls = fopen(argv[1], "r");

	f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	while (calls && fscanf(calls, "%63s", name) == 1) {
		int call = seccomp_syscall_resolve_name(name);
		if (call == SCMP_SYS(socket))
			allow(call, 0, ~0ul, AF_UNIX);
		else if (call == SCMP_SYS(clone))
			allow(call, 0, SPACES, 0);
		else if (call == SCMP_SYS(clone3))
			seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), call, 0);
		else if (call == SCMP_SYS(mprotect))
			allow(call, 2, PROT_EXEC, 0);
		else if (call == SCMP_SYS(mmap)) {
			allow(call, 2, PROT_WRITE | PROT_EXEC, 0);
			allow(call, 2, PROT_WRITE | PROT_EXEC, PROT_WRITE);
			allow(call, 2, PROT_WRITE | PROT_EXEC, PROT_EXEC);
		} else if (call != __NR_SCMP_ERROR && call != SCMP_SYS(unshare) &&
			   call != SCMP_SYS(setns))
			seccomp_rule_add(f, SCMP_ACT_ALLOW, call, 0);
	}
	if (argc < 3 || seccomp_load(f))
		return 125;
	execv(argv[2], argv + 2);
	return 126;
}
C

# As ProtectSystem=strict and PrivateNetwork: everything read-only but the daemon's two directories.
cat >wall <<'EOS'
mount --bind run run && mount --bind state state || exit 1
while read -r _ _ _ _ where options _; do
	case $where in */run | */state | /proc | /proc/* | /dev/*) continue ;; esac
	mount -o remount,bind,ro "$where" 2>/dev/null
done </proc/self/mountinfo
! touch "$PWD/x" 2>/dev/null || exit 1
EOS
export here calls=$here/calls service_user unit_capabilities
export -f exec_service
exec_walled() {
	exec unshare --mount --net --propagation private bash -c '
		cd "$here" && . ./wall || { echo "no wall"; exit 1; }
		exec_service "$unit_capabilities" "$@"' - "$@"
}

mkdir home
make_spin home/private
make_spin home/deleted
chown -R 64124:64124 home
chmod 700 home home/*
background_as_user "$here/home/private"
background_as_user "$here/home/deleted"
rm home/deleted
chmod 755 confine
start_daemon exec_walled "$here/confine" "$here/calls" "$culprit" daemon -o "$db" --socket "$socket" \
	--flush-every 1s || {
	fail "the daemon starts" "$(cat log)"
	tap_end
}
wait_until 20 at_least 1000 field samples
ctl flush
has_symbols() { at_least 10 samples_of burn_here "$1"; }
worker_state() { # what the image worker has, if there is one at the moment
	local p
	p=$(pgrep -P "$daemon" -f culprit-image-worker | head -1)
	[ -n "$p" ] && grep -E '^(CapEff|CapPrm|CapBnd|CapAmb|Seccomp|NoNewPrivs):' "/proc/$p/status" >worker
}
check "its worker reads other users' private programs" wait_until 20 has_symbols /private
check "and deleted ones" wait_until 20 has_symbols /deleted
check "the kernel has symbols" at_least 1 samples_of '' '[kernel.kallsyms]'
check_same "nothing is unknown" 0 "$(unknown)"
check_match "the filter is there" "/proc/$daemon/status" 'Seccomp:\s*2'
(while :; do worker_state && break; done) &
started+=($!)
looker=$!
for i in 1 2 3 4 5 6 7 8; do
	make_spin "home/more$i"
	background "$here/home/more$i"
	[ -s worker ] && break
	sleep 0.3
done
wait_until 10 test -s worker
kill "$looker" 2>/dev/null
check_match "the worker has no capability" worker 'CapEff:\s*0000000000000000'
check_match "and its own filter" worker 'Seccomp:\s*2'
check "ctl" ctl epoch
stop_daemon
check "it ends with 0" test $? = 0
check "without a complaint" test -z "$(grep -E 'error|warning' log)"
tap_end
