#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Reports on a calling context tree of some 200,000 nodes, against perf report --children.

The stacks are the same to the last: perf record -g takes them of a program that calls functions by
chance, culprit imports the file. Both reports as they come (what is small is left out), then whole."""
import json
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import measure  # pylint: disable=wrong-import-position

BUILD, TMP, QUICK = measure.arguments()
CULPRIT = os.path.join(BUILD, "culprit")
SECONDS, REPEAT = (1, 1) if QUICK else (3, 3)  # of CPU time
FUNCTIONS = 64
DB, DATA = os.path.join(TMP, "calls.db"), os.path.join(TMP, "calls.data")


def program():
    """Each function calls one of four, 24 deep: 64 * 4^24 contexts."""
    source, path = os.path.join(TMP, "chance.c"), os.path.join(TMP, "chance")
    names = [f"f{i}" for i in range(FUNCTIONS)]
    with open(source, "w", encoding="utf-8") as f:
        f.write("#include <stdlib.h>\n#include <time.h>\nstatic volatile unsigned sink;\n"
                "static unsigned long long s = 88172645463325252;\n"
                "static unsigned chance(void) { s ^= s << 13; s ^= s >> 7; s ^= s << 17; return s >> 20; }\n")
        f.writelines(f"void {name}(int);\n" for name in names)
        f.write(f"static void (*const all[])(int) = {{{', '.join(names)}}};\n")
        for i, name in enumerate(names):
            f.write(f"void {name}(int left) {{ for (int k = 0; k < 200; k++) sink += k * {i + 1};\n"
                    f"if (left) all[chance() % 4 * 16 + {i % 16}](left - 1); sink++; }}\n")
        f.write("int main(int argc, char **argv) { clock_t end = CLOCKS_PER_SEC * atoi(argv[argc - 1]);\n"
                "while (clock() < end) for (int k = 0; k < 2000; k++) { all[chance() % 64](24); sink++; } }\n")
    subprocess.run(["cc", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", path,
                    source], check=True)
    return path


def cpu(argv):
    """CPU seconds of a report, the median of some runs."""
    times = []
    for _ in range(REPEAT):
        with open(os.path.join(TMP, "report"), "wb") as out:
            p = subprocess.Popen(argv, stdout=out, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(p.pid, 0)
            p.returncode = status
        if status:
            sys.exit(f"{argv[:2]} failed")
        times.append(usage.ru_utime + usage.ru_stime)
    return statistics.median(times)


def main():
    subprocess.run(["perf", "record", "-q", "-g", "-F", "10000", "-o", DATA, "--", program(), str(SECONDS)],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run([CULPRIT, "import", "-o", DB, DATA], check=True, stderr=subprocess.DEVNULL)
    text = subprocess.run([CULPRIT, "calls", "-i", DB, "--json"], check=True, stdout=subprocess.PIPE).stdout
    nodes, stacks = text.count(b'"function"'), json.loads(text[:text.index(b'"rows"')].rstrip(b", \n") + b"}")["stacks"]
    perf = ["perf", "report", "--children", "--stdio", "-i", DATA]
    row = [("a report as it comes", ["calls"], perf),
           ("the whole tree", ["calls", "--json"], [*perf, "--percent-limit", "0", "-g", "graph,0"]),
           ("functions with all they called", ["prof", "--inclusive"], [*perf, "-g", "none"])]
    for what, ours, theirs in row:
        measure.row(f"{what}: {ours[0]}", "s of CPU", cpu([CULPRIT, ours[0], "-i", DB, *ours[1:]]), "perf report",
                    cpu(theirs))
    measure.note(f"{nodes} nodes of {stacks} stacks; what the whole tree takes is mostly its printing")


main()
