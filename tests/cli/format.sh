# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# doc/FORMAT.md is true: a reader that was written from that page (format.py) finds in databases
# what was put there, and what the program finds.
. "$(dirname "$0")/../tap.sh"
mkdb=$build/tests/cli/mkdb
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS
decode() {
	check "$1 is as the page says" sh -c 'python3 "$1" "$2" >lines' - "$root/tests/cli/format.py" "$1"
}
# agree DB: sums are the program's, and numbers of lines where no epoch has several files.
agree() {
	"$culprit" db verify "$1" --json >verified.json
	python3 - lines verified.json <<'E'
import collections, json, sys
lines = [line.rstrip("\n").split("\t") for line in open(sys.argv[1])]
verified, count, total = json.load(open(sys.argv[2])), collections.Counter(), collections.Counter()
for line in lines:
    count[line[0]] += 1
    total[line[0]] += int(line[-1])
assert verified["damaged"] == 0
assert total["sample"] == verified["samples"], (total, verified)
assert total["edge"] == verified["passes"], (total, verified)
if verified["epochs"] == 1 and verified["files"] == 1 + count["blob"]:
    assert count["sample"] == verified["rows_stored"] and count["edge"] == verified["edges"], verified
    assert count["stack"] == verified["stacks"] and count["raw"] == verified["raw_records"], verified
    assert count["touch"] == verified["touches"], verified
    assert count["instruction"] == verified["instruction_samples"], verified
E
}

# Numbers at the edges of every code: few and many subjects and edges of an offset, large counts.
cat >make.py <<'E'
import collections, random
random.seed(1)
expected, lines = collections.Counter(), []
images = [("1", "%02x" % i * 20, f"/bin/{i}") for i in range(5)] + [("4", "abcd", "[kernel]")]
sizes = [1, 2, 14, 15, 16, 17, 200, 2**33]
END = 2**64 - 1
wide = lambda: random.choice([random.randrange(64), random.randrange(4096), random.getrandbits(63)])
for epoch in (1000, 2000):
    lines.append(("epoch", epoch, epoch + 9))
    for i in range(3000):
        image, name = random.choice(images), random.choice(["cycles", "misses"])
        at, count = wide(), random.choice(sizes)
        comm = f"comm=c{min(random.randrange(40), random.randrange(40))}"
        lines.append(("sample", *image, name, 7, at, count, comm))
        expected["sample", *image, name, 7, at, comm] += count
    for i in range(3000):
        image = to_image = random.choice(images)
        source, to, passes = random.randrange(50) * 8, wide(), random.choice(sizes)
        if i % 11 == 0:
            source = END
        elif i % 7 == 0:
            to = END
        elif i % 5 == 0:
            to = source
        elif i % 3 == 0:
            to_image = random.choice(images)
        windows = random.randrange(passes) + 1
        event, evidence = random.choice([("windows", 1), ("branches", 2)])
        lines.append(("edge", *image, event, source, to, passes, windows, *to_image))
        expected["edge", *image, event, evidence, source, *to_image, to] += passes
        expected["windows", *image, event, evidence, source, *to_image, to] += windows
    for i in range(1000):
        image, load, place = random.choice(images), random.randrange(20) * 8, wide() >> 24
        count = random.choice(sizes)
        lines.append(("touch", *image, load, place, count))
        expected["touch", *image, load, place] += count
    for i in range(3000):
        image, other, count = random.choice(images), random.choice(images), random.choice(sizes)
        at, comm = random.randrange(40), f"comm=c{random.randrange(3)}"
        fields = random.choice([0, 1, 7, 0x30003, 2**40 - 1, 0xff << 56])
        values = [random.choice([0, 7, 300, 2**32 - 1]) for _ in range(bin(fields).count("1"))]
        if not values:
            continue  # there is no text for none
        form, pair = (random.choice([1, 77]), random.choice([0xffff, 2**32 - 1]), 0, fields), ()
        if i % 5 == 0:
            pair = (*other, random.choice([at, 0, 2**64 - 1]))
        lines.append(("inst", *image, "ibs_op//", 9, at, count, comm, *form,
                      ",".join(map(str, values)), *pair))
        where = ("\t".join(other), pair[-1]) if pair else ("-", 0)
        expected["instruction", *image, "ibs_op//", *form, at, comm, *where, *values] += count
    frames = [(random.choice(images), wide()) for _ in range(60)]
    for i, (image, at) in enumerate(frames):
        lines.append(("frame", f"f{i}", *image, at))
    for i in range(2000):
        stack = [random.randrange(60)]
        while random.randrange(8):
            stack.append((stack[-1] * 7 + random.randrange(3)) % 60)
        comm, count = f"comm=c{random.randrange(3)}", random.choice(sizes)
        lines.append(("stack", "cycles", 7, count, comm, *(f"f{n}" for n in stack)))
        expected["stack", "cycles", 7, comm, *("\t".join(frames[n][0]) + f"+{frames[n][1]}"
                                               for n in stack)] += count
    lines += [("counter", "cycles", 7, "lost.ring", epoch), ("counter", "-", 0, "other", 3),
              ("fact", "kernel", "6.18")]
    expected["counter", "cycles", "lost.ring"] += epoch
    expected["counter", "-", "other"] += 3
    expected["fact", "kernel", "6.18"] = 1
with open("input", "w") as f:
    f.writelines("\t".join(map(str, line)) + "\n" for line in lines)
with open("expected", "w") as f:
    f.writelines("\t".join(map(str, (*k, n))) + "\n" for k, n in expected.items())
E
python3 make.py
"$mkdb" made.db m1 <input || fail "mkdb"
decode made.db
LC_ALL=C sort lines >sorted
LC_ALL=C sort expected >expected.sorted
check "it holds what was put there" cmp sorted expected.sorted
check "as the program says" agree made.db
check_status "compacting it" 0 "$culprit" db compact -i made.db
decode made.db
LC_ALL=C sort lines >sorted
check "changes nothing of that" cmp sorted expected.sorted

printf 'epoch\t1000\t1009\nmany\t1\t80000\nforest\t24000\t60\t1\tabcd\t/bin/forest\n' >many
"$mkdb" many.db m1 <many || fail "mkdb"
decode many.db
check "many chunks are read too" agree many.db

printf 'main;b 3\nmain;c 4\n' >names.folded
python3 "$root/tests/cli/perf_data.py" instructions ibs.data
check_status "an import with raw records" 0 "$culprit" import --raw ibs.data -o raw.db
python3 "$root/tests/cli/foreign.py" mapped mapped.pb
check_status "one of lines" 0 "$culprit" import mapped.pb -o raw.db
check_status "and one of names" 0 "$culprit" import names.folded -o raw.db
decode raw.db
check "they are read too" agree raw.db
check_match "with the names that they told" lines '^told	jit-[0-9a-f]*\.symbols	b	1$'
check_match "and the lines" lines '^told	file-[0-9a-f]*\.told	work work\.c:20	1$'
"$culprit" export -i raw.db --epoch all --raw - >raw.json
check "and registers as export shows them" python3 - lines raw.json <<'E'
import json, sys
lines = [line.rstrip("\n").split("\t") for line in open(sys.argv[1]) if line.startswith("raw\t")]
shown = [json.loads(line) for line in open(sys.argv[2])]
wanted = sorted([r["count"], *sorted(int(str(v), 0) for v in r["registers"].values())] for r in shown)
got = sorted([int(line[-1]), *sorted(int(v) for v in line[-1 - bin(int(line[7])).count("1"):-1])]
             for line in lines)
assert got == wanted and len(got) > 5, (got, wanted)
E
tap_end
