# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# Which file was mapped where and when: libraries that take each other's place, 10,000 mappings,
# files that are deleted, replaced and rewritten. one and two as in lives.sh.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/sampling.sh"
need_sampling

record libraries -F 2000 -- "$programs/libraries" 100 40000 "$programs/libspots-one.so" "$programs/libspots-two.so"
expect 'libraries that are loaded in turns at one address are told apart' libraries.db '
same = int(open("libraries.out").read())
one, two = p.function("one_first"), p.function("two_second")
print(f"{same} of 100 at the address of the one before; one {one}, two {two}")
assert same >= 90
assert p.function("one_second") == 0 and p.function("two_first") == 0
assert one > 100 and two > 100, p.top()
# Equal times: 4 standard errors of a fair coin, and what one period of 250 ms may add.
assert abs(one - two) < 4 * math.sqrt(one + two) + 0.1 * (one + two)
assert p.unknown == 0
'

many='
even, odd = p.function("page_even"), p.function("page_odd")
n = even + odd
print(f"even {even}, odd {odd}, {p.unknown} unknown")
assert n > 1000, p.top()
# A quarter of the time each way; 4 standard errors: a false alarm in 1 of 16,000 runs.
assert abs(even / n - 0.25) < 4 * math.sqrt(0.25 * 0.75 / n)
assert p.unknown == 0
'
record many -F 2000 -- "$programs/mappings" 10000 200
expect '10,000 mappings of code that are made meanwhile' many.db "$many"
WAIT_FOR=$PWD/begin "$programs/mappings" 10000 200 >mapped &
mapper=$!
until [ -s mapped ]; do sleep 0.02; done
(sleep 1.5; touch begin) &
record before -F 2000 -p $mapper
wait
expect '10,000 mappings of code that were there before' before.db "$many"

cp "$programs/spots-one" doomed
record deleted -F 1000 -- bash -c './doomed 1500000 & rm doomed; wait'
expect 'a program that is deleted while it runs' deleted.db '
assert p.function("one_first") > 50, p.top()
'
cp "$programs/spots-one" program
cp "$programs/spots-two" next
record replaced -F 1000 -- bash -c './program 1500000 & sleep 0.2; mv next program; ./program 1500000; wait'
expect 'a program that is replaced while it runs: both are kept apart' replaced.db '
assert p.function("one_first") > 50 and p.function("two_second") > 50, p.top()
assert p.function("one_second") == 0 and p.function("two_first") == 0
assert len(p.images(".*/program.*")) == 2, p.images(".*/program.*")
'
# The same inode: no exec while it is open for writing, so cat has ended.
record rewritten -F 2000 -- bash -c "for i in {1..12}; do
	cat $programs/spots-bare-one >bare; chmod +x bare; ./bare 100000
	cat $programs/spots-bare-two >bare; ./bare 100000; done"
expect 'a program without build-id that is rewritten in place, again and again' rewritten.db '
one, two = p.function("one_first"), p.function("two_second")
other = p.count(image=".*/bare.*") - one - two
print(f"one {one}, two {two}, elsewhere in the file {other}")
assert p.function("one_second") == 0 and p.function("two_first") == 0, p.top()
assert p.count(image=".*/bare.*") > 100
'
tap_end
