# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 29
# Stacks of processes that make it hard: that are gone, or others, or have other libraries by the time
# their stacks are looked at; that rewrite their code; whose stacks or tables lie. Nothing may crash,
# no stack may be another's, and each that ends early says why.
. "$(dirname "$0")/../sampling.sh"
need_sampling
if ! [ -x "$programs/hostile" ]; then
	skip 'hostile stacks' 'not x86-64'
	tap_end
fi

# stacks NAME DB STATEMENTS: as expect, with s, the stacks of the recording.
stacks() {
	expect "$1" "$2" "from stack_reader import Stacks
s = Stacks('$culprit', '$2')
print(f'{s.stacks} stacks, {s.complete} complete, {s.truncated}')
$3"
}

never_mixed='
one, two = s.through("one_first"), s.through("two_second")
assert s.through("one_second") == 0 and s.through("two_first") == 0
mixed = s.count(lambda path: {"one_first", "two_second"} <= set(s.functions(path)))
assert mixed == 0, mixed
'
record become --no-edges -F 1000 -- env TICKS_A_US=2000 "$programs/spots-one" 2000 2000 "$programs/spots-two"
stacks 'programs that become each other have stacks of their own' become.db "$never_mixed"'
of = lambda a, b: s.count(lambda path: f"spots-{a}" in s.images(path) and f"spots-{b}" in s.images(path))
assert of("one", "two") == 0, of("one", "two")
assert one > 40 and two > 40, (one, two)
assert s.complete > 0.95 * s.stacks
'
record loaded --no-edges -F 1000 -- "$programs/libraries" 1000 1500 "$programs/libspots-one.so" "$programs/libspots-two.so"
stacks 'libraries that come and go at one address are never mixed' loaded.db "$never_mixed"'
assert one > 20 and two > 60, (one, two)
under = s.count(lambda path: "one_first" in s.functions(path) or "two_second" in s.functions(path))
from_main = s.through("main", "one_first") + s.through("main", "two_second")
assert from_main > 0.95 * under, (from_main, under)
'
record short --no-edges -F 1000 -- "$programs/hatch" 1000 "$programs/spots-dynamic-one" 2000
stacks 'programs of 2 ms have whole stacks' short.db '
found = s.through("one_first")
whole = s.count(lambda path: s.functions(path)[0] == "_start" and "one_first" in s.functions(path))
print(f"{found} in their function, {whole} from _start")
assert found > 40 and whole > 0.95 * found
'

# lie KIND REASON: its stacks end where the lie is, for that reason, and go nowhere else.
lie() {
	record "$1" --no-edges -F 100 -- "$programs/hostile" "$1" 1.2 || return
	stacks "$2: $1" "$1.db" "
function = '$3'
found = s.through(function)
ends = s.truncated.get('$2', 0) * s.samples / s.stacks
past = s.count(lambda path: function in s.functions(path) and
	       s.functions(path)[0] != '[truncated: $2]' and s.functions(path).index(function) != 1)
print(f'{found} in {function}, {ends} for this reason')
assert found > 30 and ends >= 0.95 * found and past <= 0.05 * found, (found, ends, past)
assert found > 0.8 * s.samples"
}
lie loop 'bad frame address' lies_loop
lie far 'stack page not resident' lies_far
lie kernel 'stack page not resident' lies_kernel
lie data 'return address outside code' lies_data
lie patch 'return address outside code' patched

record rewrite --no-edges -F 100 -- "$programs/hostile" rewrite 1.2
stacks 'code that is rewritten ends stacks, or has its caller' rewrite.db '
inner = lambda path: s.functions(path)[-1] == "[no symbol]" or "jit" in (path[-1]["build_id"] or "")
jit = s.count(inner)
whole = s.count(lambda path: inner(path) and s.functions(path)[-3:-1] == ["main", "rewrite"])
odd = s.count(lambda path: inner(path) and "rewrite" not in s.functions(path) and len(path) > 2)
print(f"{jit} in such code, {whole} with its caller, {odd} odd")
assert jit > 30 and whole > 0.3 * jit and odd == 0
'

# python KIND STATEMENTS: a program that only looks like an interpreter of Python. Whatever it says of
# its frames, those of C are as they are.
python() {
	record "python-$1" --no-edges -F 100 -- "$programs/hostile" "python-$1" 1.2 || return
	stacks "frames of Python that are none: $1" "python-$1.db" "
scripts = lambda path: [n['function'] for n in path if (n['build_id'] or '').startswith('script-')]
fake = [scripts(path) for path, count in s.paths if scripts(path)]
known = lambda path: scripts(path) or 'evaluate' in s.functions(path)
found = s.count(known)
print(f'{found} of the evaluator, {len(fake)} ways of its frames')
assert found > 20 and s.count(lambda path: known(path) and 'pretend' not in s.functions(path)
			      and s.json['gapped'] == 0) <= 0.05 * found
$2"
}
python loop 'assert fake and all(set(names) == {"named"} and 8 <= len(names) < 40 for names in fake), fake'
python wild 'assert fake and all(len(names) <= 10 for names in fake), fake'
python huge 'assert fake and all(len(names) == 4 for names in fake), fake'
python escape 'assert fake and all(names == ["\x1b[2J\n<b>name</b>"] * 4 for names in fake), fake'
python long 'assert s.truncated["too deep"] > 10'
"$culprit" calls -i python-escape.db >table
check 'their names are escaped' bash -c '! LC_ALL=C grep -q "[[:cntrl:]]" table && grep -q "name</b>" table'
tap_end
