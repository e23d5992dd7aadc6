#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What stacks cost, against perf record -a -g and --call-graph dwarf at the same rate in the same run:
time in the kernel by the unwinder's own clock, CPU time, bytes; and how long the first stack of a
program waits for its tables.

perf follows no stack while it records with --call-graph dwarf, perf report does that, so reports are
compared too, and both together over recordings of several lengths: perf's grow with the samples, ours
with what is new in them. All at 100 Hz, where culprit takes a stack of every sample, as perf does (but for
one of the last, at 1 kHz, where it still takes 100 a second and CPU); what one costs in the kernel while
nothing is cold is in stack_cost.c."""
import glob
import math
import os
import re
import shutil
import statistics
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import measure  # pylint: disable=wrong-import-position

BUILD, TMP, QUICK = measure.arguments()
CULPRIT = os.path.join(BUILD, "culprit")
STACKS = os.path.join(BUILD, "tests", "system", "stacks")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HZ = 100
SECONDS, REPEAT = (6, 1) if QUICK else (15, 3)
LENGTHS = [] if QUICK else [(100, 10), (100, 30), (100, 90), (1000, 30)]  # Hz, s
OURS = ["culprit", "without"]  # stacks
STACKS_CHUNK = 5  # src/db/chunk.h
PYTHON = """import time
def leaf(): return sum(i * i for i in range(1000))
def spin(x): return leaf() + x
while time.process_time() < 3: sorted([1, 2], key=spin)"""
MIX = f"""cd {TMP}
while :; do
    for f in {ROOT}/src/util/*.c; do
        gcc -O2 -D_GNU_SOURCE -I{ROOT}/src -I{BUILD} -c "$f" -o compiled.o
    done
    python3 -c 'import json; [json.loads(json.dumps(list(range(5000)))) for i in range(200)]'
    sqlite3 :memory: "create table t(a, b); with recursive c(x) as (select 1 union all select
        x + 1 from c limit 200000) insert into t select x, x * 7 % 1000 from c;
        select b, count(*), sum(a) from t group by b order by 3 desc limit 3;"
    perl -e 'for my $i (1 .. 500000) {{ $h{{"k" . $i % 999}} .= "x" }}'
done
"""


class Said:
    """What a recording says of its stacks at its end."""

    def __init__(self, command, hz=HZ):
        db = os.path.join(TMP, "said.db")
        shutil.rmtree(db, ignore_errors=True)
        text = subprocess.run([CULPRIT, "record", "-v", "--no-edges", "-F", str(hz), "-o", db, "--", *command],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              check=False).stderr
        found = re.search(r"(\d+) stacks, ([\d.e+]+)%.*; ([\d.e+]+) frames and ([\d.e+]+) us", text)
        if not found:
            sys.exit("no stacks: " + text)
        self.stacks, self.complete, self.frames, self.us = map(float, found.groups())
        waited = re.search(r"(\d+) stacks waited", text)
        self.waited = int(waited[1]) if waited else 0


def kernel():
    """The time for one frame from two depths, so that 20 frames can be told from any."""
    cc1 = subprocess.run(["gcc", "-print-prog-name=cc1"], stdout=subprocess.PIPE, text=True,
                         check=True).stdout.strip()
    source = os.path.join(TMP, "large.c")
    with open(source, "w", encoding="ascii") as f:
        for i in range(1500):
            f.write(f"int f{i}(int x, char *s) {{ int r = 0; for (int i = 0; i < x; i++) {{ switch "
                    f"(s[i] & 7) {{ case 0: r += {i}; break; case 1: r ^= x; break; case 3: r *= 5; "
                    "} } return r; }\n")
    loads = [("cc1", [cc1, "-O2", "-quiet", source, "-o", "/dev/null"]),
             ("a loop, 6 frames", [STACKS, "plain", "3"]),
             ("a handler, 28 frames", [STACKS, "handler", "3"]),
             ("python3, a frame of Python or two in each call of its evaluator", ["/usr/bin/python3.11", "-c", PYTHON]),
             ("recursion, 10,007 frames", [STACKS, "recursion", "3"])]
    for name, command in loads:
        runs = [Said(command) for _ in range(REPEAT)]
        us = statistics.median(r.us for r in runs)
        frames = statistics.median(r.frames for r in runs)
        measure.row(f"a stack in the kernel, {name}", "us", us, "-", "-", "3 of 20 frames")
        measure.note(f"{name}: {frames:.1f} frames, us {measure.spread([r.us for r in runs])}, complete "
                     f"{measure.spread([r.complete for r in runs])}%; stacks that waited for a table "
                     f"{measure.spread([r.waited for r in runs])}, of one each {1000 / HZ:.0f} ms")
        if name == "cc1":
            measure.row("a new program's first samples until its tables are there, cc1", "ms",
                        statistics.median(r.waited for r in runs) * 1000 / HZ, "-", "-")


def perf_argv(kind, out, hz):
    return ["perf", "record", "-a", "-q", "-B", "-e", measure.EVENT, "-F", str(hz), "-o", out,
            *(["-g"] if kind == "perf -g" else ["--call-graph", "dwarf"])]


def collector_argv(kind, out, hz):
    if kind in OURS:
        return [CULPRIT, "record", "-a", "-q", "--no-edges", "-e", measure.EVENT, "-F", str(hz), "-o",
                out] + (["--no-stacks"] if kind == "without" else [])
    return perf_argv(kind, out, hz)


def all_times(pid):
    """CPU time of a collector and its children; of those that have ended by ticks of 10 ms."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        ended = f.read().rsplit(")", 1)[1].split()[13:15]
    return sum(map(int, ended)) / os.sysconf("SC_CLK_TCK") + sum(
        measure.task_times(p, t)[0] for p in [pid] + measure.children_of(pid)
        for t in measure.tasks_of(p))


class Run:
    def __init__(self, kind, number, seconds=SECONDS, hz=HZ):
        out = os.path.join(TMP, f"{kind.replace(' ', '')}-{number}")
        shutil.rmtree(out, ignore_errors=True)
        with open(out + ".log", "wb") as log:
            p = subprocess.Popen(collector_argv(kind, out, hz), stdout=log, stderr=log)
        time.sleep(4)
        before = all_times(p.pid)
        time.sleep(seconds)
        after = all_times(p.pid)
        p.send_signal(2)
        _, _, usage = os.wait4(p.pid, 0)
        p.returncode = 0
        stacks = hz * measure.CPUS * seconds
        whole = hz * measure.CPUS * (seconds + 4)
        self.out = out
        self.steady = (after - before) * 1e6 / stacks
        self.whole = (usage.ru_utime + usage.ru_stime) * 1e6 / whole
        self.bytes = self.count_bytes(kind) / whole
        self.report = self.time_report(kind, False) * 1e6 / whole
        self.inlined = self.time_report(kind, True) * 1e6 / whole if kind == "culprit" else 0

    def count_bytes(self, kind):
        """Without symbols, which are written once for each image."""
        if kind not in OURS:
            return os.path.getsize(self.out)
        return sum(os.path.getsize(p) for p in glob.glob(os.path.join(self.out, "*", "*Z", "*")))

    def time_report(self, kind, inlined):
        """perf's is without inlined functions, with which it takes minutes."""
        if kind == "without":
            return 0
        argv = ["perf", "report", "--stdio", "-i", self.out, "--no-inline"]
        if kind == "culprit":
            argv = [CULPRIT, "calls", "-i", self.out] + ([] if inlined else ["--no-inlined"])
        with open(self.out + ".err", "w+b") as err:
            p = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=err)
            _, p.returncode, usage = os.wait4(p.pid, 0)
            err.seek(0)
            # perf report ends with status 0 where it stops in the middle.
            if p.returncode or b"failed to process" in err.read():
                measure.note(f"the report of {kind} failed: {measure.PERF_CRASHES}")
                return math.nan
        return usage.ru_utime + usage.ru_stime


def median(values):
    """Of those that could be measured."""
    known = [v for v in values if not math.isnan(v)]
    return statistics.median(known) if known else "-"


def stacks_chunks(db):
    """(bytes, stacks, samples) of all chunks of stacks in a database."""
    size = stacks = samples = 0
    for path in glob.glob(os.path.join(db, "*", "*Z", "*")):
        with open(path, "rb") as f:
            data = f.read()
        at = data.find(b"\x89CHUNK\r\n")
        while at >= 0:
            kind, payload, rows, _, count = struct.unpack_from("<IIIIQ", data, at + 8)
            if kind == STACKS_CHUNK:
                size, stacks, samples = size + 48 + payload, stacks + rows, samples + count
            at = data.find(b"\x89CHUNK\r\n", at + 48)
    return size, stacks, samples


def compaction():
    """A recording as it was written, and compacted."""
    db = os.path.join(TMP, "compact.db")
    shutil.rmtree(db, ignore_errors=True)
    argv = [CULPRIT, "record", "-a", "-q", "--no-edges", "-F", str(HZ), "-o", db]
    subprocess.run([*argv, "--", "sleep", str(2 * SECONDS)], check=True, stderr=subprocess.DEVNULL)
    before = stacks_chunks(db)
    subprocess.run([CULPRIT, "db", "compact", db], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    size, stacks, samples = stacks_chunks(db)
    measure.row("bytes a distinct stack, compacted", "bytes", size / stacks if stacks else "-", "-", "-",
                "15")
    measure.note(f"{stacks} distinct stacks of {samples} in {size} bytes (as recorded: {before[1]} in "
                 f"{before[0]})")


def growth():
    """Recording and report together, seconds of CPU."""
    for hz, seconds in LENGTHS:
        due = hz * measure.CPUS * (seconds + 4)
        runs = {kind: Run(kind, f"length-{seconds}", seconds, hz) for kind in ["culprit", "perf dwarf"]}
        spent = {kind: (r.whole * due / 1e6, r.report * due / 1e6) for kind, r in runs.items()}
        measure.row(f"CPU of recording and report, {seconds + 4} s at {hz} Hz", "s",
                    sum(spent["culprit"]), "perf dwarf", median([sum(spent["perf dwarf"])]),
                    "0.1 of perf's")
        parts = "; ".join(f"{kind} recording {recording:.3g} s, report {report:.3g} s"
                          for kind, (recording, report) in spent.items())
        measure.note(f"{seconds + 4} s at {hz} Hz: {parts}; ours with what was inlined "
                     f"{runs['culprit'].inlined * due / 1e6:.3g} s; distinct stacks "
                     f"{stacks_chunks(runs['culprit'].out)[1]}")
        os.remove(runs["perf dwarf"].out)


def main():
    kernel()
    kinds = ["culprit", "perf -g", "perf dwarf", "without"]
    with measure.Load(["sh", "-c", MIX]):
        found = measure.alternate(kinds, REPEAT, Run)
        compaction()
        growth()
    for field, what, unit in [("steady", "CPU time a stack while recording, steady", "us"),
                              ("whole", "the same from start to end", "us"),
                              ("report", "CPU time a stack of a report by caller, none inlined", "us"),
                              ("bytes", "bytes a stack", "bytes")]:
        for kind in kinds[1:3]:
            measure.row(what, unit, measure.median(found["culprit"], field), kind,
                        median([getattr(r, field) for r in found[kind]]),
                        "-" if kind == "perf -g" else "0.01 of perf's" if field == "bytes" else
                        "0.1 of perf's")
        measure.note(f"{what}: " + "; ".join(
            f"{kind} {measure.spread([getattr(r, field) for r in found[kind]])}" for kind in kinds))
    measure.row("CPU time a stack of a report by caller, with what was inlined, and lines", "us",
                measure.median(found["culprit"], "inlined"), "-", "-")
    for field in ["steady", "whole"]:
        measure.row(f"what stacks add to it, {field}", "us",
                    measure.median(found["culprit"], field) - measure.median(found["without"], field),
                    "perf dwarf", measure.median(found["perf dwarf"], field), "0.1 of perf's")
    for kind in kinds[1:3]:
        measure.row("CPU time a stack, recording and report", "us",
                    median([r.whole + r.report for r in found["culprit"]]), kind,
                    median([r.whole + r.report for r in found[kind]]),
                    "-" if kind == "perf -g" else "0.1 of perf's")


main()
