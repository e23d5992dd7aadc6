# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# For the test scripts of tests/cli and tests/system: `. "$(dirname "$0")/../tap.sh"` first, then
# cases, then `tap_end` last. The build directory is in $build, the program in $culprit; the current
# directory is a temporary one that disappears with the test.
set -u
build=${1:?usage: $0 BUILD}
# shellcheck disable=SC2034
culprit=$build/culprit
# shellcheck disable=SC2034
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tap_count=0
tap_failures=0
tap_scratch=$(mktemp -d)
# For scripts that have a trap of their own, to be called at its end.
tap_clean() { rm -rf --one-file-system "$tap_scratch"; }
trap tap_clean EXIT
cd "$tap_scratch" || exit 1

# pass NAME / fail NAME [DETAIL...]: one case each.
pass() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1"
}

fail() {
	tap_count=$((tap_count + 1))
	tap_failures=$((tap_failures + 1))
	echo "not ok $tap_count - $1"
	shift
	[ $# = 0 ] || printf '%s\n' "$@" | sed 's/^/# /'
}

# skip NAME REASON: a case that this machine cannot run.
skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

# check NAME COMMAND...: passes when the command exits with 0; shows its output when not.
check() {
	local name=$1 output status
	shift
	output=$("$@" 2>&1)
	status=$?
	if [ $status = 0 ]; then pass "$name"; else fail "$name" "exit status $status: $*" "$output"; fi
}

# check_status NAME STATUS COMMAND...: passes when the command exits with just that status. Leaves
# what it printed in the files out and err.
check_status() {
	local name=$1 wanted=$2 status
	shift 2
	"$@" >out 2>err
	status=$?
	if [ $status = "$wanted" ]; then
		pass "$name"
	else
		fail "$name" "exit status $status, not $wanted: $*" "$(head -c 2000 out)" "$(head -c 2000 err)"
	fi
}

# check_same NAME WANTED GOT: passes when both texts are the same.
check_same() {
	if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "wanted:" "$2" "got:" "$3"; fi
}

# check_match NAME FILE REGEX: passes when a line of the file matches.
check_match() {
	if grep -Eq -- "$3" "$2"; then
		pass "$1"
	else
		fail "$1" "no line of $2 matches: $3" "$(head -c 2000 "$2")"
	fi
}

# check_refused NAME STATUS REGEX COMMAND...: passes when the command exits with that status, prints
# nothing, and says why in one line that matches.
check_refused() {
	check_status "$1" "$2" "${@:4}"
	check_match "$1: message" err "$3"
	check "$1: in one line, nothing on stdout" test "$(wc -l <err)" = 1 -a ! -s out
}

# await_exec PID PROGRAM: until the process has become that program, or is gone.
await_exec() {
	until [ "$(readlink "/proc/$1/exe")" = "$2" ] || ! [ -e "/proc/$1" ]; do sleep 0.02; done
}
export -f await_exec

# await_cpu PID HUNDREDTHS: until the process has had so much more processor time (of a second), or is
# gone. What is sampled meanwhile does not depend on what else the machine does.
await_cpu() {
	local had
	had=$(awk '{ print $14 + $15 }' "/proc/$1/stat" 2>/dev/null) || return 0
	until [ "$(awk '{ print $14 + $15 }' "/proc/$1/stat" 2>/dev/null || echo 1000000)" -ge $((had + $2)) ]; do
		sleep 0.05
	done
}

tap_end() {
	echo "1..$tap_count"
	[ $tap_failures = 0 ]
	exit
}
