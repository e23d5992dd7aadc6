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
# What waits for memory costs another time what others' work makes of it.
MEMORY = {"dcache", "dtlb", "store_buffer", "icache", "itlb"}
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


def record(build, program, kernel, database, options):
    """Records a kernel; returns the cycles an instruction of that very run."""
    printed, _ = culprit.run_recorded(build, database, [program, kernel.whole.name + ":100", str(SECONDS)],
                                      ["-F", str(RATE), "-e", "cpu-clock", *options], os.path.dirname(database),
                                      dict(os.environ))
    turns = loops.read_turns(printed)
    ran = turns[kernel.whole.name]
    instructions = ran["rounds"] * kernel.whole.instructions + ran["calls"] * kernel.whole.once
    return ran["ns"] * loops.find_ghz(turns) / instructions


def measure_kernel(build, program, kernel, target):
    """The truth of a kernel, and its recordings by each kind of evidence, which are left beside it."""
    whole, costs = find_truth(program, kernel)
    return {"seed": kernel.seed, "causes": sorted(costs), "cycles": whole, "costs": costs,
            "cpi": whole / kernel.whole.instructions,
            "ran": {how: record(build, program, kernel, f"{target}.{how}.db", options)
                    for how, options in EVIDENCE.items()}}


def ask(build, kernel, marks, database):
    """What calc says of a recorded kernel."""
    function = culprit.run_json([os.path.join(build, "culprit"), "calc", "-i", database, "--json", "--blocks", "0",
                                 "loop_" + kernel.whole.name])["functions"][0]
    shares = {cause: share for cause, share in function["summary_likely"].items() if cause not in NO_CAUSE}
    said = max(shares, key=shares.get) if shares else "nothing"
    blame = blame_most(function, said)
    return {"cpi": [function["cpi"], function["cpi_low"], function["cpi_high"]], "first": said,
            "costs": {cause: share / 100 * function["cpi"] * kernel.whole.instructions
                      for cause, share in shares.items()},
            "blamed": blame in marks.get(said, ()) or (blame is None and not marks)}


def truth_of(row, how):
    """(cycles of a round, {cause: cycles that it costs}) of a recorded run. What the run took more than the loop that
    was timed apart, or less, is of the causes that wait for memory, where there are such: all others cost the same."""
    cycles = row["ran"][how] / row["cpi"] * row["cycles"]
    memory = {cause: cost for cause, cost in row["costs"].items() if cause in MEMORY and cost > LEAST * row["cycles"]}
    more = (cycles - row["cycles"]) / sum(memory.values()) if memory else 0
    return cycles, {cause: cost + more * memory.get(cause, 0) for cause, cost in row["costs"].items()}


def list_pairs(row, how):
    """(cycles said, true cycles) of each cause that takes a tenth of the time, in truth or as is said. What a loop
    has without its causes is a little of COMMON, and what is unknown of the kernel: there is no truth of it."""
    cycles, true = truth_of(row, how)
    said = row["said"][how]["costs"]
    pairs = [(said.get(cause, 0), true.get(cause, 0)) for cause in sorted({*said, *true})
             if cause in true or cause not in COMMON.union(row["unknown"])]
    return [pair for pair in pairs if max(pair) > LEAST * cycles]


def true_first(row, how):
    """The cause that costs most; None where none costs much, or another the same, or what the loop has without its
    causes: that has causes, too, which nobody made."""
    cycles, true = truth_of(row, how)
    costs = sorted(true.items(), key=lambda item: -item[1])
    rest = cycles - sum(max(cost, 0) for _, cost in costs)
    clear = costs[0][1] > CLEAR * max([rest, *[cost for _, cost in costs[1:]]])
    return costs[0][0] if clear and costs[0][1] > LEAST * cycles else None


def correlation(pairs):
    """Pearson's, of logarithms of one more."""
    said, true = ([math.log1p(max(pair[i], 0)) for pair in pairs] for i in (0, 1))
    if len(set(said)) < 2 or len(set(true)) < 2:
        return float("nan")
    return statistics.correlation(said, true)


def summarize(rows, how):
    """The scores of some kernels by a kind of evidence."""
    asked = [row for row in rows if true_first(row, how)]
    there = [pair for row in rows for pair in list_pairs(row, how) if pair[1] > LEAST * truth_of(row, how)[0]]
    pairs = [pair for row in rows for pair in list_pairs(row, how)]
    right = [row for row in asked if row["said"][how]["first"] == true_first(row, how)]
    cpis = [(row["cpi"], row["ran"][how], *row["said"][how]["cpi"]) for row in rows]
    return {"kernels": len(rows), "asked": len(asked), "right": len(right),
            "blamed": sum(row["said"][how]["blamed"] for row in right),
            "near": sum(abs(said / ran - 1) <= 0.25 for _, ran, said, _, _ in cpis),
            "held": sum(low <= ran and (high is None or ran <= high) for _, ran, _, low, high in cpis),
            "slower": statistics.median(ran / true for true, ran, *_ in cpis) if cpis else float("nan"),
            "r": correlation(pairs), "r_there": correlation(there),
            "pairs": len(pairs)}


def measure(build, folder, which, keep=False, limit=None):
    """A row for each kernel of those seeds. keep: recordings that are there are asked again."""
    os.makedirs(folder, exist_ok=True)
    # All are compiled, whatever the limit: recordings are of that program.
    kernels = [ablate.make_kernel(seed) for seed in ablate.SEEDS[which]]
    program = loops.compile_loops(build, ablate.list_loops(kernels), "made-" + which)
    marks, rows = read_marks(program, kernels), []
    for kernel in kernels[:limit]:
        target = os.path.join(folder, str(kernel.seed))
        try:
            if not (keep and os.path.exists(target + ".json")):
                row = measure_kernel(build, program, kernel, target)
                with open(target + ".json", "w", encoding="utf-8") as file:
                    json.dump(row, file)
            with open(target + ".json", encoding="utf-8") as file:
                row = json.load(file)
            row["unknown"] = kernel.unknown
            row["said"] = {how: ask(build, kernel, marks[kernel.seed], f"{target}.{how}.db") for how in EVIDENCE}
        except (culprit.Failed, subprocess.SubprocessError, IndexError) as error:
            print(f"accuracy: kernel {kernel.seed}: {error}", flush=True)
            continue
        rows.append(row)
    return rows
