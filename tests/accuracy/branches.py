#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""How near the outcomes of followed samples are to the true ones.

    tests/accuracy/branches.py DUMP TRUTH.json RECORDING.db [TRUTH RECORDING...]

DUMP is BUILD/tests/accuracy/accuracy-dump. Prints, of conditional branches weighted by how often
they were executed: the share that windows saw, the mean absolute error of the taken probability, the
share within 5 and 10 points; and of indirect branches half the sum of the absolute differences of
the targets' shares. Twice: with whatever was seen, and with at least 10 windows.
"""
import json
import subprocess
import sys


def read_edges(dump, db):
    """(path, from) -> {to: [count, windows]}, and the number of windows."""
    edges, windows = {}, 0
    for part in json.loads(subprocess.run([dump, db], check=True, capture_output=True).stdout):
        for row in part.get("edges", ()):
            source, target, count, seen = row[:4]
            if source is None:
                windows += count
                continue
            if target is None or len(row) > 4:
                continue
            to = edges.setdefault((part["path"], source), {}).setdefault(target, [0, 0])
            to[0] += count
            to[1] += seen
    return edges, windows


def compare(truth, edges, least):
    """Sums over conditional branches and over indirect ones."""
    all_weight = weight = error = near5 = near10 = 0
    indirect_all = indirect = distance = 0
    for image in truth["images"]:
        for source, executions, after, targets in image["branches"]:
            taken = sum(times for _, times in targets)
            seen = edges.get((image["path"], source), {})
            passes = sum(count for count, _ in seen.values())
            in_windows = max((w for _, w in seen.values()), default=0)
            known = passes and in_windows >= least
            if after is not None or len(targets) == 1 and after is None and len(seen) > 1:
                all_weight += executions
                if not known:
                    continue
                fell = seen.get(after, [0, 0])[0] if after is not None else 0
                off = abs((passes - fell) / passes - taken / executions)
                weight += executions
                error += executions * off
                near5 += executions * (off <= 0.05)
                near10 += executions * (off <= 0.10)
            elif len(targets) > 1:
                indirect_all += executions
                if not known:
                    continue
                true = {to: times / executions for to, times in targets}
                got = {to: count / passes for to, (count, _) in seen.items()}
                indirect += executions
                distance += executions * sum(abs(true.get(to, 0) - got.get(to, 0))
                                             for to in set(true) | set(got)) / 2
    return (all_weight, weight, error, near5, near10), (indirect_all, indirect, distance)


def share(part, whole):
    return part / whole if whole else float("nan")


def main():
    dump, rest = sys.argv[1], sys.argv[2:]
    print(f"{'program':12} {'windows':>8} {'least':>5} {'seen':>6} {'error':>6} {'<=5':>6} {'<=10':>6}"
          f" {'indirect seen':>14} {'distance':>8}")
    for truth_path, db in zip(rest[::2], rest[1::2]):
        with open(truth_path, encoding="utf-8") as file:
            truth = json.load(file)
        edges, windows = read_edges(dump, db)
        for least in (1, 10):
            (everything, weight, error, near5, near10), (i_all, i_seen, distance) = \
                compare(truth, edges, least)
            print(f"{truth['program']:12} {windows:8} {least:5} {share(weight, everything):6.1%}"
                  f" {share(error, weight):6.3f} {share(near5, weight):6.1%}"
                  f" {share(near10, weight):6.1%} {share(i_seen, i_all):14.1%}"
                  f" {share(distance, i_seen):8.3f}")


main()
