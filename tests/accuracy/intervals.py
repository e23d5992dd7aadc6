# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Whether the intervals that calc gives hold the truth, for kinds of programs that did not choose them."""
import json
import os
import random
import subprocess
import sys

import culprit
import loops

SECONDS, RATE, MIXES = 1.0, 2000, 40
TIMEOUT_S = 120


def list_programs():
    """{name: [(loop, microseconds a call)]}: every loop alone, and mixtures of two to four kinds."""
    every = loops.list_loops()
    programs = {one.name: [(one, 100)] for one in every}
    draw = random.Random(7)
    for i in range(MIXES):
        chosen = draw.sample(every, draw.choice([2, 2, 3, 4]))
        if len({one.kind for one in chosen}) == len(chosen):
            programs[f"mix_{i}"] = [(one, draw.choice([10, 50, 200, 1000])) for one in chosen]
    return programs


def clock(program):
    return float(subprocess.run([program, "clock"], check=True, stdout=subprocess.PIPE).stdout)


def record(build, program, parts, database, options):
    """What calc says of a recording, and the truth: {"functions": ..., "truth": {name: ...}}."""
    folder = os.path.dirname(database)
    out = database + ".out"
    argv = [program, ",".join(f"{one.name}:{us}" for one, us in parts), str(SECONDS)]
    before = clock(program)
    culprit.record(build, database, ["sh", "-c", 'exec "$@" > ' + out, "sh", *argv],
                   ["-F", str(RATE), "-e", "cpu-clock", *options], folder, dict(os.environ))
    ghz = (before + clock(program)) / 2
    document = culprit.calc(build, database)
    document["ghz"] = ghz
    document["truth"] = {}
    with open(out, encoding="utf-8") as file:
        for line in file:
            name, calls, rounds, ns = line.split()
            document["truth"][name] = {"calls": int(calls), "rounds": int(rounds),
                                       "ns": int(ns)}
    return document


def collect(build, folder, only=None, keep=False):
    """{(program, "edges" or "time"): document} of all programs, made or read again."""
    os.makedirs(folder, exist_ok=True)
    program = loops.compile_loops(build)
    documents = {}
    for name, parts in list_programs().items():
        if only and name not in only:
            continue
        for how, options in (("edges", ["--edges"]), ("time", ["--no-edges"])):
            path = os.path.join(folder, f"{name}.{how}.json")
            if not (keep and os.path.exists(path)):
                try:
                    document = record(build, program, parts,
                                      os.path.join(folder, f"{name}.{how}.db"), options)
                except (culprit.Failed, subprocess.SubprocessError) as error:
                    print(f"accuracy: {name}: {error}", file=sys.stderr)
                    continue
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(document, file)
            with open(path, encoding="utf-8") as file:
                documents[name, how] = json.load(file)
    return documents
