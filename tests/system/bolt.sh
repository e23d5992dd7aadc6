# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 1
# A recording of a real program, exported to BOLT: that its optimiser finds the code that ran, takes
# nothing for stale, and that what it makes does what the program did.
. "$(dirname "$0")/../sampling.sh"
need_sampling
bolt=/usr/lib/llvm-16/bin
if [ ! -x $bolt/llvm-bolt ]; then
	skip 'BOLT' 'bolt-16 is not installed'
	tap_end
fi
check 'build with relocations' gcc -O2 -Wl,--build-id,-q -o tree "$root/tests/accuracy/kernels/tree.c"
./tree >want || fail 'the program runs'
# shellcheck disable=SC2016
record run -F 2000 --budget 60 --edges -- bash -c 'for i in {1..4}; do ./tree; done'

# takes NAME DATA: llvm-bolt with a profile; what it says in NAME.say, what it makes in NAME.bolt.
takes() {
	check "$1: llvm-bolt takes it" bash -c "$bolt/llvm-bolt tree -o $1.bolt -data $2 \
		-reorder-blocks=ext-tsp -split-functions >$1.say 2>&1"
	check_match "$1: for the functions that ran" "$1.say" 'INFO: [1-9][0-9]* out of [0-9]+ functions .* non-empty execution profile'
	check_match "$1: whose layout it changes" "$1.say" 'modified layout of [1-9]'
	check "$1: nothing is stale" bash -c "! grep -i 'stale\\|invalid' $1.say"
	check "$1: what it makes does the same" bash -c "./$1.bolt | cmp - want"
}
check_status 'export by address' 0 "$culprit" export -i run.db --image '*/tree' --bolt-preaggregated run.pre
check_match 'from branches that were followed' err '[1-9][0-9]* branch outcomes'
check_status 'perf2bolt takes it' 0 $bolt/perf2bolt -pa -p run.pre -o run.fdata tree
check 'each trace fits the code' bash -c "cat out err | grep 'traces mismatching disassembled function contents: 0 '"
takes addresses run.fdata
check_status 'export by symbol' 0 "$culprit" export -i run.db --image '*/tree' --bolt-fdata run.names
takes names run.names

tap_end
