#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What `record --counts=all` costs real programs: their user time counted, over that without, in
alternation; and the processor's time that their files took to be looked at, apart."""
import math
import os
import resource
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import measure  # pylint: disable=wrong-import-position

BUILD, TMP, QUICK = measure.arguments()
CULPRIT = os.path.join(BUILD, "culprit")
PAIRS = 2 if QUICK else 5
SIZE = (4 if QUICK else 16) << 20  # bytes of text to work on
# What is run tells its own time, and is the only child of who asks for it.
TIMED = 'TIMEFORMAT="%3U %3S"; out=$1; shift; { time "$@" >/dev/null 2>&1 </dev/null; } 2>"$out"'
FAULTS = "so the counts cover only part"

# Each gets its number of turns for TURNS.
LOOP_PYTHON = """
import json
rows = [{'key': i, 'name': str(i * 7), 'list': list(range(i % 9))} for i in range(20000)]
for _ in range(TURNS):
    rows = sorted(json.loads(json.dumps(rows)), key=lambda row: row['name'])
"""
LOOP_PERL = ("my %h; open F, $ARGV[0]; for my $i (1..TURNS) { seek F, 0, 0; "
             "while (<F>) { $h{$1}++ while /(\\w+)/g; } }")
LOOP_LUA = ("local t = {} for i = 1, TURNS do local s = tostring(i * 7) t[s:sub(1, 3)] = "
            "(t[s:sub(1, 3)] or 0) + #s end")
QUERY = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < TURNS) "
         "SELECT sum(length(printf('%d', i * 7))), count(DISTINCT i % 1000) FROM n;")


def write_text(path):
    """Sources of Python's library, in the same order each time."""
    root, size = os.path.dirname(os.__file__), 0
    files = sorted(os.path.join(d, f) for d, _, fs in os.walk(root) for f in fs if f.endswith(".py"))
    with open(path, "wb") as out:
        while size < SIZE:
            for name in files:
                with open(name, "rb") as file:
                    size += out.write(file.read())
                if size >= SIZE:
                    break


def write_c(path):
    """A program for the compiler: many functions with loops and branches."""
    with open(path, "w", encoding="ascii") as out:
        for i in range(300 if QUICK else 1500):
            out.write(f"int f{i}(int *p, int n) {{ int s = {i}; for (int k = 0; k < n; k++) "
                      f"{{ if (p[k] % {i % 7 + 2}) s += p[k] * {i}; else s ^= p[k] << {i % 5}; }} "
                      f"switch (s & 7) {{ case 1: return s * 3; case 2: return s - n; case 5: "
                      f"return f{max(i - 1, 0)}(p + 1, n - 1); }} return s; }}\n")


def programs(text, source):
    """The commands: of the issue of whole runs, what is installed."""
    share = 1 if QUICK else 4
    compiler = shutil.which("gcc")
    cc1 = subprocess.run([compiler, "-print-prog-name=cc1"], stdout=subprocess.PIPE, check=True
                         ).stdout.decode().strip() if compiler else None
    wanted = {
        "gzip": ["gzip", "-9c", text],
        "bzip2": ["bzip2", "-c", text],
        "xz": ["xz", "-2cT1", text],
        "zstd": ["zstd", "-9cq", "--single-thread", text],
        "sqlite3": ["sqlite3", ":memory:", QUERY.replace("TURNS", str(share * 500000))],
        "python3": [os.path.realpath(sys.executable), "-c", LOOP_PYTHON.replace("TURNS", str(share * 4))],
        "perl": ["perl", "-e", LOOP_PERL.replace("TURNS", str(share)), text],
        "gawk": ["gawk", "{ for (i = 1; i <= NF; i++) n[$i]++ } END { print length(n) }", text],
        "lua": ["lua5.4" if shutil.which("lua5.4") else "lua", "-e", LOOP_LUA.replace("TURNS", str(share * 2000000))],
        "cc1": [cc1 or "cc1", "-quiet", "-O2", source, "-o", "/dev/null"],
        "openssl": ["openssl", "enc", "-camellia-256-ctr", "-pbkdf2", "-k", "key", "-in", text],
        "grep": ["grep", "-cE", "(a|b)+[^ ]*(c|d).*(self|return)", text],
    }
    return {name: argv for name, argv in wanted.items() if shutil.which(argv[0])}


def times_of(argv, counted):
    """User time of the command, the processor's time of all else, and what culprit said."""
    out, database = os.path.join(TMP, "times"), os.path.join(TMP, "counted.db")
    shutil.rmtree(database, ignore_errors=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["bash", "-c", TIMED, "bash", out, *argv]
    if counted:
        command = [CULPRIT, "record", "-q", "-o", database, "--counts=all", "--", *command]
    said = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=True).stderr.decode()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(out, encoding="ascii") as file:
        user, system = map(float, file.read().split())
    everything = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return user, everything - user - system, said


def measure_program(name, argv):
    """Its row; the median of counted over plain."""
    pairs = [(times_of(argv, False), times_of(argv, True)) for _ in range(PAIRS)]
    ratios = [counted[0] / plain[0] for plain, counted in pairs if plain[0]]
    if not ratios:
        measure.note(f"{name} is too short to be timed")
        return 1
    measure.row(name, "s user", statistics.median(c[0] for _, c in pairs), "not counted",
                statistics.median(p[0] for p, _ in pairs))
    parts = sum(FAULTS in c[2] for _, c in pairs)
    measure.note(f"{name}: ratio {measure.spread(ratios)}; looking at files and the rest of the recording: "
                 f"{measure.spread([c[1] for _, c in pairs])} s of a processor"
                 + (f"; {parts} of {PAIRS} runs not counted whole" if parts else ""))
    return statistics.median(ratios)


def main():
    text, source = os.path.join(TMP, "text"), os.path.join(TMP, "source.c")
    write_text(text)
    write_c(source)
    ratios = [measure_program(name, argv) for name, argv in programs(text, source).items()]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    measure.row(f"geometric mean of {len(ratios)} programs", "times", mean, "not counted", 1)


main()
