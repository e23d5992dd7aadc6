# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# Branch stacks of a real program's run (branch_stacks.py makes them of its true path) are used as such: calc and cfg
# give how often code ran, although the time goes elsewhere, to a function that divides.
. "$(dirname "$0")/../tap.sh"

cat >app.c <<'E'
static volatile unsigned sink;
__attribute__((noinline)) static unsigned slow(unsigned x) { return 1000003u / (x | 1); }
__attribute__((noinline)) static unsigned quick(unsigned x)
{
	unsigned sum = 0;
	for (unsigned i = 0; i < 20; i++) {
		x = x * 1664525u + 1013904223u;
		if (x >> 30) {
			sum += x;
			__asm__ volatile("");
		} else {
			sum ^= x >> 3;
			__asm__ volatile("" : "+r"(sum));
		}
	}
	return sum;
}
__attribute__((noinline)) void work(void)
{
	for (unsigned i = 0; i < 400; i++) {
		sink += slow(i);
		if (i % 3 == 0)
			sink += quick(i);
	}
}
int main(void)
{
	work();
	return 0;
}
E
if [ "$(uname -m)" != x86_64 ] || ! ${CC:-cc} -O1 -no-pie -o app app.c 2>err; then
	skip "branch stacks" "no x86-64 compiler here"
	tap_end
	exit
fi
check "the program is stepped" python3 -B "$root/tests/cli/branch_stacks.py" app with.data without.data truth.json
for form in with without; do
	check_status "$form stacks: imported" 0 "$culprit" import -o $form.db $form.data
	check_status "... calc" 0 "$culprit" calc -i $form.db --json --cutoff 100 --blocks 0
	mv out $form.calc
	check_status "... cfg" 0 "$culprit" cfg -i $form.db quick --json
	mv out $form.cfg
done

# check_truth NAME CONDITION: of shares, since no event here counts instructions: of all that ran (calc) and of all taken
# branches (cfg), as pairs of truth and estimate.
check_truth() {
	check "$1" python3 -c '
import json, sys
truth = json.load(open("truth.json"))
def shares(pairs):
	n, x = (sum(column) for column in zip(*pairs))
	return [(a / n, b / x) for a, b in pairs]
def read(form):
	calc, cfg = json.load(open(form + ".calc")), json.load(open(form + ".cfg"))
	end = {r["start"]: int(r["end"], 16) for r in cfg["rows"] if r["kind"] == "block"}
	code = [(truth["ran"].get(str(int(i["address"], 16)), 0), i["frequency"]) for f in calc["functions"] for i in f["instructions"]]
	edges = [(n, e["frequency"]) for e in cfg["rows"] if e["kind"] in ("taken", "jump")
		for f, t, n in truth["taken"] if t == int(e["to"], 16) and int(e["from"], 16) <= f < end[e["from"]]]
	return calc["notes"], shares(code), shares(edges)
notes, code, edges = read("with")
_, plain, plain_edges = read("without")
far = lambda pairs: [(n, x) for n, x in pairs if n > 0.001 and abs(x / n - 1) > 0.15]
print(notes, code, edges, plain, plain_edges, sep="\n")
assert '"$2"
}
check_truth "they are told as a processor's records" 'any("branch records of the processor" in n for n in notes)'
check_truth "... and not as windows" 'not any("windows" in n for n in notes)'
check_truth "calc: what ran has its share of it, within 15%" 'len(code) > 40 and not far(code)'
check_truth "cfg: so have taken branches" 'len(edges) > 2 and not far(edges)'
check_truth "without the stacks they have not" 'len(far(plain)) > 10 and far(plain_edges)'
tap_end
