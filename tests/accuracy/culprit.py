# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Asks the built program: recordings, their samples and edges, and what calc makes of them."""
import json
import os
import shutil
import subprocess

import programs
import score


class Failed(RuntimeError):
    pass


def run_json(argv, timeout_s=300):
    run = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, timeout=timeout_s)
    if run.returncode:
        raise Failed(f"{' '.join(argv)}: {run.stderr.decode('utf-8', 'replace').strip()[-400:]}")
    return json.loads(run.stdout)


def run_recorded(build, database, argv, options, cwd, env):
    """Returns what the program printed and what the collector said."""
    shutil.rmtree(database, ignore_errors=True)
    run = subprocess.run([os.path.join(build, "culprit"), "record", "-q", "-o", database, *options,
                          "--", *argv], cwd=cwd, env=env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = run.stderr.decode("utf-8", "replace")
    if run.returncode:
        raise Failed(f"record {' '.join(argv)}: exit status {run.returncode}: {said.strip()[-400:]}")
    return run.stdout.decode("utf-8", "replace"), said


def record(build, database, argv, options, cwd, env):
    """Returns what the collector said."""
    return run_recorded(build, database, argv, options, cwd, env)[1]


def record_repeated(build, work, program, target, seconds, options):
    """Records runs of a program, one after the other, into TARGET.db, and leaves TARGET.runs."""
    record(build, target + ".db",
           [os.path.join(build, "accuracy", "repeat"), str(seconds), target + ".runs",
            target + ".out", *program.argv], options, work, programs.ENVIRONMENT)
    os.unlink(target + ".out")
    return read_runs(target)


def read_runs(target):
    """(runs, seconds) of a recording."""
    with open(target + ".runs", encoding="utf-8") as file:
        runs, seconds = file.read().split()
    return int(runs), float(seconds)


def read_samples(build, database, event="cpu-clock"):
    """{image's id: {offset: samples}} of the events whose name begins so, and edges seen."""
    samples, edges = {}, 0
    for part in run_json([os.path.join(build, "tests", "accuracy", "accuracy-dump"), database]):
        if "edges" in part:
            edges += sum(edge[2] for edge in part["edges"])
        elif "event" in part and part["event"].startswith((event, "cycles")):
            have = samples.setdefault(part["image"], {})
            for offset, number in part["samples"]:
                have[offset] = have.get(offset, 0) + number
    return samples, edges


def calc(build, database, *options):
    return run_json([os.path.join(build, "culprit"), "calc", "-i", database, "--json", "--cutoff",
                     "100", "--blocks", "0", *options])


def read_estimates(document, images=None):
    """What calc --json says, as score.Estimates. images: only these build-ids."""
    estimates = score.Estimates()
    for function in document["functions"]:
        key = function["build_id"]
        if images is not None and key not in images:
            continue
        have = estimates.frequency.setdefault(key, {})
        bounds = estimates.bounds.setdefault(key, {})
        offsets = []
        for one in function["instructions"]:
            offset = int(one["address"], 16)
            offsets.append(offset)
            if one.get("frequency") is not None:
                have[offset] = (one["frequency"], one["confidence"])
                bounds[offset] = (one["frequency_low"], one["frequency_high"])
        estimates.functions.append((key, sorted(set(offsets))))
        read_relative(function, sorted(offsets), estimates.relative.setdefault(key, {}))
        for edge in function["edges"]:
            if edge.get("frequency") is not None and edge.get("to") is not None:
                place = (key, int(edge["from"], 16), int(edge["to"], 16))
                estimates.edges[place] = (edge["frequency"], edge["confidence"])
    return estimates


def read_relative(function, offsets, have):
    for block in function["blocks"]:
        if block.get("relative") is None:
            continue
        start, end = int(block["start"], 16), int(block["end"], 16)
        for offset in offsets:
            if start <= offset < end:
                have[offset] = (block["relative"],
                                block.get("relative_confidence", block["confidence"]))
