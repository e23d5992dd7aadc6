# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# timeout: 900
# shares the machine: 3
# One user's Python that has new functions without end keeps no other's from being named.
. "$(dirname "$0")/../sampling.sh"
need_sampling
if ! [ -x "$build/tests/system/native-stack" ] || [ "$(id -u)" != 0 ]; then
	skip 'a crowd of names' 'not x86-64, or not root'
	tap_end
fi
if ! python3 -c 'import sys
sys.exit(not 8 <= sys.version_info.minor <= 13)' 2>/dev/null; then
	skip 'a crowd of names' 'no python3 whose frames are known'
	tap_end
fi

# Thousands of functions, each with a name of its own, that call one another; after each round they are others.
cat >flood.py <<'EOF'
import os, sys, time, types
os.setuid(65531)
full = hasattr(os.fsdecode.__code__, 'co_qualname')
sys.setrecursionlimit(9000)
rest = []
def link():
    if rest:
        rest.pop()()
    else:
        end = time.process_time() + 0.004
        while time.process_time() < end:
            pass
number = 0
while True:
    for i in range(4000):
        number += 1
        name = 'flood_%d_' % number + 'x' * 200
        names = {'co_name': name, **({'co_qualname': name} if full else {})}
        rest.append(types.FunctionType(link.__code__.replace(**names), globals()))
    link()
EOF
# Fresh functions too, as any program has that does one thing after the other.
cat >steady.py <<'EOF'
import os, time, types
os.setuid(65532)
full = hasattr(os.fsdecode.__code__, 'co_qualname')
def work():
    end = time.process_time() + 0.006
    while time.process_time() < end:
        pass
for number in range(400):
    name = 'steady_%d' % number
    names = {'co_name': name, **({'co_qualname': name} if full else {})}
    types.FunctionType(work.__code__.replace(**names), globals())()
EOF
cat >both.sh <<'EOF'
python3 -S flood.py &
flood=$!
python3 -S steady.py
kill "$flood"
EOF
record crowd --no-edges -F 400 --stack-rate 400 -- bash both.sh
expect 'whose functions are many has no names, and no other' crowd.db "from stack_reader import Stacks
s = Stacks('$culprit', 'crowd.db')
script = lambda path: any((n['image'] or '').endswith('steady.py') for n in path)
names = lambda path: [n['function'] for n in path]
named = s.count(lambda path: any(n.startswith('steady_') for n in names(path)))
ours = s.count(lambda path: '<module>' in names(path) and script(path))
print(f'{named} of {ours} samples are in functions with a name')
assert ours > 100 and named > 0.9 * ours"
"$culprit" prof -i crowd.db >prof.txt 2>&1
check_match 'and that is told' prof.txt 'frames? of Python in stacks without a name'
tap_end
