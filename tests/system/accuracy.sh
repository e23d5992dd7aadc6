# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# A small part of `make accuracy`, with wide bounds: frequencies of one kernel against exact counts,
# and the culprits of programs that have but one.
. "$(dirname "$0")/../sampling.sh"
need_sampling
if ! command -v valgrind >/dev/null; then
	skip 'accuracy' 'no valgrind here (see tests/accuracy/deps)'
	tap_end
fi

ask() { # NAME QUESTION
	check "$1" python3 "$root/tests/accuracy/check.py" "$build" "$PWD" "$2"
}

# Deterministic: a truth against itself.
ask 'the scoring gives the truth 100%, and a rough estimate less' scoring
# Half a percent on average, of 2000 or more samples: 4% and 10 samples is over 20 standard errors.
ask 'samples lie where the exact counts are' executed
# 97% of the samples in every recording so far; the branch ratios that decide it have
# a standard error of 2%, so a wrong half of the samples is no accident (under 1 of 100,000 runs).
ask 'frequencies within functions, with edge samples' frequency
# Over nine tenths of the samples are the culprit's; the share is binomial with a standard error of
# 1%, so its fall under all others' is no accident. Noise of the machine is met by a second try.
ask 'culprits that are the only ones' known
# Of intervals that hold in 90% of all, 6 or fewer of 12 hold once in 1800 runs; of first causes of which 73% are
# right by samples and 95% by counts, 5 or fewer of five each are once in 120, and twice in a row once in 15,000.
ask 'loops made by chance, with and without each cause' made
tap_end
