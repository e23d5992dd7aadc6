#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The time of `prof` over a day's epoch against `perf report` over a day of perf's data.

A recording of each, made one after the other under one load, is repeated until it is as long as a
day at 1 kHz. perf's repeats the same PCs, ours has 24 hours without a row in common, and samples of
more programs: the easier for perf, the harder for us."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import measure  # pylint: disable=wrong-import-position

BUILD, TMP, QUICK = measure.arguments()
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CULPRIT = os.path.join(BUILD, "culprit")
LOAD = os.path.join(BUILD, "bench", "load")
HZ, SECONDS = 20000, 10
DAY = 86400 * 1000 * measure.CPUS // (50 if QUICK else 1)  # samples
HOURS = 24
PERF_PART = 4  # perf gets a quarter of the day: of files over 5 GB it (6.1) reads nothing, in silence

MIX = f"""
{LOAD} 20 6000 40 &
while :; do
    for f in {ROOT}/src/util/*.c; do
        gcc -O2 -D_GNU_SOURCE -I{ROOT}/src -I{BUILD} -c "$f" -o {TMP}/compiled.o
    done
    python3 -c 'import json; [json.loads(json.dumps(list(range(5000)))) for i in range(200)]'
    xz -2 -c {CULPRIT} > {TMP}/packed.xz
done
"""


def output(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, check=True, text=True).stdout


def record_ours():
    db, day = os.path.join(TMP, "db"), os.path.join(TMP, "day")
    with measure.Load(["sh", "-c", MIX]):
        subprocess.run([CULPRIT, "record", "-a", "-q", "-e", measure.EVENT, "-F", str(HZ), "-o", db,
                        "--", "sleep", str(2 * SECONDS)], check=True)
    count = max(1, DAY // (HOURS * HZ * measure.CPUS * 2 * SECONDS))
    samples = int(output(os.path.join(BUILD, "bench", "day-db"), db, day, str(HOURS), str(count)))
    machine = next(e.path for e in os.scandir(db) if e.is_dir())
    shutil.copytree(os.path.join(machine, "images"), os.path.join(day, "day", "images"))
    return day, samples


def record_perf():
    # Of long-lived processes alone: perf's files of others cannot always be read (measure.py).
    recorded, day = os.path.join(TMP, "perf.data"), os.path.join(TMP, "day.data")
    with measure.Load([LOAD, "20", "600", "80"]):
        subprocess.run(["perf", "record", "-a", "-q", "-B", "-e", measure.EVENT, "-F", str(HZ), "-o",
                        recorded, "sleep", str(SECONDS)], check=True, stderr=subprocess.DEVNULL)
    copies = max(1, DAY // PERF_PART // (HZ * measure.CPUS * SECONDS))
    samples = int(output(os.path.join(BUILD, "bench", "day-perf"), recorded, day, str(copies)))
    return day, samples


def main():
    day, ours = record_ours()
    sizes = sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(day) for f in fs)
    cpu, wall, memory = measure.timed(CULPRIT, "prof", "-i", day, "--epoch", "all")
    measure.note(f"prof over {ours / 1e6:.1f} M samples in {sizes / 1e6:.1f} MB: {wall:.2f} s, "
                 f"{memory:.0f} MB")
    shutil.rmtree(day)
    data, theirs = record_perf()
    perf_cpu, perf_wall, perf_memory = measure.timed("perf", "report", "--stdio", "-i", data, "--sort",
                                             "dso,sym", "-g", "none")
    measure.note(f"perf report over {theirs / 1e6:.1f} M samples in "
                 f"{os.path.getsize(data) / 1e6:.0f} MB: {perf_wall:.1f} s, {perf_memory:.0f} MB")
    measure.row(f"report of a day, {ours / 1e6:.0f} M samples (perf's from {theirs / 1e6:.0f} M in "
                "proportion)", "s CPU", cpu, "perf report", perf_cpu * ours / theirs, "0.05 of perf's")
    os.unlink(data)


main()
