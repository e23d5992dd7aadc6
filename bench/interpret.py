#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What a window of the interpreter costs in the kernel, as it measures itself, against what a sample
costs in the same load by the kernel's BPF statistics."""
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import measure  # pylint: disable=wrong-import-position

BUILD, TMP, QUICK = measure.arguments()
REPEAT = 1 if QUICK else 3
STATS = "/proc/sys/kernel/bpf_stats_enabled"
PERL = ('my %h; for my $i (1 .. 1500000) { my $k = "key" . ($i * 7919 % 10007); $h{$k} .= '
        'chr(65 + $i % 26); if ($h{$k} =~ /(AB+C|X[YZ])/) { $h{$k} = lc $1 } }')


def record(command, *options):
    db = os.path.join(TMP, "windows.db")
    shutil.rmtree(db, ignore_errors=True)
    run = subprocess.Popen([os.path.join(BUILD, "culprit"), "record", "-v", "--budget", "60", "-F", "2000",
                            *options, "-o", db, "--", *command],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return run


def window(command):
    """Microseconds and outcomes of a window, by the interpreter's own clock."""
    said = record(command, "--edges").communicate()[1]
    found = re.search(r"([\d.]+) outcomes and ([\d.e+]+) us each", said)
    if not found:
        sys.exit("no windows: " + said)
    return float(found[2]), float(found[1])


def sample(command):
    """Microseconds of a sample that is not followed."""
    run = record(command, "--no-edges")
    cost = None
    while run.poll() is None:
        time.sleep(0.3)
        shown = subprocess.run(["bpftool", "-j", "prog", "show"], capture_output=True, text=True,
                               check=False).stdout
        for p in json.loads(shown or "[]"):
            if p.get("name") == "sample_scoped" and p.get("run_cnt"):
                cost = p["run_time_ns"] / p["run_cnt"] / 1e3
    run.communicate()
    return cost


def main():
    text = os.path.join(TMP, "text")
    with open(os.path.join(BUILD, "culprit"), "rb") as source, open(text, "wb") as copy:
        copy.write(source.read() * 4)
    with open(STATS, encoding="ascii") as f:
        before = f.read()
    try:
        for name, command in [("gzip", ["gzip", "-9", "-c", text]), ("perl", ["perl", "-e", PERL])]:
            with open(STATS, "w", encoding="ascii") as f:
                f.write("1")
            samples = [c for c in (sample(command) for _ in range(REPEAT)) if c]
            with open(STATS, "w", encoding="ascii") as f:
                f.write("0")
            windows = [window(command) for _ in range(REPEAT)]
            us = sorted(w[0] for w in windows)
            measure.row(f"a window, {name}", "us", us[len(us) // 2], "a sample",
                        sorted(samples)[len(samples) // 2] if samples else "-",
                        "3 to 8 us for 64 instructions")
            measure.note(f"{name}: us a window {measure.spread(us)}; outcomes "
                         f"{measure.spread([w[1] for w in windows])}")
    finally:
        with open(STATS, "w", encoding="ascii") as f:
            f.write(before)


if __name__ == "__main__":
    main()
