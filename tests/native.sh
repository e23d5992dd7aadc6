# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# For the scripts that hold our own way through a running program against another's, after tap.sh:
# $native is the program that compares, $n how many places it shall compare, $limit_s how long it may
# take (0: as long as it wants). A script's own tell prints what $native said in the file err.

# same NAME COMMAND...: a case. The command must be long enough.
same() {
	local name=$1
	shift
	if ! command -v "$1" >/dev/null; then
		skip "$name" "there is no $1"
		return
	fi
	# shellcheck disable=SC2154
	if timeout "$limit_s" "$native" "$n" "$@" >out 2>err </dev/null; then
		pass "$name"
	else
		fail "$name" "$(tail -40 err)"
	fi
	tell
}
