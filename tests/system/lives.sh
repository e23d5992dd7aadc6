# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 20
# Processes that live for milliseconds, that become another program, that take over a number. The
# programs one and two lie at the same addresses: one spins in one_first, two in two_second, so that
# a sample in one_second or two_first was charged to the wrong program.
. "$(dirname "$0")/../sampling.sh"
need_sampling

never_mixed='
one, two = p.function("one_first"), p.function("two_second")
mixed = p.function("one_second") + p.function("two_first")
print(f"{p.samples} samples, {p.unknown} unknown, {p.lost} lost; one {one}, two {two}, mixed {mixed};", *p.json["notes"])
assert p.lost == 0
assert mixed == 0, p.select(function="one_second|two_first")
# Neighbours that map without end take the share of records that all of a user have.
cut = any("not followed" in note or "lost by the kernel" in note for note in p.json["notes"])
'
record short -F 4000 -- "$programs/hatch" 2000 "$programs/spots-dynamic-one" 2000
expect '2000 programs that live for 2 ms are all known' short.db '
work = p.function("one_first", image=".*/spots-dynamic-one")
print(f"{p.samples} samples, {work} in their function, {p.unknown} unknown, {p.lost} lost")
# Each spins for 2 ms of processor time; how long it takes to start depends on the machine, and a virtual
# one has its timer late.
due = 2000 * 0.002 * 4000
assert 0.4 * due < work < 1.1 * due and work > p.samples / 3, p.top()
assert p.unknown < 0.005 * p.samples and p.lost == 0
'
# From a shell, as they are in life: fork, then exec, and the children of children.
export TICKS_A_US=2000
record shell -F 4000 -- bash -c "for i in {1..600}; do $programs/spots-one 2000; $programs/spots-two 2000; done"
expect 'programs of one address range run by a shell are never mixed' shell.db "$never_mixed"'
assert cut or p.unknown < 0.005 * p.samples
assert one > 600 and two > 600
'
# Also of stacks, which come later than samples do.
"$culprit" export -i shell.db --folded shell.folded || fail 'export'
check 'nor is a stack of a program that is not known' bash -c '! grep "^\[unknown\];" shell.folded'
unset TICKS_A_US
record become -F 4000 -- env TICKS_A_US=2000 "$programs/spots-one" 2000 2000 "$programs/spots-two"
expect 'two programs that become each other 2000 times are never mixed' become.db "$never_mixed"'
assert cut or p.unknown < 0.005 * p.samples
assert one > 1000 and two > 1000, p.top()
'
record reuse -F 4000 -- "$programs/hatch" -p 1000 "$programs/spots-one" "$programs/spots-two" 2000
expect 'a thousand processes with one number are never mixed' reuse.db "$never_mixed"'
assert cut or p.unknown < 0.005 * p.samples
assert one > 500 and two > 500, p.top()
'
# In the profile by process, they are different commands of one number.
record reused -F 4000 --per-process -- "$programs/hatch" -p 200 "$programs/spots-one" "$programs/spots-two" 2000
expect 'and are told apart by their command names' reused.db '
pid = int(open("reused.out").read())
by = p.by("--by", "process")
found = {row["comm"] for row in by.rows if row["pid"] == pid}
assert found >= {"spots-one", "spots-two"}, found
'
tap_end
