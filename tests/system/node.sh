# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 11
# Stacks through node: V8's builtins, whose callees take arguments off the stack, and code that it makes at run
# time; those that waited for node's table, which an empty cache makes them do, and those that did not.
. "$(dirname "$0")/../sampling.sh"
need_sampling
if ! command -v node >/dev/null; then
	skip 'node' 'it is not installed'
	tap_end
fi
cat >work.js <<'EOF'
function work(n) {
	const a = [];
	for (let i = 0; i < n; i++)
		a.push({ k: i, s: 'x' + i });
	a.sort((x, y) => (x.s < y.s ? -1 : 1));
	return JSON.parse(JSON.stringify(a)).length;
}
let sum = 0;
while (process.cpuUsage().user < 4e6)
	sum += work(20000);
console.log(sum);
EOF
mkdir cache
export CACHE_DIRECTORY=$PWD/cache
for run in first next; do
	record "$run" --no-edges -F 100 -- node work.js
	expect "$run: no stack ends for want of a rule" "$run.db" "from stack_reader import Stacks
s = Stacks('$culprit', '$run.db')
print(f'{s.stacks} stacks, {s.complete} complete, ends of the others: {s.truncated}')
builtins = s.count(lambda path: any(str(f).startswith('Builtins_') for f in s.functions(path)))
assert s.stacks > 100 and builtins > 0.5 * s.samples, builtins
assert s.truncated.get('no unwind rule', 0) <= 0.02 * s.stacks"
done
tap_end
