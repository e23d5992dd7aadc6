# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Whether the intervals that calc gives hold the truth, for kinds of programs that did not choose them."""
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys

import culprit
import loops

SECONDS, RATE, MIXES = 1.0, 2000, 40
# What intervals promise, and what the rule is chosen to hold of the kinds that choose it.
PROMISED, TARGET = 0.9, 0.95
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


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


def record(build, program, parts, database, options):
    """What calc says of a recording, and the truth: {"functions": ..., "truth": {name: ...}}."""
    argv = [program, ",".join(f"{one.name}:{us}" for one, us in parts), str(SECONDS)]
    printed, _ = culprit.run_recorded(build, database, argv, ["-F", str(RATE), "-e", "cpu-clock", *options],
                                      os.path.dirname(database), dict(os.environ))
    document = culprit.calc(build, database)
    document["truth"] = loops.read_turns(printed)
    document["ghz"] = loops.find_ghz(document["truth"])
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


def read_rule():
    """How far one cause may be off, as logarithms, as the analysis has it: (below, above, best case)."""
    with open(os.path.join(ROOT, "src", "analyze", "frequency", "frequency_spread.c"),
              encoding="utf-8") as file:
        text = file.read()
    return tuple(float(re.search(rf"#define {name}\s+([0-9.]+)", text).group(1))
                 for name in ("SLOWNESS_BELOW", "SLOWNESS_ABOVE", "BEST_CASE_OFF"))


def count_causes(function):
    """As frequency_causes: the effective number of blocks, those that look the same as one."""
    shapes = {}
    for block in function["blocks"]:
        shape = block["instructions"], round(block["best_cpi"] * block["instructions"], 6)
        shapes[shape] = shapes.get(shape, 0) + block["samples"]
    squares = sum(n * n for n in shapes.values())
    return max(sum(shapes.values()) ** 2 / squares, 1) if squares else 1


class Observation:
    """What was said of a loop's CPI, and the truth; factors are logarithms."""

    def __init__(self, one, function, truth, document, rule):
        instructions = truth["rounds"] * one.instructions + truth["calls"] * one.once
        period = document["events"][0]["period"]
        # Where a part of the time is spent elsewhere, only samples tell the function's.
        ns = function["samples"] * period if one.partly else truth["ns"]
        self.kind, self.name = one.kind, one.name
        self.cpi = ns * document["ghz"] / instructions
        self.said, self.low, self.high = (function[k] for k in ("cpi", "cpi_low", "cpi_high"))
        self.held = self.low <= self.cpi <= self.high
        self.called = function["calls_low"] <= truth["calls"] <= (
            math.inf if function["calls_high"] is None else function["calls_high"])
        self.share = 1 / math.sqrt(count_causes(function))
        self.room = max(math.log(max(self.said, 1e-9) / max(function["best_cpi"], 1e-9)) + rule[2],
                        0)
        # What the interval would be without the widening.
        whole = math.log(self.high / self.said)
        self.own = math.sqrt(max(whole * whole - (rule[0] * self.share) ** 2, 0.01))

    def holds(self, below, above):
        """Whether the interval would have held the truth by another rule."""
        error = math.log(self.cpi / self.said)
        return (-math.hypot(self.own, min(above * self.share, self.room)) <= error
                <= math.hypot(self.own, below * self.share))


def observe(documents):
    """[(program, how, Observation)]"""
    rule, programs, found = read_rule(), list_programs(), []
    for (name, how), document in documents.items():
        functions = {f["name"]: f for f in document["functions"]}
        for one, _ in programs[name]:
            function = functions.get("loop_" + one.name)
            if function and function["cpi"] > 0:
                found.append((name, how, Observation(one, function, document["truth"][one.name],
                                                     document, rule)))
    return found


def mean_of_kinds(observations, held):
    """Each kind with the same weight, whatever the number of its loops."""
    kinds = {}
    for one in observations:
        kinds.setdefault(one.kind, []).append(held(one))
    return statistics.mean(statistics.mean(v) for v in kinds.values()) if kinds else float("nan")


def choose_rule(observations):
    """(below, above): the shortest interval that holds TARGET of the kinds' truths."""
    choices = ((below / 10, above / 10) for below in range(0, 61) for above in range(0, 41))
    for below, above in sorted(choices, key=lambda c: (sum(c), c)):
        if mean_of_kinds(observations, lambda o: o.holds(below, above)) >= TARGET:
            return below, above
    return 6.0, 4.0


def leave_kinds_out(observations):
    """Coverage of each kind by the rule that all others choose: {kind: share}."""
    found = {}
    for kind in sorted({one.kind for one in observations}):
        rule = choose_rule([one for one in observations if one.kind != kind])
        found[kind] = statistics.mean(one.holds(*rule) for one in observations if one.kind == kind)
    return found


def binomial_below(held, of, chance=0.05):
    """The least share for which as many as were held, or more, have so much chance (Clopper and
    Pearson)."""
    def more(share):
        return sum(math.comb(of, k) * share ** k * (1 - share) ** (of - k)
                   for k in range(held, of + 1))
    low, high = 0.0, 1.0
    while held and high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if more(middle) > chance else (middle, high)
    return low if held else 0.0


def measure(build, folder, only=None, keep=False):
    """Rows for tables.print_intervals, and whether what is promised is kept."""
    found = observe(collect(build, folder, only, keep))
    single = [o for name, _, o in found if not name.startswith("mix_")]
    mixed = [o for name, _, o in found if name.startswith("mix_")]
    left_out = leave_kinds_out(single)
    coverage = statistics.mean(left_out.values())
    bound = binomial_below(sum(o.held for o in single), len(single))
    return {"single": single, "mixed": mixed, "left_out": left_out, "coverage": coverage,
            "error": math.sqrt(coverage * (1 - coverage) / len(left_out)),
            "chosen": choose_rule(single), "bound": bound, "kept": bound >= PROMISED}
