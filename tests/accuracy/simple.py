# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Estimators so simple that their scores are known: they show that the scoring is right, and what
the real ones have to beat. They are given the blocks that the truth saw, which flatters them."""
import score


def split_blocks(truth):
    """{image: [[offset...]]}: runs of instructions that are entered and left at their ends only."""
    blocks = {}
    for key, order in truth.order.items():
        leaders, ends = set(), set()
        for source, _, _, targets in truth.branches[key]:
            ends.add(source)
            leaders.update(to for to, _ in targets)
        for calls in truth.calls.values():
            leaders.update(to for _, _, to, _ in calls)
        counts, current, found = truth.counts[key], [], []
        for offset in order:
            if current and (offset in leaders or current[-1] in ends or offset - current[-1] > 15
                            or counts[offset] != counts[current[-1]]):
                found.append(current)
                current = []
            current.append(offset)
        if current:
            found.append(current)
        blocks[key] = found
    return blocks


def samples_per_instruction(truth, samples, period_instructions=1.0):
    """A block's frequency is its samples over its instructions: every instruction costs the same."""
    estimates = score.Estimates()
    for key, blocks in split_blocks(truth).items():
        seen, have = samples.get(key, {}), {}
        for block in blocks:
            number = sum(seen.get(offset, 0) for offset in block)
            for offset in block:
                have[offset] = (number * period_instructions / len(block), "low")
        estimates.frequency[key] = have
    estimates.functions = score.split_functions(truth)
    return estimates


def raw_samples(truth, samples):
    """An instruction's frequency is its samples."""
    estimates = score.Estimates()
    for key, counts in truth.counts.items():
        seen = samples.get(key, {})
        estimates.frequency[key] = {offset: (float(seen.get(offset, 0)), "low") for offset in counts}
    estimates.functions = score.split_functions(truth)
    return estimates
