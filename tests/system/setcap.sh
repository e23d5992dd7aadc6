# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# An unprivileged user whose culprit has capabilities of its file samples the machine, and reads no
# file by them that is not his to read.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/daemon.sh"

if ! setcap cap_bpf+ep "$culprit" 2>/dev/null; then
	skip "capabilities of the program's file" "there are none here"
	tap_end
fi
user=64124
mkdir home own
for name in private deleted shared; do make_spin home/$name; done
chown -R root:root home
chmod 700 home/private home/deleted
chmod 711 home
chown $user:$user own
spinners=()
for name in private deleted shared; do
	background "$here/home/$name"
	spinners+=("$pid")
done
wait_until 10 runs "$pid" "$here/home/shared"
rm home/deleted

# of_threads PID FIELD: the sets of all its threads, each once.
of_threads() { sed -n "s/^$2:\t0*//p" "/proc/$1/task/"*/status | sort -u; }
mask() { python3 -c 'import sys; print("%x" % sum(1 << int(n) for n in sys.argv[1:]))' "$@"; }
samples_somebody() { find "/proc/$1/fd" -lname '*perf_event*' 2>/dev/null | grep -q .; }
# ran PID TICKS: has it had so many hundredths of a second of processor time?
ran() { [ "$(sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }')" -ge "$2" ]; }
# All spin for a second of processor time each, however long others keep them from it.
let_spin() {
	local spinner until
	for spinner in "${spinners[@]}"; do
		until=$(sed 's/.*) //' "/proc/$spinner/stat" | awk '{ print $12 + $13 + 100 }')
		wait_until 120 ran "$spinner" "$until"
	done
}
in_use=$(mask 38 39 34)
permitted=$(mask 38 39 34 19)
db=own/db

for level in 4 2; do
	echo $level >$paranoid
	# All that setcap could give, and more than doctor names.
	setcap cap_perfmon,cap_bpf,cap_syslog,cap_sys_ptrace,cap_dac_read_search,cap_checkpoint_restore,cap_sys_admin,cap_dac_override+ep "$culprit"
	rm -rf own/db
	background exec_given "$culprit" record -a -q -F 1000 --for 600s -o own/db 2>log
	recorder=$pid
	check "at perf_event_paranoid $level it samples" wait_until 30 grep -q 'cpu-clock\|cycles' log
	check_same "permitted are those that open no file" "$permitted" "$(of_threads "$recorder" CapPrm)"
	check_same "and CAP_SYS_PTRACE is not in use" "$in_use" "$(of_threads "$recorder" CapEff)"
	wait_until 60 samples_somebody "$recorder"
	let_spin
	kill -INT "$recorder"
	wait "$recorder"
	check "a program that all may read has symbols" test "$(samples_of burn_here /home/shared)" -gt 10
	check "one of root's own has samples" test "$(samples_of '' /home/private)" -gt 10
	check_same "and no symbols" 0 "$(samples_of burn_here /home/private)"
	check "one that is deleted has samples" test "$(samples_of '' /home/deleted)" -gt 10
	check_same "and no symbols" 0 "$(samples_of burn_here /home/deleted)"
	check "the kernel has names" test "$(samples_of '' '[kernel.kallsyms]')" -gt 0
	check "the database is the user's" test "$(stat -c %u own/db)" = $user
done
tap_end
