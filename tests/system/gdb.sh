# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 12
# Stacks of programs with several threads: frame by frame those that gdb finds in each thread at the
# same instruction. At most one in 200 may be otherwise, and one in 10 end where there is no table but
# gdb guesses (just after a thread was made). STACKS=100 compares more.
. "$(dirname "$0")/../sampling.sh"
. "$root/tests/native.sh"
need_sampling
native=$programs/native-gdb
n=${STACKS:-20}
if ! [ -x "$native" ]; then
	skip 'stacks' 'not x86-64'
	tap_end
elif ! gdb -nx -batch -ex 'python print(1)' >/dev/null 2>&1; then
	skip 'stacks' 'no gdb with python: dev/deps installs it'
	tap_end
fi

limit_s=300
tell() { sed -n 's/^native-gdb: /# /p' err; }
# The commands must have threads.
head -c 40000000 /dev/urandom | base64 >text
same 'calls through an inlined function, and by recursion' "$programs/callers" 100
same 'xz' xz -T3 -k -c text
# The file many times: it takes ripgrep a tenth of a second.
same 'ripgrep, in Rust' rg -j4 -c '(a|b)+[0-9]{2,}x?(foo|bar)*.*[qz]' {text,text,text,text,text}{,}{,}{,}{,}
same 'sort' sort --parallel=3 -S 300M text
tap_end
