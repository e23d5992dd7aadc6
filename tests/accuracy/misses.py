# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Figure 10: cycles that are blamed on cache misses, against the misses of a simulated cache.

The paper compares stall cycles with sampled miss events. Without a counter of them the reference is
callgrind's cache simulation (--cache-sim, that of cachegrind): this machine's first-level caches, and
its second-level cache as the last one. A procedure is one point: its simulated misses in the runs of
the recording, and the samples that calc blames on that cause, low and high end and the likeliest.
A miss of the last level costs some ten times one of the first: weights 12 and 120 cycles.
"""
import math
import os
import subprocess

import truth as truths

COVER = 0.999
# Of a store that misses store_buffer is said: what follows is held up when that is full.
KINDS = ((("dcache",), ("D1mr", "DLmr"), "data, loads"),
         (("dcache", "store_buffer"), ("D1mr", "DLmr", "D1mw", "DLmw"), "data, loads and stores"),
         (("icache",), ("I1mr", "ILmr"), "instructions"))


def read_conf(name, fallback):
    run = subprocess.run(["getconf", name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    value = run.stdout.decode().strip()
    return int(value) if value.isdigit() and int(value) > 0 else fallback


def geometry():
    """valgrind's options: its simulator wants a number of sets that is a power of two."""
    options = []
    for option, level, fallback in (("I1", "LEVEL1_ICACHE", (32768, 8, 64)),
                                    ("D1", "LEVEL1_DCACHE", (32768, 8, 64)),
                                    ("LL", "LEVEL2_CACHE", (1048576, 16, 64))):
        size = read_conf(level + "_SIZE", fallback[0])
        ways, line = read_conf(level + "_ASSOC", fallback[1]), read_conf(level + "_LINESIZE", 64)
        sets = size // (ways * line)
        if sets & sets - 1 or sets < 1:
            size, ways, line = fallback
        options.append(f"--{option}={size},{ways},{line}")
    return options


def pearson(xs, ys):
    n = len(xs)
    if n < 3:
        return float("nan")
    mx, my = sum(xs) / n, sum(ys) / n
    sxy = sum((x - mx) * (y - my) for x, y in zip(xs, ys))
    sxx, syy = sum((x - mx) ** 2 for x in xs), sum((y - my) ** 2 for y in ys)
    return sxy / math.sqrt(sxx * syy) if sxx > 0 and syy > 0 else float("nan")


def ranks(values):
    order, result = sorted(range(len(values)), key=values.__getitem__), [0.0] * len(values)
    i = 0
    while i < len(order):
        j = i
        while j + 1 < len(order) and values[order[j + 1]] == values[order[i]]:
            j += 1
        for k in range(i, j + 1):
            result[order[k]] = (i + j) / 2
        i = j + 1
    return result


def procedures(result):
    """The functions that hold 99.9% of the samples."""
    functions = sorted(result["functions"], key=lambda f: -f["samples"])
    whole, seen = sum(f["samples"] for f in functions), 0
    for function in functions:
        if seen >= COVER * whole:
            return
        seen += function["samples"]
        yield function


def simulated(truth, events):
    """{image: {offset: weighted misses}}"""
    at = [truth["events"].index(event) - 1 for event in events if event in truth["events"]]
    weights = [120 if "L" in event[:2] and event[1] == "L" else 12 for event in events]
    return {image["build_id"]: {offset: sum(weights[i] * values[a] for i, a in enumerate(at)
                                            if a < len(values))
                                for offset, values in image.get("misses", ())}
            for image in truth["images"]}


def blamed(function, causes, share):
    """Samples that are blamed on these causes."""
    return function["samples"] / 100 * sum(share(function, cause) for cause in causes)


def measure(results, chosen, build, work):
    """Rows for the table, and the number of procedures."""
    points, parts = [], []
    for program in chosen:
        result = results.get(program.name, {})
        result = result.get("many+edges", result.get("many"))
        if not result:
            continue
        truth = truths.get_truth(program, build, work, geometry())
        misses = [simulated(truth, events) for _, events, _ in KINDS]
        begin = len(points)
        for function in procedures(result):
            points.append([function, [sum(m.get(function["image"], {}).get(o, 0)
                                          for o in function["offsets"]) * result["runs"]
                                      for m in misses]])
        parts.append(range(begin, len(points)))
    rows = []
    for i, (causes, _, label) in enumerate(KINDS):
        xs = [point[1][i] for point in points]
        low = [blamed(point[0], causes, lambda f, c: f["bounds"].get(c, [0, 0])[0])
               for point in points]
        high = [blamed(point[0], causes, lambda f, c: f["bounds"].get(c, [0, 0])[1])
                for point in points]
        likely = [blamed(point[0], causes, lambda f, c: f["likely"].get(c, 0)) for point in points]
        programs = [one for one in (pearson([xs[k] for k in part], [likely[k] for k in part])
                                    for part in parts) if one == one]
        mean = sum(programs) / len(programs) if programs else float("nan")
        rows.append([", ".join(causes), label, len(points)]
                    + [f"{pearson(xs, ys):.2f}" for ys in (low, high, likely)]
                    + [f"{pearson(ranks(xs), ranks(likely)):.2f}", f"{mean:.2f}"])
    return rows, len(points)
