#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""How long comparing sets takes: `stats` over 50 runs of a program of 1000 functions, and `diff` of two
epochs of a whole machine, made of 300 of this machine's own programs and libraries.

Time is CPU time of the report and its worker, the least of five runs, as others use this machine too;
"first" is the run that finds the symbols and keeps them in the database, the others read what was kept.
"""
import glob
import os
import random
import re
import resource
import subprocess
import sys
import time

BUILD = os.path.abspath(sys.argv[1])
CULPRIT, MKDB = os.path.join(BUILD, "culprit"), os.path.join(BUILD, "tests/cli/mkdb")
SETS, FUNCTIONS, IMAGES, ROWS = 50, 1000, 300, 150_000
RUNS = 3 if os.environ.get("CULPRIT_BENCH_QUICK") else 5
draw = random.Random(1)


def build_id(path):
    out = subprocess.run(["readelf", "-nW", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    found = re.search(rb"Build ID: ([0-9a-f]+)", out)
    return found and found.group(1).decode()


def text_section(path):
    out = subprocess.run(["readelf", "-SW", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    found = re.search(rb"\.text +PROGBITS +([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+)", out)
    return found and (int(found.group(1), 16), int(found.group(2), 16))


def make_db(name, lines):
    made = subprocess.Popen([MKDB, name, "m1"], stdin=subprocess.PIPE, text=True)
    made.stdin.writelines(lines)
    made.stdin.close()
    if made.wait():
        sys.exit("mkdb failed")


def sample(image, offset, count):
    identity, path = image
    return f"sample\t1\t{identity}\t{path}\tcycles\t1000\t{offset}\t{max(count, 1)}\tcomm=bench\n"


def vary(mean):
    """About Poisson."""
    return int(draw.gauss(mean, mean ** 0.5) + 0.5)


def make_runs():
    with open("many.c", "w") as source:
        for i in range(FUNCTIONS):
            source.write(f"int f{i}(int x) {{ return x * {i} + (x >> {i % 31}); }}\n")
        source.write("int main(void) { return f0(1); }\n")
    subprocess.run(["cc", "-O1", "-Wl,--build-id", "-o", "many", "many.c"], check=True)
    symbols = subprocess.run(["nm", "many"], check=True, stdout=subprocess.PIPE, text=True).stdout
    places = [int(line.split()[0], 16) for line in symbols.splitlines() if re.search(r" T f\d+$", line)]
    image = build_id("many"), os.path.abspath("many")
    means = [draw.lognormvariate(4, 1.5) for _ in places]

    def lines():
        for run in range(SETS):
            yield f"epoch\t{1700000000 + 100 * run}\t{1700000060 + 100 * run}\n"
            for place, mean in zip(places, means):
                yield sample(image, place, vary(mean))
                yield sample(image, place + 3, vary(mean / 3))
    make_db("runs.db", lines())
    return len(places)


def find_images():
    """Programs and libraries with a build-id, largest text first."""
    found = {}
    for path in glob.glob("/usr/bin/*") + glob.glob("/usr/lib/x86_64-linux-gnu/*.so*"):
        if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) > 60 << 20:
            continue
        identity, text = build_id(path), text_section(path)
        if identity and text:
            found[identity] = text[1], text[0], path
        if len(found) == 2 * IMAGES:
            break
    return [(identity, *rest) for identity, rest in sorted(found.items(), key=lambda i: -i[1][0])[:IMAGES]]


def make_machine():
    images = find_images()
    rows = []
    for number, (identity, size, start, path) in enumerate(images):
        hot = ROWS // len(images) * 2 * (len(images) - number) // len(images) + 1
        for _ in range(hot):
            rows.append(((identity, path), start + draw.randrange(size), draw.lognormvariate(1, 1)))

    def lines():
        for epoch in range(2):
            yield f"epoch\t{1700000000 + 86400 * epoch}\t{1700086400 + 86400 * epoch}\n"
            for image, offset, mean in rows:
                yield sample(image, offset, vary(mean))
    make_db("machine.db", lines())
    return len(images), len(rows)


def run(arguments):
    """CPU seconds with the worker's, wall seconds, rows."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([CULPRIT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stderr.decode(errors="replace"))
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall,
            done.stdout.count(b"\n") - 1)


def measure(what, goal, arguments):
    first = run(arguments)
    rest = [run(arguments) for _ in range(RUNS)]
    best = min(rest)
    print(f"row\t{what}\ts\t{best[0]:.2f}\tfirst\t{first[0]:.2f}\t{goal}")
    print(f"note {what}: {best[2]:,} rows; CPU {best[0]:.2f} to {max(rest)[0]:.2f} s, wall "
          f"{min(r[1] for r in rest):.2f} to {max(r[1] for r in rest):.2f} s; first {first[0]:.2f} s of CPU, "
          f"{first[1]:.2f} s of wall")


def main():
    count = make_runs()
    measure(f"stats over {SETS} sets of {count} functions", "under 1 s",
            ["stats", "-i", "runs.db", "--each", "--csv"])
    images, rows = make_machine()
    measure(f"diff of two epochs of a machine: {images} images, {rows:,} addresses", "under 2 s",
            ["diff", "-i", "machine.db", "20231114", "20231115", "--csv"])


main()
