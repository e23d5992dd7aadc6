# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What calc says of loops made by chance (ablate.py), against what leaving a cause out saves."""
import json
import math
import os
import statistics
import struct
import subprocess

import ablate
import culprit
import loops

SECONDS, TRUTH_SECONDS, RATE = 0.8, 0.2, 2000
# A cause that takes less of the time is not asked for; nor is the first of two that take the same, to so much.
LEAST, CLEAR = 0.1, 1.25
# Of the parts of a function's time, those that are no cause.
NO_CAUSE = {"gain", "unexplained"}
# Causes that a loop has a little of though nobody put them there.
COMMON = {"dependency", "port", "front_end"}
EVIDENCE = {"samples": [], "counts": ["--counts=all"]}


def read_marks(program, kernels):
    """{seed: {cause: addresses}}; the marks lie in the order of the loops."""
    scratch = program + ".marks"
    subprocess.run(["objcopy", "-O", "binary", "--only-section=.known", program, scratch], check=True)
    with open(scratch, "rb") as file:
        data = file.read()
    addresses, found = struct.iter_unpack("<Q", data), {}
    for kernel in kernels:
        have = found[kernel.seed] = {}
        for one in kernel.marks:
            have.setdefault(one.cause, set()).add(next(addresses)[0])
        for _ in range(sum(loop.assembly().count(ablate.MARK) for _, loop, _ in kernel.without)):
            next(addresses)
    return found


def time_rounds(program, kernel):
    """{name: cycles a round}, all loops of a kernel in turns."""
    every = ablate.list_loops([kernel])
    seconds = TRUTH_SECONDS * len(every)
    turns = loops.read_turns(subprocess.run([program, ",".join(f"{one.name}:100" for one in every), str(seconds)],
                                            check=True, stdout=subprocess.PIPE).stdout.decode())
    return {name: turn["ns"] / turn["rounds"] * loops.find_ghz(turns) for name, turn in turns.items()}


def find_truth(program, kernel):
    """(cycles of a round, {cause: cycles that it costs}): the medians of three times."""
    times = [time_rounds(program, kernel) for _ in range(3)]
    whole = statistics.median(t[kernel.whole.name] for t in times)
    costs = {}
    for cause, loop, scale in kernel.without:
        costs[cause] = statistics.median(t[kernel.whole.name] - scale * t[loop.name] for t in times)
    return whole, costs


def blame_most(function, cause):
    """The address that most cycles of a cause are blamed on; None for no instruction in particular."""
    cycles = {}
    for one in function["instructions"]:
        for suspect in one["culprits"]:
            if suspect["cause"] == cause:
                blame = int(suspect["blame"], 16) if suspect["blame"] else None
                cycles[blame] = cycles.get(blame, 0) + one["charged"] * suspect["likely"]
    return max(cycles, key=cycles.get) if cycles else None


def ask(build, program, kernel, marks, database, options):
    """What calc says of a kernel that is recorded so, as JSON keeps it."""
    printed, _ = culprit.run_recorded(build, database, [program, kernel.whole.name + ":100", str(SECONDS)],
                                      ["-F", str(RATE), "-e", "cpu-clock", *options], os.path.dirname(database),
                                      dict(os.environ))
    turns = loops.read_turns(printed)
    ran = turns[kernel.whole.name]
    instructions = ran["rounds"] * kernel.whole.instructions + ran["calls"] * kernel.whole.once
    function = culprit.run_json([os.path.join(build, "culprit"), "calc", "-i", database, "--json", "--blocks", "0",
                                 "loop_" + kernel.whole.name])["functions"][0]
    shares = {cause: share for cause, share in function["summary_likely"].items() if cause not in NO_CAUSE}
    said = max(shares, key=shares.get) if shares else "nothing"
    blame = blame_most(function, said)
    return {"cpi": [function["cpi"], function["cpi_low"], function["cpi_high"]], "first": said,
            "ran": ran["ns"] * loops.find_ghz(turns) / instructions,
            "costs": {cause: share / 100 * function["cpi"] * kernel.whole.instructions
                      for cause, share in shares.items()},
            "blamed": blame in marks.get(said, ()) or (blame is None and not marks)}


def measure_kernel(build, program, kernel, marks, target):
    """What calc says of a kernel, by each kind of evidence, beside the truth."""
    whole, costs = find_truth(program, kernel)
    return {"seed": kernel.seed, "causes": sorted(costs), "cycles": whole, "costs": costs,
            "cpi": whole / kernel.whole.instructions,
            "said": {how: ask(build, program, kernel, marks, f"{target}.{how}.db", options)
                     for how, options in EVIDENCE.items()}}


def list_pairs(row, how):
    """(cycles said, true cycles) of each cause that takes a tenth of the time, in truth or as is said. What a loop
    has without its causes is a little of COMMON, of which the truth is not known."""
    said, true = row["said"][how]["costs"], row["costs"]
    pairs = [(said.get(cause, 0), true.get(cause, 0)) for cause in sorted({*said, *true})
             if cause in true or cause not in COMMON]
    return [pair for pair in pairs if max(pair) > LEAST * row["cycles"]]


def true_first(row):
    """The cause that costs most; None where none costs much, or another the same, or what the loop has without its
    causes: that has causes, too, which nobody made."""
    costs = sorted(row["costs"].items(), key=lambda item: -item[1])
    rest = row["cycles"] - sum(max(cost, 0) for _, cost in costs)
    clear = costs[0][1] > CLEAR * max([rest, *[cost for _, cost in costs[1:]]])
    return costs[0][0] if clear and costs[0][1] > LEAST * row["cycles"] else None


def correlation(pairs):
    """Pearson's, of logarithms of one more."""
    said, true = ([math.log1p(max(pair[i], 0)) for pair in pairs] for i in (0, 1))
    if len(set(said)) < 2 or len(set(true)) < 2:
        return float("nan")
    return statistics.correlation(said, true)


def summarize(rows, how):
    """The scores of some kernels by a kind of evidence."""
    asked = [row for row in rows if true_first(row)]
    pairs = [pair for row in rows for pair in list_pairs(row, how)]
    right = [row for row in asked if row["said"][how]["first"] == true_first(row)]
    cpis = [(row["cpi"], row["said"][how]["ran"], *row["said"][how]["cpi"]) for row in rows]
    return {"kernels": len(rows), "asked": len(asked), "right": len(right),
            "blamed": sum(row["said"][how]["blamed"] for row in right),
            "near": sum(abs(said / true - 1) <= 0.25 for true, _, said, _, _ in cpis),
            "held": sum(low <= ran and (high is None or ran <= high) for _, ran, _, low, high in cpis),
            "slower": statistics.median(ran / true for true, ran, *_ in cpis) if cpis else float("nan"),
            "r": correlation(pairs), "pairs": len(pairs)}


def measure(build, folder, which, keep=False, limit=None):
    """A row for each kernel of those seeds."""
    os.makedirs(folder, exist_ok=True)
    kernels = [ablate.make_kernel(seed) for seed in list(ablate.SEEDS[which])[:limit]]
    program = loops.compile_loops(build, ablate.list_loops(kernels), "made-" + which)
    marks, rows = read_marks(program, kernels), []
    for kernel in kernels:
        path = os.path.join(folder, f"{kernel.seed}.json")
        if not (keep and os.path.exists(path)):
            try:
                row = measure_kernel(build, program, kernel, marks[kernel.seed], path[:-5])
            except (culprit.Failed, subprocess.SubprocessError, IndexError) as error:
                print(f"accuracy: kernel {kernel.seed}: {error}", flush=True)
                continue
            with open(path, "w", encoding="utf-8") as file:
                json.dump(row, file)
        with open(path, encoding="utf-8") as file:
            rows.append(json.load(file))
    return rows
