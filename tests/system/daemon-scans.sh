# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# Our own programs run in the kernel too, and others', which were loaded before: a sample in one of them is no reason to
# read all of the kernel's names.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/daemon.sh"
# Names in brackets: modules, but for BPF programs and trampolines of the kernel's tracing.
if grep '\]$' /proc/kallsyms | grep -qv '\[bpf\]$\|\[__builtin__'; then
	skip "names of the kernel" "a sample in a module is such a reason, and there are some"
	tap_end
fi
compile forks <<'C'
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	for (;;) {
		pid_t p = vfork();
		if (!p)
			_exit(0);
		waitpid(p, 0, 0);
	}
}
C
background "$here/forks"
# Another profiler, of which only a scan of all names would tell; its program on ends of processes we do not have.
background "$culprit" record -q -F 10 --budget 100 --no-stacks -o "$here/other.db" -p "$pid"
check "another's programs are there" wait_until 20 grep -q '_on_free.*\[bpf\]$' /proc/kallsyms
start_daemon "$culprit" daemon -o "$db" --socket "$socket" --flush-every 1h -F 5000
check "a cost that nobody asked for is not said to be 0" test "$(field interrupt_ns)" != 0
sampled_in() {
	ctl flush >/dev/null
	"$culprit" prof -i "$db" --epoch all --by image --csv 2>/dev/null | grep -q "bpf_prog_[0-9a-f]*_$1"
}
check "a program that forks is sampled in our program on forks" wait_until 20 sampled_in on_fork
check "and in another's on ends, which is found by its address" wait_until 60 sampled_in on_free
check "no names of the kernel were read for it" test "$(field kernel_scans)" = 0
check "the kernel was asked what is there" test "$(field kernel_asked)" -ge 1
tap_end
