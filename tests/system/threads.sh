# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 8
# Threads are told apart by their names, in samples and in stacks: shares against the CPU time that each
# thread really had. A case fails by chance less than once in 10,000 runs (4 standard errors of a share).
. "$(dirname "$0")/../sampling.sh"
need_sampling

record named -F 1000 -- "$programs/named" 300 alpha 1800 "be	ta" 900
expect 'each name has its share of the CPU time' named.db '
took = dict(line.rsplit(" ", 1) for line in open("named.out"))
took = {name: int(ns) for name, ns in took.items()}
rows = {(row["thread"].replace("\\t", "\t"), row["comm"]): row["samples"] for row in p.by("--by", "thread").rows}
total, ns = sum(rows[name, "named"] for name in took), sum(took.values())
assert total > 500
for name in took:
    share, wanted = rows[name, "named"] / total, took[name] / ns
    print(f"{name!r}: {100 * share:.1f}% of the samples, {100 * wanted:.1f}% of the time")
    assert abs(share - wanted) < 4 * math.sqrt(wanted * (1 - wanted) / total) + 0.005
'
expect 'the name selects, and the main thread goes by the command' named.db '
rows = {row["thread"]: row["samples"] for row in p.by("--by", "thread").rows if row["comm"] == "named"}
for name in ("alpha", "named"):
    assert p.by("--subject", "thread=" + name).json["samples"] and \
        sum(row["samples"] for row in p.by("--subject", "thread=" + name, "--subject", "comm=named").rows) == rows[name]
'
expect 'stacks too are apart by name' named.db 'from stack_reader import Stacks
s = Stacks(p.culprit, "named.db", "--by", "thread")
roots = {node["subject"]: node["total"] for node in s.json["rows"]}
print(roots)
alpha = roots["comm=named thread=alpha"]
assert abs(alpha / sum(roots.values()) - 0.6) < 4 * math.sqrt(0.24 / s.stacks) + 0.01, s.stacks
'

record many -F 1000 -- "$programs/named" many 100
expect 'more names than there is room for cost their names alone' many.db '
rows = p.by("--by", "thread").select(comm="named")
names = [row["thread"] for row in rows]
notes = [int(note.split()[0]) for note in p.json["notes"] if "not the thread" in note]
of_process = sum(row["samples"] for row in rows if row["thread"] == "named")
print(len(names), "names,", notes, "samples without")
assert 40 <= len(names) <= 65 and len(notes) == 1
assert notes[0] <= of_process and p.lost == 0
'

if command -v perf >/dev/null && timeout 200 perf record -q -o perf.data -F 1000 -g -- "$programs/named" 300 alpha 900 >perf.out 2>&1 &&
	"$culprit" import -o perf.db perf.data 2>import.err; then
	expect 'the same of an import of perf.data' perf.db '
rows = {(row["thread"], row["comm"]): row["samples"] for row in p.by("--by", "thread").rows}
alpha, main = rows["alpha", "named"], rows["named", "named"]
text = subprocess.run(["perf", "report", "-i", "perf.data", "--stdio", "--no-children", "-g", "none",
                       "-s", "comm", "-F", "sample,comm"], stdout=subprocess.PIPE,
                      stderr=subprocess.DEVNULL, text=True).stdout
by_perf = {m[2]: int(m[1]) for m in re.finditer(r"^ *(\d+) +(\S+) *$", text, re.M)}
print(by_perf, alpha, main)
assert by_perf["alpha"] == alpha and by_perf["named"] == main
'
else
	skip 'an import of perf.data' 'perf does not record here'
fi

tap_end
