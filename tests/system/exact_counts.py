# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Holds the counts of native-exact against valgrind's, instruction by instruction.

    exact_counts.py CALLGRIND COUNTS PROGRAM

In .text alone: valgrind does not count linkage table entries. Prints how many were compared, those that differ,
and what share of all that ran was counted.
"""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "accuracy"))
import callgrind  # noqa: E402 (in a folder beside)


def find_text(program):
    sections = subprocess.run(["readelf", "-SW", program], stdout=subprocess.PIPE, check=True).stdout.decode()
    fields = sections.split(" .text ", 1)[1].split()
    return int(fields[1], 16), int(fields[1], 16) + int(fields[3], 16)


def main():
    low, high = find_text(sys.argv[3])
    images = callgrind.Reader(sys.argv[1]).read()
    truth = next(image.counts for path, image in images.items()
                 if os.path.realpath(path) == os.path.realpath(sys.argv[3]))
    truth = {at: counts[0] for at, counts in truth.items() if low <= at < high}
    with open(sys.argv[2], encoding="ascii") as lines:
        counted = {int(at, 16): int(count) for at, count in map(str.split, lines) if low <= int(at, 16) < high}
    differ = [at for at in sorted(counted) if counted[at] != truth.get(at, 0)]
    for at in differ[:10]:
        print(f"{at:#x}: {counted[at]} counted, {truth.get(at, 0)} ran")
    share = sum(truth.get(at, 0) for at in counted) / sum(truth.values())
    print(f"compared {len(counted)} differ {len(differ)} share {100 * share:.2f}%")
    return bool(differ) or share < 0.95


sys.exit(main())
