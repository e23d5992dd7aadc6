#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""CPU time of the reports on instructions: calc over the functions that hold 99% of a compiler's
samples, summary and stalls over a whole machine's epoch, and calc of one function against perf
annotate of the same one."""
import glob
import json
import os
import resource
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import measure  # pylint: disable=wrong-import-position

BUILD, TMP, QUICK = measure.arguments()
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CULPRIT = os.path.join(BUILD, "culprit")
ROUNDS, REPEAT = (1, 1) if QUICK else (4, 3)
DB, PERF = os.path.join(TMP, "compile.db"), os.path.join(TMP, "perf.data")


def run(argv, **keywords):
    """CPU time of a command and its children in seconds, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=keywords.get("check", True))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, done.stdout


def median_of(argv, **keywords):
    return sorted(run(argv, **keywords)[0] for _ in range(REPEAT))[REPEAT // 2]


def compile_command():
    """Some of our own sources, again and again: cc1 does nearly all of the work."""
    sources = sorted(glob.glob(os.path.join(ROOT, "src", "*", "*.c")),
                     key=os.path.getsize)[-10:] * ROUNDS
    lines = [f"gcc -O2 -c -D_GNU_SOURCE -I{ROOT}/src -I{BUILD}/src -o {TMP}/o {s}" for s in sources]
    return ["sh", "-c", "; ".join(lines) + "; :"]


def record():
    run([CULPRIT, "record", "-a", "-q", "--edges", "-F", "4000", "--budget", "30", "-o", DB, "--",
         *compile_command()])
    run(["perf", "record", "-q", "-a", "-F", "4000", "-e", measure.EVENT, "-o", PERF, "--",
         *compile_command()])


def top_function():
    out = json.loads(run([CULPRIT, "prof", "-i", DB, "--image", "*cc1", "--limit", "1",
                          "--json"])[1])
    return out["samples"], out["rows"][0]["function"]


def hottest_of_perf():
    """perf names code without symbols by address only; what has a name is libc's or the kernel's."""
    text = run(["perf", "report", "-i", PERF, "--stdio", "--sort", "dso,sym"], check=False)[1]
    for line in text.decode(errors="replace").splitlines():
        fields = line.split()
        if len(fields) >= 4 and fields[1].startswith("libc.so") and fields[2] == "[.]":
            return fields[3]
    return None


def main():
    record()
    samples, function = top_function()
    measure.row("calc, functions with 99% of cc1's samples", "s CPU", median_of(
        [CULPRIT, "calc", "-i", DB, "--image", "*cc1", "--cutoff", "99", "--json"]), "-", "-", "<= 5")
    measure.row("summary of a whole machine's epoch", "s CPU",
                median_of([CULPRIT, "summary", "-i", DB]), "-", "-", "<= 10")
    measure.row("stalls of it", "s CPU", median_of([CULPRIT, "stalls", "-i", DB]), "-", "-")
    measure.row("calc of one function of cc1", "s CPU",
                median_of([CULPRIT, "calc", "-i", DB, "--image", "*cc1", function]), "-", "-")
    shared = hottest_of_perf()
    if shared:
        measure.row(f"calc of {shared} of libc", "s CPU",
                    median_of([CULPRIT, "calc", "-i", DB, "--image", "*libc.so*", shared],
                              check=False), "perf annotate",
                    median_of(["perf", "annotate", "-i", PERF, "--stdio", "-s", shared],
                              check=False))
    measure.note(f"{samples} samples; estimates of frequencies are for the whole recording, whatever "
                 "is shown of it")


main()
