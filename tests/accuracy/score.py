# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Holds estimates against a truth, as the paper's Figures 8 and 9 do.

Everything is by (image's build-id, offset). An estimate is (frequency, confidence), in any unit: the
scale is taken out, or not, as the question is. Errors are (estimate - truth) / truth.
"""
import bisect

CONFIDENCES = ("low", "medium", "high", "counted", "none")
EDGES_PERCENT = (-45, -40, -35, -30, -25, -20, -15, -10, -5, 0, 5, 10, 15, 20, 25, 30, 35, 40, 45)
WITHIN = (5, 10, 15, 25, 50)


class Histogram:
    """Weight by error: buckets 5 points wide as in the paper (the one at -15 is from -15 to -10),
    kept apart by confidence. Confidence 'none' has no estimate at all, and no error."""

    def __init__(self):
        self.items = {confidence: [] for confidence in CONFIDENCES}

    def add(self, error, weight, confidence):
        self.items[confidence].append((error, weight))

    def merge(self, other, scale=1.0):
        for confidence in CONFIDENCES:
            self.items[confidence] += [(e, w * scale) for e, w in other.items[confidence]]

    def weight(self, confidences=CONFIDENCES):
        return sum(w for c in confidences for _, w in self.items[c])

    def within(self, percent, confidences=CONFIDENCES):
        """The percentage of the weight whose error is at most so many percent."""
        all_weight = self.weight(confidences)
        good = sum(w for c in confidences if c != "none" for e, w in self.items[c]
                   if abs(e) <= percent / 100 + 1e-12)
        return 100 * good / all_weight if all_weight else float("nan")

    def buckets(self, confidences=CONFIDENCES):
        """[(label, percentage of all weight)]: below -45, -45..., 45 and above, no estimate."""
        bins, none = [0.0] * (len(EDGES_PERCENT) + 1), 0.0
        for confidence in confidences:
            for error, weight in self.items[confidence]:
                if confidence == "none":
                    none += weight
                else:
                    bins[bisect.bisect_right(EDGES_PERCENT, error * 100 + 1e-9)] += weight
        total = self.weight() or 1.0
        labels = ["<-45"] + [str(p) for p in EDGES_PERCENT[:-1]] + [">45"]
        return [(label, 100 * b / total) for label, b in zip(labels, bins)] + [
            ("none", 100 * none / total)]


class Truth:
    """A truth file, ready to be asked."""

    def __init__(self, document):
        self.total = document["total"]
        self.name = document["program"]
        self.counts, self.branches, self.order = {}, {}, {}
        for image in document["images"]:
            key = image["build_id"]
            self.counts[key] = dict(image["instructions"])
            self.order[key] = [offset for offset, _ in image["instructions"]]
            self.branches[key] = image["branches"]
        self.calls = {image["build_id"]: image["calls"] for image in document["images"]}

    def edges(self):
        """{(image, from, to): executions} of every way out of a jump."""
        found = {}
        for key, branches in self.branches.items():
            for source, executed, after, targets in branches:
                left = executed
                for to, times in targets:
                    found[key, source, to] = found.get((key, source, to), 0) + times
                    left -= times
                if after is not None and left > 0:
                    found[key, source, after] = found.get((key, source, after), 0) + left
        return found


class Estimates:
    """What culprit, or a simple rule, says of one recording.

    frequency: {image: {offset: (frequency, confidence)}}; functions: [(image, [offset...])], a
    partition of what is to be compared within functions; edges: {(image, from, to): (frequency,
    confidence)} with from the jump and to its target or the next instruction."""

    def __init__(self):
        self.frequency, self.functions, self.edges = {}, [], {}
        # Where the estimator says it itself, in executions for each instruction of the program.
        self.relative = {}
        # {image: {offset: (low, high)}} of the absolute count, said to hold it 9 times of 10.
        self.bounds = {}

    def scale(self):
        """From absolute to relative frequencies, as the estimator has it."""
        said = sum(f for image in self.relative.values() for f, _ in image.values())
        return said / self.total() if said and self.total() else 1 / (self.total() or 1.0)

    def total(self):
        return sum(f for image in self.frequency.values() for f, _ in image.values())


def true_estimates(truth):
    """The truth as an estimate: scores 100%."""
    estimates = Estimates()
    for key, counts in truth.counts.items():
        estimates.frequency[key] = {o: (float(n), "high") for o, n in counts.items()}
    estimates.edges = {edge: (float(n), "high") for edge, n in truth.edges().items()}
    estimates.functions = split_functions(truth)
    return estimates


def split_functions(truth):
    """Without symbols: a function begins where something calls."""
    starts = {key: set() for key in truth.counts}
    paths = {}
    for key, calls in truth.calls.items():
        for _, path, to, _ in calls:
            paths.setdefault(path, set()).add(to)
    for key in truth.counts:
        for targets in paths.values():
            starts[key] |= targets & truth.counts[key].keys()
    functions = []
    for key, order in truth.order.items():
        current = []
        for offset in order:
            if offset in starts[key] and current:
                functions.append((key, current))
                current = []
            current.append(offset)
        if current:
            functions.append((key, current))
    return functions


def sampled(truth, samples):
    """[(image, offset, samples, executions)] of the samples that the truth explains, and how many
    samples of its images it does not: on instructions that it never executed."""
    rows, strange = [], 0
    for key, offsets in samples.items():
        counts = truth.counts.get(key)
        if counts is None:
            continue
        for offset, number in offsets.items():
            if counts.get(offset, 0) > 0:
                rows.append((key, offset, number, counts[offset]))
            else:
                strange += number
    return rows, strange


def frequencies(truth, samples, estimates, mode, runs=1):
    """Figure 8. mode: 'absolute' (counts, of so many runs), 'relative' (of all instructions that the
    program executed), 'median' (the scale that suits most samples: what is left when it is given),
    'function' (of all instructions that the function executed)."""
    rows, _ = sampled(truth, samples)
    histogram = Histogram()
    if mode == "function":
        return within_functions(truth, rows, estimates)
    scale = {"absolute": lambda: 1.0 / runs,
             "relative": lambda: truth.total * (1 if estimates.relative else estimates.scale()),
             "median": lambda: median_scale(rows, estimates)}[mode]()
    have = estimates.relative if mode == "relative" and estimates.relative else estimates.frequency
    for key, offset, number, executions in rows:
        frequency, confidence = have.get(key, {}).get(offset, (0.0, "none"))
        histogram.add(frequency * scale / executions - 1, number, confidence)
    return histogram


def coverage(truth, samples, estimates, runs):
    """The percentage of samples whose true count is within the bounds that the estimator gives."""
    held = whole = 0
    for key, offset, number, executions in sampled(truth, samples)[0]:
        bounds = estimates.bounds.get(key, {}).get(offset)
        if bounds:
            whole += number
            held += number if bounds[0] <= executions * runs <= bounds[1] else 0
    return 100 * held / whole if whole else float("nan")


def within_functions(truth, rows, estimates):
    histogram, weights = Histogram(), {}
    sure = estimates.relative or estimates.frequency  # whose confidence does not hang on the scale
    for key, offset, number, _ in rows:
        weights.setdefault(key, {})[offset] = number
    for key, offsets in estimates.functions:
        seen = weights.get(key, {})
        hit = [o for o in offsets if o in seen]
        if not hit:
            continue
        have, counts = estimates.frequency.get(key, {}), truth.counts[key]
        said = sum(have[o][0] for o in offsets if o in have)
        true = sum(counts.get(o, 0) for o in offsets)
        for offset in hit:
            frequency, confidence = have.get(offset, (0.0, "none"))
            confidence = sure.get(key, {}).get(offset, (0.0, confidence))[1]
            scale = true / said if said > 0 else 0.0
            histogram.add(frequency * scale / counts[offset] - 1, seen.pop(offset), confidence)
    for offsets in weights.values():
        for number in offsets.values():
            histogram.add(0.0, number, "none")
    return histogram


def median_scale(rows, estimates):
    """The factor of which half of the samples want a greater one."""
    ratios = []
    for key, offset, number, executions in rows:
        frequency, _ = estimates.frequency.get(key, {}).get(offset, (0.0, "none"))
        if frequency > 0:
            ratios.append((executions / frequency, number))
    ratios.sort()
    half, seen = sum(n for _, n in ratios) / 2, 0
    for ratio, number in ratios:
        seen += number
        if seen >= half:
            return ratio
    return 1.0


def edge_frequencies(truth, estimates, mode, runs=1):
    """Figure 9: every way out of every executed jump, weighted by its executions."""
    histogram = Histogram()
    scale = 1.0 / runs if mode == "absolute" else truth.total * estimates.scale()
    for edge, executions in truth.edges().items():
        frequency, confidence = estimates.edges.get(edge, (0.0, "none"))
        histogram.add(frequency * scale / executions - 1, executions, confidence)
    return histogram


def instructions_error(truth, estimates, runs):
    """The whole program's executed instructions: estimate / truth - 1."""
    return estimates.total() / (truth.total * runs) - 1


def distance(truth, estimates):
    """Half the sum of absolute differences of the shares of executed instructions: 0 to 1."""
    total, apart = estimates.total() or 1.0, 0.0
    for key, counts in truth.counts.items():
        have = estimates.frequency.get(key, {})
        for offset in counts.keys() | have.keys():
            apart += abs(have.get(offset, (0.0,))[0] / total - counts.get(offset, 0) / truth.total)
    for key, have in estimates.frequency.items():
        if key not in truth.counts:
            apart += sum(f for f, _ in have.values()) / total
    return apart / 2


def mean_histogram(histograms):
    """Every program with the same weight."""
    whole = Histogram()
    for histogram in histograms:
        weight = histogram.weight()
        if weight:
            whole.merge(histogram, 1.0 / weight)
    return whole
