# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# A build of a C project: thousands of processes, most of them short. And a quiet machine.
. "$(dirname "$0")/../sampling.sh"
need_sampling

# configure-like: tiny programs compiled and run by a shell, each by cpp, cc1, as, collect2 and ld.
cat >project.mk <<'MK'
objects := $(foreach i,$(shell seq 150),unit$(i).o)
all: program
program: $(objects)
	cc -o $@ $^
	for i in $$(seq 700); do test "$$(expr $$i + 1)" -gt $$i || exit 1; cat /dev/null; done
%.o: %.c
	@sh -c 'sed s/x/x/ $< | grep -q main || true'
	@cc -O1 -c -o $@ $<
MK
for i in $(seq 150); do
	printf '#include <stdio.h>\n#include <stdlib.h>\nint f%d(int x)\n{\n\treturn printf("%%d", x) + abs(x);\n}\n' "$i" >"unit$i.c"
done
echo 'int main(void) { return 0; }' >>unit1.c
forks() { awk '$1 == "processes" { print $2 }' /proc/stat; }
before=$(forks)
record build -a -F 1000 -- make -s -j3 -f project.mk
echo "$(($(forks) - before))" >forks
expect 'of a build less than 0.5% is unknown' build.db '
forks = int(open("forks").read())
print(f"{forks} processes, {p.samples} samples, {p.unknown} unknown ({100 * p.unknown / p.samples:.4f}%), {p.lost} lost")
assert forks > 2000 and p.samples > 1000
assert p.unknown < 0.005 * p.samples and p.lost == 0
'
record quiet -a -F 1000 --for 5s
expect 'and of a machine left alone less than 0.5% (0.05% over an hour)' quiet.db '
print(f"{p.samples} samples, {p.unknown} unknown ({100 * p.unknown / max(p.samples, 1):.4f}%)")
# One in a few hundred samples may be of a process that was ending when the recording began.
assert p.unknown <= 2 + 0.005 * p.samples
'
tap_end
