# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Records programs, asks calc, and scores what it says against their truths."""
import os
import sys
import time

import culprit
import score
import simple
import truth as truths

# name of a recording -> (seconds of it; options of culprit record). The paper's one run is one second
# here, its many runs are five. Ten times the default budget for following samples gives in five
# seconds the windows of most of a minute at the default.
RECORDINGS = {
    "many+edges": (5, ["--edges", "--budget", "10"]),
    "many": (5, ["--no-edges"]),
    "one+edges": (1, ["--edges"]),
    "one": (1, ["--no-edges"]),
}
QUICK = ("many+edges", "many")
MODES = ("relative", "median", "function", "absolute")


def score_all(truth, samples, estimates, runs):
    """{mode or 'edges': histogram}, and single numbers."""
    found = {mode: score.frequencies(truth, samples, estimates, mode, runs) for mode in MODES}
    found["edges"] = score.edge_frequencies(truth, estimates, "relative", runs)
    found["edges absolute"] = score.edge_frequencies(truth, estimates, "absolute", runs)
    return {"histograms": found, "coverage": score.coverage(truth, samples, estimates, runs),
            "instructions": score.instructions_error(truth, estimates, runs),
            "distance": score.distance(truth, estimates)}


def summarize(documents):
    """Shares of all samples, by cause, from calc's functions: {cause: likely}, and unexplained."""
    whole, causes = 0, {}
    for function in documents["functions"]:
        whole += function["samples"]
        for cause, share in function["summary_likely"].items():
            causes[cause] = causes.get(cause, 0) + share / 100 * function["samples"]
        for extra in ("execution",):
            share = function["summary"].get(extra, [0])[0]
            causes[extra] = causes.get(extra, 0) + share / 100 * function["samples"]
    return {cause: 100 * n / whole for cause, n in causes.items()} if whole else {}


def measure_recording(program, truth, build, work, folder, name, rate, keep):
    seconds, options = RECORDINGS[name]
    target = os.path.join(folder, f"{program.name}.{name}")
    if not (keep and os.path.exists(target + ".runs")):
        culprit.record_repeated(build, work, program, target, seconds,
                                ["-F", str(rate), "-e", "cpu-clock:u", *options])
    runs, _ = culprit.read_runs(target)
    samples, edges = culprit.read_samples(build, target + ".db")
    rows, strange = score.sampled(truth, samples)
    result = {"runs": runs, "samples": sum(row[2] for row in rows), "strange": strange,
              "edges": edges, "methods": {}}
    begin = time.monotonic()
    methods = [("ours", [])] + ([("classic", ["--classic"])] if name == "many" else [])
    for method, extra in methods:
        document = culprit.calc(build, target + ".db", *extra)
        estimates = culprit.read_estimates(document, truth.counts)
        result["methods"][method] = score_all(truth, samples, estimates, runs)
        if method == "ours":
            result["seconds"] = time.monotonic() - begin
            result["causes"] = summarize(document)
            result["functions"] = [
                {"image": f["build_id"], "start": int(f["start"], 16), "size": f["size"],
                 "name": f["name"], "samples": f["samples"], "likely": f["summary_likely"],
                 "bounds": f["summary"], "offsets": [int(i["address"], 16)
                                                     for i in f["instructions"]]}
                for f in document["functions"]]
    if name == "many":
        for method, estimator in (("samples", simple.raw_samples),
                                  ("samples/instruction", simple.samples_per_instruction)):
            result["methods"][method] = score_all(truth, samples, estimator(truth, samples), runs)
    return result


def measure_program(program, build, work, folder, options):
    """{recording: result}; a recording that failed is left out and said."""
    truth = score.Truth(truths.get_truth(program, build, work))
    results = {}
    for name in QUICK if options.quick else RECORDINGS:
        try:
            begin = time.monotonic()
            results[name] = measure_recording(program, truth, build, work, folder, name,
                                              options.rate, options.keep)
            one = results[name]
            print(f"accuracy: {program.name} {name}: {one['runs']} runs, {one['samples']} samples, "
                  f"{one['edges']} outcomes, {time.monotonic() - begin:.0f} s", file=sys.stderr,
                  flush=True)
        except (culprit.Failed, OSError, ValueError, KeyError) as error:
            print(f"accuracy: {program.name} {name}: failed: {error!r}"[:400], file=sys.stderr,
                  flush=True)
    return results
