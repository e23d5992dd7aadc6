# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 2
# A clock's samples of kernel code that has interrupts off are taken where it lets them in again:
# reports blame that instruction, and no cache, for them.
. "$(dirname "$0")/../sampling.sh"
need_sampling

# Each page that is touched first is an exception: entered and left with interrupts off.
record faults -e cpu-clock -F 4000 --no-edges --no-stacks -- "$programs/deeds" 100000 0 0
check_status 'stalls of the kernel' 0 sh -c "'$culprit' stalls -i faults.db --image '[[]kernel.kallsyms]' --json >stalls.json"
check_status 'the same by that cause' 0 sh -c "'$culprit' stalls -i faults.db --image '[[]kernel.kallsyms]' --cause interrupts_off --json >masked.json"
cat >look.py <<'PY'
import json, sys
largest, masked = (json.load(open(f"{name}.json"))["rows"] for name in ("stalls", "masked"))
first = [row for row in largest if row["cause"] == "interrupts_off"]
print(f"{len(first)} of the kernel's first {len(largest)} stalls are of interrupts that were off")
assert first and masked[0]["culprits"].split()[0] == "interrupts_off", masked[:1]
assert masked[0]["blame"] == masked[0]["address"], masked[0]
print(masked[0]["address"], masked[0]["sampled"])
PY
check_status 'it is first of some of the largest' 0 sh -c 'python3 look.py >found'
read -r address sampled < <(tail -1 found)
check_status 'list of its address' 0 sh -c "'$culprit' list -i faults.db --image '[[]kernel.kallsyms]' '$address' >listing"
check_match 'is where interrupts are let in' listing "$address +(sti|popf)"
check_match 'its samples are shown behind it' listing "^ *[1-9][0-9]* .* $sampled "
check_status 'summary' 0 sh -c "'$culprit' summary -i faults.db --image '[[]kernel.kallsyms]' >summary"
check_match 'has a line of it' summary '^ *[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +dynamic +interrupts off'
record user -e cpu-clock:u -F 2000 --no-edges --no-stacks -- "$programs/shares"
check_status 'of user code' 0 sh -c "'$culprit' stalls -i user.db --cause interrupts_off --csv >user.csv"
check 'nothing is' test "$(grep -c interrupts_off user.csv)" = 0
tap_end
