#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Bytes per million samples, memory of the daemon, and the time of a report, against perf's, over a
mixed load: compilers, an interpreter, a database, a compressor and twenty long-lived processes.

An hour is stood in for by as many samples at a faster rate, with as many flushes; it sees less
variety of work than an hour would, which flatters both sides of a ratio."""
import glob
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import measure  # pylint: disable=wrong-import-position

BUILD, TMP, QUICK = measure.arguments()
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CULPRIT = os.path.join(BUILD, "culprit")
LOAD = os.path.join(BUILD, "bench", "load")
HZ = 20000
SECONDS = 12 if QUICK else 90
FLUSHES = 6  # an hour's, at one in ten minutes
PERF_SECONDS = (1, 4) if QUICK else (3, 12)

MIX = f"""
cd {TMP}
{LOAD} 20 6000 40 &
while :; do
    for f in {ROOT}/src/util/*.c; do
        gcc -O2 -D_GNU_SOURCE -I{ROOT}/src -I{BUILD} -c "$f" -o compiled.o
    done
    python3 -c 'import json; [json.loads(json.dumps(list(range(5000)))) for i in range(200)]'
    sqlite3 :memory: "create table t(a, b); with recursive c(x) as (select 1 union all select
        x + 1 from c limit 200000) insert into t select x, x * 7 % 1000 from c;
        select b, count(*), sum(a) from t group by b order by 3 desc limit 3;"
    xz -2 -c {CULPRIT} > packed.xz
done
"""


def ask(socket, request):
    answer = subprocess.run([CULPRIT, "ctl", "--json", "--socket", socket, request],
                            stdout=subprocess.PIPE, check=True)
    return json.loads(answer.stdout) if answer.stdout.strip() else {}


def segment_bytes(db):
    """Of all epochs, whether compacted or not."""
    return sum(os.path.getsize(p) for p in glob.glob(os.path.join(db, "*", "*Z", "*")))


def image_bytes(db):
    return sum(os.path.getsize(p) for p in glob.glob(os.path.join(db, "*", "images", "*")))


class Daemon:
    """culprit daemon on a database of its own; stopped, so compacted, at the end of the block."""

    def __init__(self):
        self.db, self.socket = os.path.join(TMP, "db"), os.path.join(TMP, "control")

    def __enter__(self):
        with open(self.db + ".log", "wb") as log:
            self.process = subprocess.Popen(
                [CULPRIT, "daemon", "-e", measure.EVENT, "-F", str(HZ), "-o", self.db, "--socket",
                 self.socket, "--flush-every", "1h"], stdout=log, stderr=log)
        while not os.path.exists(self.socket):
            if self.process.poll() is not None:
                with open(self.db + ".log", encoding="utf-8") as f:
                    sys.exit("the daemon ended: " + f.read())
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def fill(daemon):
    """Points (samples, bytes of segments written so far)."""
    points = []
    for _ in range(FLUSHES):
        time.sleep(SECONDS / FLUSHES)
        ask(daemon.socket, "flush")
        points.append((ask(daemon.socket, "status")["samples"], segment_bytes(daemon.db)))
    return points


def resident_kb(daemon):
    with measure.Load([LOAD, "300", "600", "20"]):
        time.sleep(3)
        ask(daemon.socket, "flush")
        found = [measure.memory_kb(daemon.process.pid) for _ in range(5) if not time.sleep(1)]
        peak = re.search(r"VmHWM:\s*(\d+)", open(f"/proc/{daemon.process.pid}/status",
                                                 encoding="ascii").read()).group(1)
    return statistics.median(found), int(peak)


def perf_record(name, seconds, options=(), must_read=False):
    """The file, its bytes, and samples in it."""
    path = os.path.join(TMP, name)
    for _ in range(5):
        recorded = subprocess.run(
            ["perf", "record", "-a", "-q", "-B", "-e", measure.EVENT, "-F", str(HZ), *options, "-o",
             path, "sleep", str(seconds)], check=False, stderr=subprocess.DEVNULL)
        read = subprocess.run(["perf", "report", "--stdio", "-i", path, "--sort", "comm"], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if recorded.returncode == 0 and (not must_read or read.returncode == 0):
            break
    else:
        measure.note(f"perf crashed five times out of five ({seconds} s): {measure.PERF_CRASHES}")
    return path, os.path.getsize(path), HZ * measure.CPUS * seconds


def command_seconds(argv, repeat):
    """CPU time of a command and its children, and wall time: medians."""
    cpu, wall = [], []
    for _ in range(repeat):
        start = time.monotonic()
        p = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = status
        if status:
            measure.note(f"{argv[0]} {argv[1]} failed")
        cpu.append(usage.ru_utime + usage.ru_stime)
        wall.append(time.monotonic() - start)
    return statistics.median(cpu), statistics.median(wall)


def show_bytes(points, compacted, images, perf, packed):
    samples, written = points[-1]
    hour_goal = "0.001 of perf's"
    for other, (_, size, taken) in (("perf", perf), ("perf -z", packed)):
        measure.row(f"bytes per 1 M samples, {samples / 1e6:.1f} M samples, {FLUSHES} flushes", "bytes",
                    written / samples * 1e6, other, size / taken * 1e6, hour_goal)
        measure.row("the same, after compaction", "bytes", compacted / samples * 1e6, other,
                    size / taken * 1e6, hour_goal)
    measure.note("bytes written by each flush per 1 M of its samples: " + ", ".join(
        f"{(b - b0) / (s - s0) * 1e6:.0f}" for (s0, b0), (s, b) in zip([(0, 0)] + points, points)))
    measure.note(f"symbols of images, written once for each: {images} bytes, not in the above")
    # The compacted size follows the number of distinct PCs, which grows as a power of samples.
    if len(points) > 2 and points[0][0] < samples:
        power = math.log(written / points[0][1]) / math.log(samples / points[0][0])
        measure.note(f"bytes written grow as samples to the power {power:.2f} over these flushes")


def show_reports(db, samples, perfs):
    ours, ours_wall = command_seconds([CULPRIT, "prof", "-i", db, "--epoch", "all"], 5)
    theirs = []
    for path, _, taken in perfs:
        cpu, wall = command_seconds(["perf", "report", "--stdio", "-i", path, "--sort", "dso,sym",
                                     "-g", "none"], 1 if QUICK else 3)
        theirs.append((taken, cpu, wall))
        measure.note(f"perf report of {taken / 1e6:.2f} M samples: {cpu:.2f} s of CPU, {wall:.2f} s")
    (s1, c1, _), (s2, c2, _) = theirs[0], theirs[-1]
    each = max((c2 - c1) / (s2 - s1), 0)
    line = c2 + each * (samples - s2)
    measure.note(f"culprit prof of {samples / 1e6:.2f} M samples: {ours:.3f} s of CPU, "
                 f"{ours_wall:.3f} s in all")
    measure.row(f"report of {samples / 1e6:.1f} M samples (perf's from {s1 / 1e6:.2f} and "
                f"{s2 / 1e6:.2f} M by a straight line)", "s CPU", ours, "perf report", line,
                "0.05 of perf's")
    measure.row(f"report, perf's of {s2 / 1e6:.2f} M samples, ours of {samples / 1e6:.1f} M", "s CPU",
                ours, "perf report", c2, "0.05 of perf's")


def main():
    with measure.Load(["sh", "-c", MIX]):
        with Daemon() as daemon:
            points = fill(daemon)
            resident, peak = resident_kb(daemon)
        compacted = segment_bytes(daemon.db)
        images = image_bytes(daemon.db)
        mixed = perf_record("perf.data", PERF_SECONDS[0])
        packed = perf_record("perf-z.data", PERF_SECONDS[0], ["-z"])
    # To be read, so of long-lived processes alone: the easier for perf.
    with measure.Load([LOAD, "20", "600", "80"]):
        perf = [perf_record(f"perf-{s}.data", s, must_read=True) for s in PERF_SECONDS]
    show_bytes(points, compacted, images, mixed, packed)
    measure.row("resident memory of the daemon and its worker, 300 processes", "MB", resident / 1024,
                "-", "-", "32")
    measure.note(f"the daemon's peak: {peak / 1024:.1f} MB")
    show_reports(daemon.db, points[-1][0], perf)
    shutil.rmtree(daemon.db)


main()
