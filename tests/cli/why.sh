#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# culprit why: of samples that are made up, which sentences there are, their numbers, and that each rests on a report.
. "$(dirname "$0")/../tap.sh"
. "$root/tests/made_db.sh"

python_more='def one(kind): return [r for r in rows if r["kind"] == kind]
def near(a, b): return abs(a - b) < 1e-6'
cat >p.c <<'C'
#define KEEP __attribute__((noinline, noclone))
KEEP void chase(void **p, long n)
{
	__asm__ volatile("1: mov (%0), %0\n add $1, %%r8\n lea 3(%%r8), %%r9\n dec %1\n jnz 1b"
			 : "+r"(p), "+r"(n) : : "r8", "r9", "memory");
}
KEEP void locked(long *p, long n)
{
	__asm__ volatile("1: lock addq $1, (%0)\n add $1, %%r8\n dec %1\n jnz 1b"
			 : : "r"(p), "r"(n) : "r8", "memory");
}
KEEP void probe(void **p, long n)
{
	chase(p, n);
	__asm__ volatile("");
}
int main(int argc, char **argv)
{
	void *self = &self;
	long word = 0;
	probe(&self, argc);
	locked(&word, argc);
	return (int)word - argc + !argv;
}
C
check "compile" gcc -O1 -g -Wl,--build-id p.c -o p
id=$(readelf -n p | awk '/Build ID/ { print $3 }')
address() { echo $((0x$(nm p | sed -n "s/ T $1\$//p"))); }
# The instruction after the first one of a function that is like this.
after() { objdump -d --no-show-raw-insn p | awk -v f="<$1>:" -v what="$2" '$2 == f { on = 1; next } !NF { on = 0 }
	found { sub(":", "", $1); print "0x" $1; exit } on && $0 ~ what { found = 1 }'; }
sample() { printf 'sample\t1\t%s\t%s\t%s\t1000000\t%d\t%d\tcomm=%s\n' "$id" "$PWD/p" "${4:-cpu-clock}" "$(($1))" "$2" "$3"; }
frame() { printf 'frame\t%s\t1\t%s\t%s\t%d\n' "$1" "$id" "$PWD/p" "$(($2))"; }
stack() { printf 'stack\tcpu-clock\t1000000\t%d\tcomm=p' "$1"; printf '\t%s' "${@:2}"; printf '\n'; }
load=$(after chase 'mov +[(]%r..[)],%r')
lock=$(after locked 'lock addq')
{
	printf 'epoch\t1700000000\t1700000060\n'
	sample "$load" 8000 p
	sample "$lock" 1500 p
	sample "$(address main)" 500 'q;\x1b[31m'
	frame main.probe "$(after main 'call.*probe')-1"
	frame main.locked "$(after main 'call.*locked')-1"
	frame probe.chase "$(after probe 'call.*chase')-1"
	frame chase "$load"
	frame locked "$lock"
	stack 80 main.probe probe.chase chase
	stack 15 main.locked locked
} | "$mkdb" "a b.db" m1 || fail "mkdb"

check_status "why" 0 "$culprit" why -i "a b.db"
check_match "names the worst place first, what it waits for and through whom it is called" out \
	'^ 1\. [78].% of all time: p.c:4 in chase waits about [0-9.]+ cycles for data that misses the caches.*, called from main through probe \(low confidence: how often it ran is estimated from samples alone\)\.$'
check_match "with its evidence, for a shell" out "^      culprit calc -i 'a b.db' chase\$"
check_match "then the next" out '^ 2\. 1.% of all time: p.c:9 in locked waits .* for a locked operation, called from main'
check_match "says who spent it, and escapes names" out '95% of all time is spent by p, 5.0% by q;\\x1b\[31m\.$'
check_match "the loop" out '80% of all time is in the loop at p.c:4 in chase'
check_match "the path" out '% of all time is spent under one chain of calls: main > probe > chase\.$'
check_match "the whole" out '^ *[0-9]+\. Of the cycles of [23] functions with .* are execution, .* D-cache miss'
check_match "ends with what every report says" out '^cpu-clock: 10000 samples'

check_status "why --json" 0 "$culprit" why -i "a b.db" --json
check "is rows of sentences" python 'assert j["report"] == "why" and 0 < len(rows) <= 10
for r in rows:
    assert r["text"].endswith(".") and r["confidence"] in ("low", "medium", "high", "counted"), r
    assert 0 <= r["percent"] <= 100 and r["evidence"].startswith("culprit "), r
    assert (r["confidence"] == "low") == ("low confidence" in r["text"]), r
    assert "\x1b" not in r["text"]
stall = one("stall")[0]
assert (stall["function"], stall["line"], stall["build_id"]) == ("chase", 4, "'"$id"'"), stall
assert near(one("program")[0]["percent"], 95) and near(one("loop")[0]["percent"], 80)
assert near(one("path")[0]["percent"], 80), one("path")'
check "which agree with the reports that they name" python 'import shlex, subprocess
for r in rows:
    words = shlex.split(r["evidence"])
    words[0] = "'"$culprit"'"
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, (r, done.stderr)
    if r["kind"] == "stall":
        assert r["function"] in done.stdout, done.stdout
prof = json.loads(subprocess.run(["'"$culprit"'", "prof", "-i", "a b.db", "--by", "loop", "--json"], capture_output=True).stdout)
assert near(max(p["percent"] for p in prof["rows"]), one("loop")[0]["percent"])'
cp out json.out
check_status "why --csv" 0 "$culprit" why -i "a b.db" --csv
check "has the same" python3 -c 'import csv, json
assert [c["text"].replace(r"\\", "\\") for c in csv.DictReader(open("out"))] == [r["text"] for r in json.load(open("json.out"))["rows"]]'

check_status "one program" 0 "$culprit" why -i "a b.db" --subject 'comm=p' --json
check "has shares of what is selected" python 'assert not one("program") and "of the selected time" in one("loop")[0]["text"]
assert abs(one("loop")[0]["percent"] - 100 * 8000 / 9500) < 1e-3, one("loop")
assert all("--subject comm=p" in r["evidence"] for r in rows)'

# Executions that were seen make it sure; another event than time has no stalls.
{
	printf 'epoch\t1700000000\t1700000060\n'
	sample "$load" 90 p cache-misses
	sample "$lock" 10 p cache-misses
} | "$mkdb" b.db m1 || fail "mkdb"
check_status "without time" 0 "$culprit" why -i b.db --json
check "ranks functions alone" python 'assert not one("stall") and not one("causes")
assert one("function")[0]["text"].startswith("90% of all samples of cache-misses is in chase"), rows
assert any("100 samples were taken" in r["text"] for r in one("doubt"))'

# What questions all is said first, and what is less sure last.
{
	printf 'epoch\t1700000000\t1700000060\n'
	sample "$load" 3000 p
	printf 'sample\t9\t00\t\tcpu-clock\t1000000\t4096\t2000\tcomm=p\n'
	printf 'sample\t1\t77\t/gone/lib\tcpu-clock\t1000000\t4096\t200\tcomm=p\n'
	printf 'counter\tcpu-clock\t1000000\tlost.ring\t100\n'
	printf 'counter\t-\t0\tstacks.lost\t2\n'
} | "$mkdb" c.db m1 || fail "mkdb"
check_status "doubts" 0 "$culprit" why -i c.db --json
check "the grave ones first" python 'assert "in code that no mapping explains" in rows[0]["text"] and near(rows[0]["percent"], 100 * 2000 / 5200), rows
assert rows[1]["kind"] == "stall" and [r["kind"] for r in rows[-2:]] == ["doubt"] * 2, rows
assert any("without symbols" in r["text"] for r in rows[-2:]) and any("1.9% of all samples were lost" in r["text"] and "ring 100" in r["text"] for r in rows[-2:]), rows'

check_status "no samples" 0 "$culprit" why -i c.db --subject comm=nobody
check_match "says so" out '^ 1\. There are no samples'
check_status "no such database" 1 "$culprit" why -i nowhere.db
check_status "an option that there is not" 2 "$culprit" why -i c.db --function x
tap_end
