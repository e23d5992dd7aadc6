# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A mean that a few wild values do not move, with its error."""
import math
import statistics

TRIM = 0.1  # of the values at each end


def mean(values):
    """The trimmed mean of at least 3 values and the half-width of its 95% interval (Tukey and McLaughlin 1963: the
    variance of the winsorized values); of fewer the mean, and no interval: infinity."""
    values, n = sorted(values), len(values)
    if n < 3:
        return (statistics.fmean(values) if values else math.nan), math.inf
    cut = int(TRIM * n)
    kept = values[cut:n - cut]
    winsorized = [kept[0]] * cut + kept + [kept[-1]] * cut
    error = statistics.stdev(winsorized) / ((1 - 2 * TRIM) * math.sqrt(n))
    # Student's t at 97.5%, by the first terms of Cornish and Fisher's expansion.
    free, z = len(kept) - 1, 1.96
    return statistics.fmean(kept), error * (z + (z ** 3 + z) / (4 * free) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) /
                                            (96 * free ** 2))
