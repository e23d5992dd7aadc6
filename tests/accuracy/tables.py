# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Prints what was measured as tables in Markdown."""
import os
import platform
import statistics
import subprocess
import time

import ablation
import score

LABEL = {"relative": "whole program", "median": "whole program, best scale given",
         "function": "within each function", "absolute": "absolute counts", "edges": "edges",
         "edges absolute": "edges, absolute"}
SOURCES = (("many", "samples"), ("many", "samples/instruction"), ("many", "classic"),
           ("many", "ours"), ("many+edges", "ours"), ("one", "ours"),
           ("one+edges", "ours"))


def number(value, digits=0):
    return "-" if value != value else f"{value:.{digits}f}"


def row(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def table(head, rows):
    return "\n".join([row(*head), row(*["---"] * len(head)), *[row(*r) for r in rows]]) + "\n"


def collect(results, recording, method, mode):
    """The histograms of all programs that have one."""
    return [r[recording]["methods"][method]["histograms"][mode] for r in results.values()
            if recording in r and method in r[recording]["methods"]]


def source_name(recording, method):
    return {"samples": "samples alone", "samples/instruction": "samples / instructions",
            "classic": "`--classic`", "ours": "culprit"}[method] + (
                ", edge samples" if "edges" in recording else "") + (
                ", 1 s" if recording.startswith("one") else "")


def print_overall(results):
    for mode in ("relative", "median", "function", "absolute", "edges", "edges absolute"):
        rows = []
        for recording, method in SOURCES:
            histograms = collect(results, recording, method, mode)
            if not histograms or (mode.startswith("edges") and method.startswith("samples")):
                continue
            whole = score.mean_histogram(histograms)
            rows.append([source_name(recording, method), len(histograms)]
                        + [number(whole.within(w)) for w in score.WITHIN]
                        + [number(whole.buckets()[-1][1], 1)])
        print(f"### {LABEL[mode].capitalize()}: percent "
              f"{'of executions' if 'edges' in mode else 'of samples'} within\n")
        print(table(["estimate", "programs", *[f"{w}%" for w in score.WITHIN], "no estimate"], rows))


def print_histograms(results):
    for mode, title in (("relative", "Figure 8: relative frequency, weighted by samples"),
                        ("edges", "Figure 9: edges, weighted by executions")):
        columns, heads = [], []
        for recording, method in (("many+edges", "ours"), ("many", "ours"), ("many", "classic")):
            histograms = collect(results, recording, method, mode)
            if not histograms:
                continue
            whole = score.mean_histogram(histograms)
            for confidences in (score.CONFIDENCES, ("high",), ("medium",), ("low",)):
                if method == "classic" and len(confidences) == 1:
                    continue
                heads.append(source_name(recording, method)
                             + ("" if len(confidences) > 1 else ": " + confidences[0]))
                columns.append(whole.buckets(confidences))
        if columns:
            print(f"### {title}\n")
            print(table(["error from", *heads],
                        [[label] + [number(c[i][1], 1) for c in columns]
                         for i, (label, _) in enumerate(columns[0])]))


def print_confidence(results):
    """Of the estimates of each confidence: how many are so good."""
    rows = []
    for recording, method in (("many+edges", "ours"), ("many", "ours"), ("one+edges", "ours"),
                              ("one", "ours"), ("many", "classic")):
        for mode in ("relative", "function", "absolute", "edges"):
            histograms = collect(results, recording, method, mode)
            if not histograms:
                continue
            whole = score.mean_histogram(histograms)
            for confidence in ("high", "medium", "low"):
                if not whole.weight((confidence,)):
                    continue
                share = 100 * whole.weight((confidence,)) / (whole.weight() or 1)
                rows.append([source_name(recording, method), LABEL[mode], confidence,
                             number(share, 1)] + [number(whole.within(w, (confidence,)))
                                                  for w in (15, 25, 50)])
    print("### Calibration of confidence: what is within, of the weight at each level\n")
    print(table(["estimate", "of", "level", "share of weight", "15%", "25%", "50%"], rows))


def print_programs(results):
    rows = []
    for name, recordings in results.items():
        cells = [name]
        for recording, method, mode, within in (
                ("many+edges", "ours", "relative", 10), ("many+edges", "ours", "relative", 25),
                ("many+edges", "ours", "function", 10), ("many+edges", "ours", "function", 25),
                ("many+edges", "ours", "absolute", 25), ("many+edges", "ours", "edges", 10),
                ("many", "ours", "relative", 25), ("many", "ours", "function", 25),
                ("many", "classic", "relative", 25), ("one+edges", "ours", "relative", 25)):
            found = collect({name: recordings}, recording, method, mode)
            cells.append(number(found[0].within(within)) if found else "-")
        with_edges = recordings.get("many+edges", {})
        ours = with_edges.get("methods", {}).get("ours", {})
        cells += [number(100 * ours.get("instructions", float("nan"))) + "%",
                  number(ours.get("coverage", float("nan"))),
                  number(ours.get("distance", float("nan")), 2),
                  number(with_edges.get("causes", {}).get("unexplained", float("nan")), 1),
                  with_edges.get("samples", "-"), with_edges.get("edges", "-"),
                  number(100 * with_edges.get("strange", 0) / max(1, with_edges.get("samples", 1)),
                         1), number(with_edges.get("seconds", float("nan")), 1)]
        rows.append(cells)
    print("### Each program (five seconds)\n")
    print("E: with edge samples, N: without, C: `--classic`, 1: one second with edge samples. In percent of "
          "samples (edges: of executions) within 10 or 25%. Then, with edge samples: all "
          "instructions, estimate over truth less one; percent of samples whose true count is "
          "within the bounds given (90 is promised); distance of the estimated from the true "
          "distribution of instructions (0 to 1); percent of samples unexplained; samples; "
          "outcomes; percent of samples on instructions that the truth never executed; seconds of "
          "`calc` for all.\n")
    print(table(["program", "E whole 10", "E whole 25", "E function 10", "E function 25",
                 "E absolute 25", "E edges 10", "N whole 25", "N function 25", "C whole 25",
                 "1 whole 25", "all instructions", "in bounds", "distance", "unexplained",
                 "samples", "outcomes", "strange", "seconds"], rows))


def print_causes(results):
    sums, count = {}, 0
    for recordings in results.values():
        causes = recordings.get("many+edges", recordings.get("many", {})).get("causes")
        if causes:
            count += 1
            for cause, share in causes.items():
                sums[cause] = sums.get(cause, 0) + share
    if count:
        print("### Where the samples went, mean of the programs\n")
        print(table(["cause", "percent of samples, as the likeliest share"],
                    [[c, number(s / count, 1)] for c, s in
                     sorted(sums.items(), key=lambda item: -item[1])]))


def print_known(rows):
    right = sum(1 for _, good, _ in rows if good)
    print(f"### Known answers: {right} of {len(rows)} right\n")
    print(table(["case", "", "said of the most expensive instruction; shares of the function"],
                [[case, "right" if good else "**wrong**", said] for case, good, said in rows]))


def print_intervals(found):
    single, mixed = found["single"], found["mixed"]
    print("### Intervals of a function's CPI, 90% promised: loops of one cause each\n")
    rows = []
    for kind in sorted(found["left_out"]):
        of = [o for o in single if o.kind == kind]
        errors = sorted(o.said / o.cpi for o in of)
        rows.append([kind, len(of), sum(o.held for o in of), f"{100 * found['left_out'][kind]:.0f}",
                     f"{errors[0]:.2g} to {errors[-1]:.2g}"])
    print(table(["kind", "recordings", "held", "held when left out, %", "said over true"], rows))
    print(f"The rule that each kind's others choose holds {100 * found['coverage']:.0f}% of the kinds "
          f"left out (+-{100 * found['error']:.0f}, one binomial standard error of "
          f"{len(found['left_out'])} kinds). As built it holds {sum(o.held for o in single)} of "
          f"{len(single)} recordings: at least {100 * found['bound']:.1f}% (95% confidence); of "
          f"mixtures {sum(o.held for o in mixed)} of {len(mixed)}. Calls: "
          f"{sum(o.called for o in single)} of {len(single)}. All kinds together choose "
          f"{found['chosen'][0]:.1f} and {found['chosen'][1]:.1f}.\n")
    if not found["kept"]:
        print("**Less than the 90% that is promised.**\n")


def print_confusion(rows, how):
    """Which cause was said where another is the first."""
    said = {}
    for row in rows:
        true = ablation.true_first(row, how)
        if true:
            have = said.setdefault(true, {})
            first = row["said"][how]["first"]
            have[first] = have.get(first, 0) + 1
    print(table(["first cause", "kernels", "said"],
                [[true, sum(have.values()), ", ".join(f"{cause} {have[cause]}" for cause in
                                                      sorted(have, key=lambda cause: (-have[cause], cause)))]
                 for true, have in sorted(said.items())]))


def print_ablation(found):
    """found: {which seeds: rows of ablation.measure}"""
    evidence = {"samples": "samples alone", "counts": "counted (`--counts=all`)"}
    for which, title in (("choose", "seeds that may choose rules"), ("judge", "seeds left out")):
        rows = found.get(which, [])
        for how, label in evidence.items():
            print(f"### Causes left out of made loops: {title}, {label}\n")
            groups = [("one cause", [r for r in rows if len(r["causes"]) == 1]),
                      ("several", [r for r in rows if len(r["causes"]) > 1]), ("all", rows)]
            cells = []
            for name, group in groups:
                s = ablation.summarize(group, how)
                cells.append([name, s["kernels"], f"{s['right']} of {s['asked']}", f"{s['blamed']} of {s['right']}",
                              s["near"], s["held"], number(s["slower"], 2), number(s["r"], 2), number(s["r_there"], 2)])
            print(table(["kernels", "", "right first cause", "and the instruction", "CPI within 25%",
                         "CPI in the interval", "time of the run over that alone", "r of cycles",
                         "r, causes that are there"], cells))
            print_confusion(rows, how)


def print_counted(results):
    print("### Counted: as if `record --counts=all` had counted what callgrind did, percent within\n")
    rows = []
    for name, what in (("today", "without counts"), ("whole", "all functions counted")):
        for mode in ("relative", "absolute", "edges absolute"):
            whole = score.mean_histogram([r[name][mode] for r in results.values()])
            rows.append([what, LABEL[mode], len(results)] + [number(whole.within(w)) for w in score.WITHIN])
    print(table(["evidence", "of", "programs", *[f"{w}%" for w in score.WITHIN]], rows))
    left = [one for r in results.values() for one in r["left"]]
    if left:
        print(f"Of {len(left)} functions (of the most sampled of each program) left out of the counts one at a time, "
              f"{sum(abs(after) < abs(before) for _, before, after, _ in left)} are nearer with counts of the others; the "
              f"median error (logarithm) is {statistics.median(abs(before) for _, before, _, _ in left):.2f} without and "
              f"{statistics.median(abs(after) for _, _, after, _ in left):.2f} with them; {sum(held for *_, held in left)} are in "
              "their interval.\n")


def print_misses(rows, points):
    print("### Figure 10: blamed cycles against simulated misses, by procedure\n")
    print(table(["culprit", "simulated", "procedures", "r, low end", "r, high end", "r, likeliest",
                 "rank correlation, likeliest", "r, likeliest, mean of programs"], rows))
    print(f"{points} procedures in all: those that hold 99.9% of the samples of their program.\n")


def print_machine(options):
    model = "unknown"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    commit = subprocess.run(["git", "-C", os.path.dirname(os.path.abspath(__file__)), "rev-parse",
                             "--short", "HEAD"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL).stdout.decode().strip()
    print(f"Measured on {time.strftime('%Y-%m-%d', time.gmtime())} at commit {commit or 'unknown'}: "
          f"{model}, {os.cpu_count()} CPUs, Linux {platform.release()}, cpu-clock:u at "
          f"{options.rate} samples a second; load average at the end {os.getloadavg()[0]:.1f}"
          f"{', --quick' if options.quick else ''}{', --only ' + options.only if options.only else ''}.\n")


def print_frequencies(results):
    print_overall(results)
    print_histograms(results)
    print_confidence(results)
    print_programs(results)
    print_causes(results)
