# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 26
# Which file was mapped where and when: libraries that take each other's place, 10,000 mappings,
# files that are deleted, replaced and rewritten. one and two as in lives.sh.
. "$(dirname "$0")/../sampling.sh"
need_sampling

# The same function is hot in both, at the same address.
record libraries -F 2000 -- "$programs/libraries" 400 5000 "$programs/libspots-one.so" "$programs/libspots-three.so"
expect 'libraries that are loaded in turns at one address are told apart' libraries.db '
same, spent_one, spent_three = map(int, open("libraries.out").read().split())
one, three = p.function("one_first"), p.function("three_first")
n, truth = one + three, spent_one / (spent_one + spent_three)
print(f"{same} of 400 at the address of the one before; one {100 * one / n:.2f}%, in truth {100 * truth:.2f}%")
assert same >= 390 and n > 1000, p.top()
# 5 standard errors: no false alarm in a million runs.
assert abs(one / n - truth) < 5 * math.sqrt(truth * (1 - truth) / n)
assert p.unknown == 0
'

many='
spent_even, spent_odd = map(int, open(p.db.replace(".db", ".out")).read().split()[-2:])
even, odd = p.function("page_even"), p.function("page_odd")
n, truth = even + odd, spent_even / (spent_even + spent_odd)
print(f"even {100 * even / n:.2f}%, in truth {100 * truth:.2f}%, {p.unknown} unknown")
assert n > 1000, p.top()
# 5 standard errors: no false alarm in a million runs.
assert abs(even / n - truth) < 5 * math.sqrt(truth * (1 - truth) / n)
assert p.unknown == 0
'
record many -F 2000 -- "$programs/mappings" 10000 200
expect '10,000 mappings of code that are made meanwhile' many.db "$many"
WAIT_FOR=$PWD/begin "$programs/mappings" 10000 200 >waiting &
mapper=$!
until [ -s waiting ]; do sleep 0.02; done
# A recording's command runs from when it samples, and here for as long as the process does.
# shellcheck disable=SC2016
record before -F 2000 -p $mapper -- sh -c 'touch begin; while kill -0 "$1" 2>/dev/null; do sleep 0.05; done' - $mapper
wait
cp waiting before.out
expect '10,000 mappings of code that were there before' before.db "$many"

cp "$programs/spots-one" doomed
record deleted -F 1000 -- bash -c './doomed 1500000 & await_exec $! "$PWD/doomed"; rm doomed; wait'
expect 'a program that is deleted while it runs' deleted.db '
assert p.function("one_first") > 50, p.top()
'
check "and its instructions are still shown" \
	sh -c '"$1" list -i deleted.db --asm one_first | grep -Eq "^ +[0-9]+ +[0-9.]+ .* 0x[0-9a-f]+ +([0-9]+ +)?[a-z]"' - "$culprit"
# One that has no samples of its own, as it only calls, has names too when it is gone.
cat >hot.c <<'C'
int hot(long n)
{
	volatile long i;
	for (i = 0; i < n; i++)
		;
	return (int)i;
}
C
cat >thin.c <<'C'
int hot(long n);
__attribute__((noinline)) int thin_outer(void)
{
	return hot(1000000000) + 1;
}
int main(void)
{
	return thin_outer() == 0;
}
C
gcc -O1 -shared -fPIC hot.c -o libhot.so && gcc -O1 thin.c -o thin -L. -lhot -Wl,-rpath,"$PWD" || fail "gcc"
record thin -F 500 --stacks -- bash -c './thin; mv thin gone'
mv gone thin.was
expect 'a caller without samples of its own that is gone has its names' thin.db '
import json, subprocess
tree = json.loads(subprocess.check_output([p.culprit, "calls", "-i", p.db, "--json", "--callers", "hot"]))
def names(rows):
    return [n for r in rows for n in [r.get("function"), *names(r.get("children", []))]]
assert p.function("hot") > 50, p.top()
assert p.count(image=".*/thin") < 5, p.images(".*")
assert "thin_outer" in names(tree["rows"]), names(tree["rows"])
'
cp "$programs/spots-one" program
cp "$programs/spots-two" next
record replaced -F 1000 -- bash -c './program 1500000 & await_exec $! "$PWD/program"; sleep 0.2; mv next program; ./program 1500000; wait'
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
# A change of its mode gives a file that was in a lower layer a number of its own in the upper one.
if mkdir overlay && mount -t tmpfs none overlay && mkdir overlay/{lower,upper,work,top} &&
	cp "$programs/spots-bare-one" overlay/lower/copied &&
	mount -t overlay -o "lowerdir=$PWD/overlay/lower,upperdir=$PWD/overlay/upper,workdir=$PWD/overlay/work" \
		none overlay/top 2>overlay.err; then
	chmod 700 overlay/top/copied
	record copied -F 1000 -- overlay/top/copied 1500000
	expect 'a program that an overlay file system copied up' copied.db '
assert p.function("one_first") > 50, p.top()
'
	overlay/top/copied 600000000 &
	await_exec $! "$PWD/overlay/top/copied"
	record mapped -F 1000 --for 1.5s -p $!
	kill $!
	wait $!
	expect 'and that was running before' mapped.db '
assert p.function("one_first") > 50, p.top()
'
	# Not at once: somebody else's profiler may hold what is in it.
	umount -l overlay/top
else
	skip 'a program on an overlay file system' "$(cat overlay.err)"
fi
umount -l overlay
tap_end
