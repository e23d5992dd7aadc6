# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# timeout: 300
# shares the machine: 13
# What functions took with all that they called is the same in all reports and exports, of a recording with
# stacks of C, the kernel, Python and code made at run time; and there are as many stacks as were asked for.
. "$(dirname "$0")/../sampling.sh"
need_sampling

cat >mixed.py <<'P'
import os, sys
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def copy():
    with open("/dev/zero", "rb", buffering=0) as f:
        for _ in range(20):
            f.read(1 << 20)
def work():
    for _ in range(int(sys.argv[1])):
        fib(24)
        sorted(range(100000), key=str)
        copy()
work()
P
python=$(command -v python3.11 || command -v python3)
agree() {
	local output
	if output=$(python3 "$root/tests/stack_sums.py" "$culprit" "$root/src/exchange" "$1" 2 2>&1); then
		pass "$2"
	else
		fail "$2" "$output"
	fi
	echo "# ${output%%$'\n'*}"
}
# shellcheck disable=SC2086
record part --no-edges -F 1000 -- sh -c "\"$python\" mixed.py 40; dd if=/dev/zero of=/dev/null bs=64 count=1000000"
agree part.db 'reports agree: stacks of some samples'
# Of so many samples a second of a CPU so many have stacks.
check_rate() { # NAME RATE CONDITION
	record rate --no-edges -F 1000 --stack-rate "$2" -- "$python" mixed.py 8 || return
	expect "$1" rate.db "
j = json.loads(subprocess.check_output(['$culprit', 'calls', '-i', 'rate.db', '--json']))
stacks, samples = j['stacks'], j['samples']
print(f'{stacks} stacks of {samples} samples')
assert samples > 100 and ($3), (stacks, samples)"
}
check_rate 'a stack with every sample' all 'stacks >= 0.99 * samples'
agree rate.db 'reports agree: stacks of all samples'
check_rate 'fewer stacks' 50 '0.02 * samples < stacks < 0.1 * samples'
check_rate 'more stacks' 500 '0.3 * samples < stacks < 0.7 * samples'
if command -v node >/dev/null; then
	echo 'let s = 0; for (let k = 0; k < 1500; k++) for (let i = 0; i < 1e6; i++) s = (s + i * k) | 0; console.log(s)' >work.js
	record node --no-edges -F 1000 -- node --perf-basic-prof work.js
	agree node.db 'reports agree: code made at run time'
else
	skip 'reports agree: code made at run time' 'there is no node'
fi
tap_end
