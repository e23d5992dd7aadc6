# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Programs of which the one culprit is known: is it named first, at the right instruction?

The question is put to the function's most expensive instruction, as a reader of calc would: the
first culprit in its list must be the case's, and the instruction that it blames one of those that
known/*.c marks. For the case issue_width nothing stalls: execution itself must be most of the time.
"""
import os
import struct
import subprocess

import culprit

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS, RATE = 1.2, 2000


def compile_known(build):
    target = os.path.join(build, "accuracy", "known")
    sources = [os.path.join(HERE, "known", name)
               for name in ("main.c", "core.c", "code.c", "memory.c", "kernel.c")]
    subprocess.run(["gcc", "-O2", "-g", "-no-pie", "-Wl,--build-id", "-o", target, *sources],
                   check=True)
    return target


def read_marks(path):
    """The marked addresses."""
    scratch = path + ".marks"
    subprocess.run(["objcopy", "-O", "binary", "--only-section=.known", path, scratch], check=True)
    with open(scratch, "rb") as file:
        data = file.read()
    return {address for address, in struct.iter_unpack("<Q", data[:len(data) // 8 * 8])}


def expectation(case):
    """(cause, cache level or None)."""
    if case.startswith("dcache_"):
        return "dcache", int(case[-1])
    return case, None


def judge(case, function, marks):
    """(right, what was said)."""
    cause, level = expectation(case)
    summary = sorted(((share, name) for name, share in function["summary_likely"].items()
                      if name != "gain"), reverse=True)
    top = ", ".join(f"{name} {share:.0f}%" for share, name in summary[:3] if share >= 0.5)
    if cause == "issue_width":
        execution = function["summary"].get("execution", [0, 0])[0]
        stalled = summary[0][0] if summary else 0
        return execution > stalled, f"execution {execution:.0f}%; {top}"
    worst = max(function["instructions"], key=lambda i: i["charged"], default=None)
    if not worst or not worst["culprits"]:
        return False, f"no culprit; {top}"
    first = worst["culprits"][0]
    blame = int(first["blame"], 16) if first["blame"] else None
    right = first["cause"] == cause and (blame in marks or (
        # Nobody in particular: then the stalled instruction itself.
        blame is None and cause in ("front_end", "icache", "itlb")))
    # calc tells the level only where latencies allow; a wrong one is a wrong answer.
    if level and first.get("level", level) != level:
        right = False
    said = first["cause"] + (f" (level {first['level']})" if first.get("level") else
                             " (level not told)" if level and first["cause"] == cause else "")
    return right, (f"{said} of {first['blame'] or 'no instruction'}"
                   f"{'' if blame is None or blame in marks else ', a wrong one'}; {top}")


def measure(build, scratch, only=None):
    """[(case, right, what was said)]"""
    path = compile_known(build)
    marks = read_marks(path)
    cases = subprocess.run([path], check=True, stdout=subprocess.PIPE).stdout.decode().split()
    rows = []
    for case in cases:
        if only and case not in only:
            continue
        database = os.path.join(scratch, f"known-{case}.db")
        try:
            culprit.record(build, database, [path, case, str(SECONDS)],
                           ["-F", str(RATE), "-e", "cpu-clock", "-e", "page-faults"],
                           scratch, dict(os.environ))
            document = culprit.run_json([os.path.join(build, "culprit"), "calc", "-i", database,
                                         "--json", "--blocks", "0", "--event", "*", "--image",
                                         "*/known", "known_" + case])
            rows.append((case, *judge(case, document["functions"][0], marks)))
        except (culprit.Failed, KeyError, IndexError, ValueError) as error:
            rows.append((case, False, f"failed: {error!r}"[:300]))
    return rows
