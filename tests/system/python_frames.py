# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Holds the Python frames of recorded stacks against what the program itself said of them:
python_frames.py CULPRIT DB CHAINS, where CHAINS is of frames.py. Exit status 1: too few are there; 2: some
are wrong."""
import collections
import json
import sys
from stack_reader import Stacks

LEAVES = {"work", "hashed"}
LEAST = 8  # stacks of each chain; those of exec are shorter
EVALUATOR = "_PyEval_EvalFrameDefault"


def is_python(node):
    return (node["build_id"] or "").startswith("script-")


def chain_of(path):
    """Up to the leaf function; None: it has none. The line of a call is the callee's site."""
    chain = []
    for i, node in enumerate(path):
        if not is_python(node):
            continue
        if node["function"] in LEAVES:
            return tuple(chain)
        line = path[i + 1]["site_line"] if i + 1 < len(path) else None
        chain.append((node["function"], node["image"], line))
    return None


def main():
    stacks = Stacks(sys.argv[1], sys.argv[2])
    with open(sys.argv[3], encoding="utf-8") as f:
        truth = {tuple(map(tuple, c)) for c in json.load(f)}
    found = collections.Counter()
    wrong, plain = [], 0
    for path, count in stacks.paths:
        if any(n["function"] == EVALUATOR for n in path):
            plain += count
            continue
        chain = chain_of(path)
        if chain in truth:
            found[chain] += count
        elif chain is not None:
            wrong.append(chain)
    total = stacks.samples
    print(f"{total} samples, {sum(found.values())} in {len(found)} of {len(truth)} known chains, {plain} with "
          f"frames of the evaluator, {stacks.complete} of {stacks.stacks} stacks complete")
    for chain in wrong[:5]:
        print("wrong:", str(chain)[:400])
    rare = [c for c in truth if found[c] < LEAST and not c[-1][0].startswith("made_")]
    for chain in rare[:5]:
        print("rare:", found[chain], str(chain)[:400])
    # The first stacks of a program wait for its tables, and the evaluator is at its first or last
    # instructions now and then.
    good = not rare and plain <= total * 0.1 and sum(found.values()) >= total * 0.6 and \
        stacks.complete >= stacks.stacks * 0.98
    return 2 if wrong else 0 if good else 1


sys.exit(main())
