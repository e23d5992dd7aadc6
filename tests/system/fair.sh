# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# Samples are shared out as the time was: for a program of known shares, and for one whose phases are
# locked to the sampling rate, which fixed periods charge wrongly.
. "$(dirname "$0")/../sampling.sh"
need_sampling

# Turns of random length: at worst as good as independent samples, so the binomial standard error
# holds. Four comparisons at 4 standard errors: a false alarm in 1 of 4000 runs.
record shares -F 2000 -- "$programs/shares" 6
expect 'each function gets its share of the time' shares.db '
truth = {name: int(ns) for name, ns in (line.split() for line in open("shares.out"))}
found = {name: p.function(name) for name in truth}
n, whole = sum(found.values()), sum(truth.values())
assert n > 3000, p.top()
for name, ns in truth.items():
    wanted, got = ns / whole, found[name] / n
    error = math.sqrt(wanted * (1 - wanted) / n)
    print(f"{name}: {100 * got:.2f}%, in truth {100 * wanted:.2f}% (+-{100 * error:.2f})")
    assert abs(got - wanted) < 4 * error'

# Repetitions are independent: each has periods and redraws of its own.
repetitions=8
phases() { # NAME OPTION...
	local name=$1 i
	shift
	for i in $(seq $repetitions); do
		record "$name$i" -F 1000 "$@" -- "$programs/phases" 1000000 2.5
	done
}
read_phases="
def shares(name):
    for i in range(1, $repetitions + 1):
        q = Profile(p.culprit, f'{name}{i}.db')
        first, rest = q.function('phase_first'), q.function('phase_rest')
        assert first + rest > 300, q.top()
        yield first / (first + rest) - float(open(f'{name}{i}.out').read())
"

# Student's t with 7 degrees of freedom passes 3 in 2 of 100 runs, so an unlucky series is repeated,
# twice at most: a false alarm in 1 of 125,000 runs. A fixed period has no such luck (below).
fair() {
	local attempt
	for attempt in 1 2 3; do
		phases random
		if python3 -c "from profile_reader import *
p = Profile('$culprit', 'shares.db')
$read_phases
mean, error = mean_and_error(list(shares('random')))
print(f'attempt $attempt: off by {100 * mean:+.2f} +- {100 * error:.2f}% of the time')
assert error < 0.03
assert abs(mean) < 3 * error"; then return 0; fi
	done
	return 1
}
# Not check: what it measured is to be seen.
if fair >fair.out 2>&1; then pass 'phases locked to the rate get their shares'; else
	fail 'phases locked to the rate get their shares' "$(cat fair.out)"
fi
sed 's/^/# /' fair.out

# Each repetition hits the program at one place only, so that its share is 0 or 1; a late timer may
# blur one that is near an end of the phase, so half of them must be.
repetitions=4
phases fixed --fixed-periods
expect 'and with fixed periods they do not' shares.db "${read_phases//8/$repetitions}"'
found = list(shares("fixed"))
print("off by", ", ".join(f"{100 * x:+.1f}%" for x in found))
assert sum(abs(x) > 0.2 for x in found) >= len(found) / 2'
tap_end
