# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# Benchmarks print what bench/run makes a table of. Only those are run here that neither sample nor depend on time.
. "$(dirname "$0")/../tap.sh"

names="machine flame"
if command -v llvm-mc-19 >llvm; then
	names="$names machine_blocks"
else
	skip "rows of machine_blocks" "no llvm-mc-19: dev/deps installs it"
fi
mkdir one
for part in bench culprit tests; do ln -s "$build/$part" "one/$part"; done
for name in $names; do
	check_status "bench/run $name runs" 0 "$root/bench/run" one --quick "$name"
	check_match "and prints a table of its rows" out '^what +unit +culprit'
	check "and nothing has failed" bash -c '! grep -q FAILED out'
done
check_status "a benchmark that there is not is named" 1 "$root/bench/run" one --quick frobnicate
check_match "with those that there are" err 'frobnicate.*there are:.* machine'
check_status "a build directory that is none is refused" 2 "$root/bench/run" two --quick machine
check_match "with what to do" err 'two has no culprit: build it first'
check "and nothing is made there" test ! -e two
tap_end
