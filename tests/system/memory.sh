# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 30
# With too little memory a recording, also one that counts, ends with what it has or says why it cannot begin; the
# program, where it runs, runs as without.
. "$(dirname "$0")/../sampling.sh"
need_sampling
known=$build/tests/system/known
"$known" plain 1000 >wanted

# within KIB ARGUMENT...: what came of it, with so much memory for each process.
within() {
	(ulimit -v "$1" && "$culprit" record -q -o within.db "${@:2}" -- "$known" plain 1000 >out 2>err)
	local status=$?
	rm -rf within.db
	# The program's own status, with its output; or that it could not be recorded.
	if [ $status = 3 ] && cmp -s wanted out; then return; fi
	[ $status = 1 ] && grep -q '^culprit: ' err && return
	wrong="$wrong $*: status $status, $(tail -n 1 err);"
}
kinds=('')
[ "$(uname -m)" != x86_64 ] || kinds+=(--counts=all)
for kind in "${kinds[@]}"; do
	wrong=
	for kib in $(seq 40000 6000 160000); do
		# shellcheck disable=SC2086
		within "$kib" $kind
	done
	check_same "record $kind in 40 to 160 MB" '' "$wrong"
done
tap_end
