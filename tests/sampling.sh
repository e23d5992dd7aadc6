# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# For the scripts of tests/system, instead of tap.sh: those that sample real programs. The known-answer
# programs are in $programs.
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"
# shellcheck disable=SC2034
programs=$build/tests/system
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS
export PYTHONPATH=$root/tests/system

# Ends the script with one skipped case where nothing can be sampled.
need_sampling() {
	local why
	if [ "$(id -u)" != 0 ]; then
		why='not root'
	elif [ ! -r /sys/kernel/btf/vmlinux ]; then
		why='this kernel has no BTF'
	elif ! grep -q '[[:space:]]bpf_prog_load$' /proc/kallsyms; then
		why='this kernel has no BPF'
	else
		return
	fi
	skip 'sampling' "$why"
	tap_end
}

# record NAME ARGUMENT...: a recording into NAME.db; what it says in NAME.err, what the command
# printed in NAME.out. A failure is a failed case.
record() {
	local name=$1
	shift
	rm -rf "$name.db"
	"$culprit" record -q -o "$name.db" "$@" >"$name.out" 2>"$name.err" && return
	fail "record $name" "exit status $?: $*" "$(cat "$name.err")"
	return 1
}

# expect NAME DB STATEMENTS: a case that passes when the Python statements run to their end. They
# see p, the profile of DB by function (tests/system/profile_reader.py); what they print is shown.
expect() {
	local name=$1 output
	output=$(python3 -c "from profile_reader import *
p = Profile('$culprit', '$2')
$3" 2>&1)
	# shellcheck disable=SC2181
	if [ $? = 0 ]; then
		pass "$name"
		[ -z "$output" ] || printf '%s\n' "$output" | sed 's/^/# /'
	else
		fail "$name" "$output"
	fi
}
