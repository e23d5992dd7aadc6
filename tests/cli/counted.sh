# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC1091,SC2154
# Executions that were counted, in reports on made databases: exact where they are those of the samples, else ratios.
. "$(dirname "$0")/../tap.sh"
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS

cat >nest.s <<'S'
	.text
	.globl nest, main
	.type nest, @function
	.type main, @function
nest:
	mov $10, %ecx
outer:
	mov $10, %edx
inner:
	add $1, %eax
	sub $1, %edx
inner_jump:
	jnz inner
latch:
	sub $1, %ecx
latch_jump:
	jnz outer
out:
	ret
	.size nest, . - nest
main:
	xor %eax, %eax
main_call:
	call nest
main_after:
	ret
	.size main, . - main
	.section .note.GNU-stack, "", @progbits
S
check "assemble" gcc -g -Wl,--build-id nest.s -o nest
id=$(readelf -n nest | sed -n 's/.*Build ID: //p')
at() { echo $((0x$(nm nest | awk -v name="$1" '$3 == name { print $1 }'))); }
samples() { # ADDRESS COUNT COMM
	printf 'sample\t1\t%s\t%s\tcycles\t1000\t%d\t%d\tcomm=%s\n' "$id" "$PWD/nest" "$(at "$1")" "$2" "$3"
}
count() { # FROM TO COUNT
	local from=-1 to=-1
	[ "$1" = start ] || from=$(at "$1")
	[ "$2" = end ] || to=$(at "$2")
	printf 'edge\t1\t%s\t%s\texecutions\t%d\t%d\t%d\t%d\n' "$id" "$PWD/nest" "$from" "$to" "$3" "${windows:-$3}"
}
# An epoch of 400 million cycles in nest, which main calls.
sampled() { # START_S
	printf 'epoch\t%d\t%d\n' "$1" $(($1 + 100))
	samples inner 300000 nest
	samples latch 100000 nest
	samples main 1000 nest
}
counts_of_nest() {
	count start nest 3000000
	count nest outer 3000000
	count outer inner 30000000
	count inner_jump inner 270000000
	count inner_jump latch 30000000
	count latch_jump outer 27000000
	count latch_jump out 3000000
	count out end 3000000
}
main_too() { count start main 5; count main_call main_after 5; count main_after end 5; }
whole() { printf 'fact\tcounts\twhole\n'; }
made() { "$build/tests/cli/mkdb" "$1" m1 || fail "mkdb $1"; }

labels=$(for label in nest outer inner latch out; do printf '%d: "%s", ' "$(at $label)" $label; done)
# json ASSERTION: over the JSON j in out, nest in f, its blocks by label in b, and notes.
json() {
	python3 -c '
import json
j = json.load(open("out")); notes = "\n".join(j["notes"])
f = next((f for f in j["functions"] if f["name"] == "nest"), None)
labels = {'"$labels"'}
b = {labels[int(x["start"], 16)]: x for x in f["blocks"]} if f else {}
assert ('"$1"'), json.dumps([notes, f and [f["calls"], f["cpi"], f["edges"]],
	{k: (x["frequency"], x["confidence"], x["cpi"]) for k, x in b.items()}])'
}
calc() { "$culprit" calc -i "$1" --json --cutoff 100 --blocks 0 "${@:2}"; }

{ sampled 100; counts_of_nest; whole; } | made whole.db
check_status "calc of a run that was counted whole" 0 calc whole.db
check "its blocks ran as often as was counted" json '{k: x["frequency"] for k, x in b.items()} == {
	"nest": 3e6, "outer": 3e7, "inner": 3e8, "latch": 3e7, "out": 3e6}'
check "the bounds are the count, and the confidence says so" json 'f["counted"] and all(x["confidence"] == "counted" and
	x["frequency_low"] == x["frequency"] == x["frequency_high"] for x in b.values())'
check "so did its edges" json 'sorted(e["frequency"] for e in f["edges"]) == [3e6, 3e6, 2.7e7, 3e7, 3e7, 2.7e8]
	and all(e["confidence"] == "counted" for e in f["edges"])'
check "and its calls" json 'f["calls"] == f["calls_low"] == f["calls_high"] == 3e6'
check "cycles an instruction are those of the samples" json 'abs(f["cpi"] / (4e8 / 9.96e8) - 1) < 1e-6'
check "as well known as the samples are many" json 'f["cpi_low"] > 0.99 * f["cpi"] and f["cpi_high"] < 1.01 * f["cpi"]'
check "the header says so" json '"executions of 1 function with 99.8% of the samples are counted, others estimated" in notes'
check "who was not counted is estimated" json 'not next(f for f in j["functions"] if f["name"] == "main")["counted"]'
check_status "calc as text" 0 "$culprit" calc -i whole.db --blocks 0 nest
check_match "has counts with all their digits" out 'executed 300000000 \(counted\)$'
check_match "and calls" out 'called 3000000 \(counted\)$'
check_status "calc of functions, for tables" 0 "$culprit" calc -i whole.db --brief --csv nest
check "has counts that are known as such, and how well the cycles are" python3 -c '
import csv
f, = csv.DictReader(open("out"))
assert (f["calls"], f["calls_low"], f["calls_high"], f["confidence"]) == ("3000000", "3000000", "3000000", "counted"), f
assert f["cpi_confidence"] == "high", f
'
check_status "list" 0 "$culprit" list -i whole.db nest
check_match "says that executions are counted" out '^note: executions are counted; CPI: '
check_match "has them without a range" out ' 300000000  '
{ sampled 100; count start nest 3; count nest outer 3; count outer inner 30; count inner_jump inner 270; count inner_jump latch 27; whole
} | made never.db
check_status "list of a function that was never left" 0 "$culprit" list -i never.db nest
check_match "says which instruction never ran" out '^ +0 .*retq'
{ sampled 100 | grep -v "$(printf '\t%d\t1000\t' "$(at main)")"; counts_of_nest; main_too; whole; } | made short.db
check_status "calc of a counted function that ran too little to be sampled" 0 "$culprit" calc -i short.db main
check_match "has its calls" out '^\*\*\* 0 samples, .* called 5 \(counted\)$'
check_match "and its blocks, of none of which the share is small" out 'executed 5 \(counted\)$'
check "and no causes of nothing" eval '! grep -q "total tallied" out'
check_status "list of it" 0 "$culprit" list -i short.db main
check_match "has its executions" out '^ +5 .*callq'
check_status "a part of its name" 1 "$culprit" calc -i short.db mai
check_match "is not enough" err "no samples in 'mai'"
check_match "and it is said of which files counts are shown" err 'counted is shown only of files that have samples'
check_status "cfg" 0 "$culprit" cfg -i whole.db nest
check_match "says so" out 'executions, which were counted'
check_status "the rule of DCPI" 0 calc whole.db --classic
check "has the counts all the same" json 'b["inner"]["frequency"] == 3e8 and b["inner"]["confidence"] == "counted"'
check_status "verify" 0 "$culprit" db verify whole.db

# Samples of a clock of 1 GHz: a fifth of the time between them was that of interrupts.
{ sampled 100 | sed 's/\tcycles\t/\tcpu-clock\t/'; counts_of_nest; whole
	printf 'fact\t%s\t%s\n' clock_hz 1000000000 clock_deviation 0.03 interrupted 0.2
} | made clock.db
check_status "calc of samples of a clock" 0 calc clock.db
check "what interrupts took is not the program's" json 'abs(f["cpi"] / (0.87 * 4e8 / 9.96e8) - 1) < 1e-6'
check "it is known no better than that, and the clock" json '1.08 < f["cpi_high"] / f["cpi"] < 1.09 and
	1.08 < f["cpi"] / f["cpi_low"] < 1.09'

# A share that nothing can have taken.
{ sampled 100 | sed 's/\tcycles\t/\tcpu-clock\t/'; counts_of_nest; whole
	printf 'fact\t%s\t%s\n' clock_hz 1000000000 interrupted -5
} | made odd.db
check_status "calc where interrupts took less than nothing" 0 calc odd.db
check "they took nothing" json 'abs(f["cpi"] / (4e8 / 9.96e8) - 1) < 1e-6'

# Ratios alone: once around the outer loop is ten times around the inner, and no scale.
ratios() { # NAME WHY
	check "$1" json 'f and not f["counted"] and not any(x["confidence"] == "counted" for x in b.values())
	and 8 < b["inner"]["frequency"] / b["latch"]["frequency"] < 12.5
	and "counts of 1 function are used for ratios of branches alone: '"$2"'" in notes'
}
{ sampled 100; counts_of_nest; printf 'fact\tcounts\tpart\n'; } | made part.db
check_status "calc of a run that was counted in part" 0 calc part.db
ratios "its counts are no executions" 'not all that was sampled was counted'
{ sampled 100; counts_of_nest; } | made unsaid.db
check_status "calc of counts of which nobody says what they are of" 0 calc unsaid.db
ratios "they are of a part" 'not all that was sampled was counted'
{ sampled 100; counts_of_nest; whole; sampled 300; } | made mixed.db
check_status "calc of two epochs, of which one was counted" 0 calc mixed.db --epoch all
ratios "counts of one do not divide samples of the other" 'not all epochs have counts'
check_status "calc of the one that was" 0 calc mixed.db --epoch 19700101T000140Z
check "has its counts" json 'f["counted"] and b["inner"]["frequency"] == 3e8'
check_status "calc of the one that was not" 0 calc mixed.db --epoch 19700101T000500Z
check "has none" json 'not f["counted"] and "counted" not in notes'
{ sampled 100; counts_of_nest; whole; sampled 300; counts_of_nest; whole; } | made both.db
check_status "calc of two epochs, both counted" 0 calc both.db --epoch all
check "has the sum" json 'f["counted"] and b["inner"]["frequency"] == 6e8 and abs(f["cpi"] / (4e8 / 9.96e8) - 1) < 1e-6'
{
	sampled 100; counts_of_nest; whole
	sampled 300; main_too; whole
} | made some.db
check_status "calc of two epochs, of which one has no counts of a function" 0 calc some.db --epoch all
check "it has ratios" json 'not f["counted"] and "counts of 2 functions are used for ratios of branches alone: not all epochs have them" in notes'
{ sampled 100; counts_of_nest; main_too; whole; } | made all.db
check_status "calc of a run of which everything was counted" 0 "$culprit" calc -i all.db --brief --cutoff 100
check_match "it is not about so many instructions" out '^note: 996000015 \(counted\) instructions in all$'
{ sampled 100; samples inner 300000 other; counts_of_nest; whole; } | made subjects.db
check_status "calc of one process of several" 0 calc subjects.db --subject comm=nest
ratios "counts of all do not divide its samples" 'a part of the samples is selected'
{ printf 'epoch\t50\t60\n'; counts_of_nest; whole; sampled 100; counts_of_nest; whole; } | made unsampled.db
check_status "calc with counts of an epoch without samples" 0 calc unsampled.db --epoch all
ratios "they do not go with the samples of another" 'an epoch with counts has no samples'

# Bursts: executions for the whole time, as well known as so many events.
{ sampled 100; windows=400 counts_of_nest; printf 'fact\tcounts\tbursts\n'; } | made bursts.db
check_status "calc of a run that was counted in bursts" 0 calc bursts.db
check "its blocks have what bursts say" json '{k: x["frequency"] for k, x in b.items()} == {
	"nest": 3e6, "outer": 3e7, "inner": 3e8, "latch": 3e7, "out": 3e6}'
check "within what 400 events tell, and what counting costs" json 'not f["counted"] and all(x["confidence"] == "medium" and
	1.28 < x["frequency_high"] / x["frequency"] < 1.31 and 1.28 < x["frequency"] / x["frequency_low"] < 1.31 and
	x["relative_confidence"] == "high" and 1.10 < x["relative_high"] / x["relative"] < 1.14
	for x in (b["nest"], b["latch"], b["out"]))'
check "as the note says" json '"executions of 1 function with 99.8% of the samples are counted in bursts, others estimated; " in notes'
{
	sampled 100; windows=4 counts_of_nest; printf 'fact\tcounts\tbursts\n'
} | made few.db
check_status "calc of few bursts" 0 calc few.db
check "knows little" json 'b["nest"]["confidence"] == "low" and 2.2 < b["nest"]["frequency_high"] / 3e6 < 2.4'
{
	sampled 100; windows=400 counts_of_nest | grep -v "$(printf '\t%d\t-1\t' "$(at out)")" | grep -v "$(printf '\t%d\t%d\t' "$(at latch_jump)" "$(at out)")"
	printf 'fact\tcounts\tbursts\n'
} | made unseen.db
check_status "calc of bursts that saw no end" 0 calc unseen.db
check "what they did not see may have run, less often than what they saw" json 'b["out"]["frequency"] == 0 and
	b["out"]["frequency_high"] == 3e6 and b["out"]["confidence"] == "low"'

# For optimisers: executions are no outcomes of branches.
check_status "exported are executions" 0 "$culprit" export -i whole.db --image '*/nest' --block-counts whole.txt
check_match "of which it is said that they were counted" err 'and 0 branch outcomes of the selection$'
check_match "and of how many functions" err 'of [12] functions? of the selection the executions are counted$'
check "counts are marked, beside estimates" python3 -c '
kind, of = "estimated", {}
for line in open("whole.txt"):
    word = line.split()
    if word[0] == "#" and len(word) == 2:
        kind = word[1]
    elif word[0] == "procedure":
        of[word[3]] = kind
assert of == {"nest": "counted", "main": "estimated"}, of
'
check_match "exactly" whole.txt ' 30000000$|	30000000$| 300000000$'

# As of a graph that another version made.
{ sampled 100; counts_of_nest; count inner outer 7; whole; } | made strange.db
check_status "calc of counts that are not of the code's blocks" 0 calc strange.db
check "leaves them out and says so" json 'not f["counted"] and "counts of 1 function are left out: the code has other blocks" in notes'

tap_end
