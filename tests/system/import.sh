# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# culprit import: what perf records here in its modes, against perf report, to the sample; then the
# same by way of other forms, and a program of gcc -pg against gprof.
. "$(dirname "$0")/../tap.sh"
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS
if ! timeout 200 perf record -o try.data -e cpu-clock -- true >/dev/null 2>&1; then
	skip "import" "perf cannot record here"
	tap_end
fi
cat >work.py <<'E2'
import json
import subprocess
for i in range(40):
    json.loads(json.dumps(list(range(3000))))
subprocess.run(["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do ls -l /usr/lib >/dev/null; done"])
E2

# By thread name and image, the samples of each event: "EVENT COMM IMAGE SAMPLES".
by_perf() { # FILE
	timeout 100 perf report -i "$1" --stdio -n --sort comm,dso -g none --no-children -F sample,comm,dso \
		-w 10,20,200 -t'|' 2>/dev/null | python3 -c '
import collections, re, sys
event, sums = "", collections.Counter()
for line in sys.stdin:
    found = re.match(r"# Samples: .* of event .(.*).$", line.rstrip())
    if found:
        event = re.sub("^((cpu|task)-clock):[pPHD]+$", r"\1", found[1])  # as it is imported
    fields = [f.strip() for f in line.split("|")]
    if line[0] != "#" and len(fields) == 3 and int(fields[0]):
        image = "[jit]" if fields[2].startswith(("[JIT]", "memfd:")) else fields[2]
        sums[event, fields[1], image] += int(fields[0])
for key, count in sums.items():
    print(*key, count, sep="|")' | sort
}
by_culprit() { # DB
	for comm in $("$culprit" prof --idle -i "$1" --by thread --json | python3 -c '
import json, sys
print(*{row["thread"] for row in json.load(sys.stdin)["rows"]}, sep="\n")'); do
		"$culprit" prof --idle -i "$1" --by image --subject "thread=$comm" --json | python3 -c '
import collections, json, os, sys
sums = collections.Counter()  # of several images of one name, as perf does
for row in json.load(sys.stdin)["rows"]:
    for event, count in row["events"].items():
        image = row["image"]
        sums[event, image if image[0] == "[" else os.path.basename(image)] += count
for (event, image), count in sums.items():
    if count:
        print(event, sys.argv[1], image, count, sep="|")' "$comm"
	done | sort
}
compare() { # NAME FILE
	rm -rf p.db
	check_status "$1: import" 0 "$culprit" import "$2" -o p.db
	by_perf "$2" >perf.txt
	by_culprit p.db >culprit.txt
	if [ -s perf.txt ] && diff perf.txt culprit.txt >diff.txt; then
		pass "$1: $(awk -F'|' '{ n += $4 } END { print n }' perf.txt) samples as perf report has them"
	else
		fail "$1: samples as perf report has them" "$(head -20 diff.txt)"
	fi
}
record() { # FILE OPTION...
	local file=$1
	shift
	timeout 100 perf record -o "$file" "$@" -- /usr/bin/python3 work.py >/dev/null 2>record.err ||
		fail "perf record $*" "$(cat record.err)"
}

record plain.data -F 3000 && compare "perf record" plain.data
record events.data -F 3000 -e cpu-clock -e page-faults -e task-clock:u &&
	compare "several events" events.data
record chains.data -F 3000 -g && compare "-g" chains.data
check_match "-g: every sample has its stack" err \
	"^culprit: $("$culprit" prof -i p.db --json | grep -o '"samples":[0-9]*' | head -1 | cut -d: -f2) stacks,"
record dwarf.data -F 500 --call-graph dwarf && compare "--call-graph dwarf" dwarf.data
record data.data -F 3000 -d && compare "-d" data.data
record packed.data -F 3000 -z -g && compare "-z" packed.data
record switched.data -F 3000 --switch-output=64K
for file in switched.data*; do [ -f "$file" ] && compare "--switch-output" "$file"; done
timeout 100 perf record -F 3000 -o - -- /usr/bin/python3 work.py 2>/dev/null >pipe.data && compare "a pipe" pipe.data
rm -rf q.db
"$culprit" import - -o q.db -q <pipe.data
by_culprit q.db >again.txt
check "a pipe: the same through standard input" cmp culprit.txt again.txt
# What others do meanwhile is in it too: perf looks at every file that is mapped, and one that is a
# FIFO holds it up for ever.
if timeout -s KILL 30 perf record -o all.data -F 1000 -a -g -- /usr/bin/python3 work.py >/dev/null 2>&1; then
	compare "-a -g" all.data
else
	skip "-a -g" "perf record did not end"
fi

# A program whose functions all have names, seen as perf.data, and as other tools tell it.
cat >work.c <<'E2'
static volatile double sink;
__attribute__((noipa)) double inner(int n)
{
	double s = 0;
	for (int i = 1; i < n; i++)
		s += 1.0 / i;
	return s;
}
static inline __attribute__((always_inline)) double small(double s, int i)
{
	return s * i + 0.5 / (s + 1);
}
__attribute__((noipa)) void other(int n)
{
	double s = 0;
	for (int i = 0; i < n; i++)
		s = small(s, i);
	sink = s;
}
__attribute__((noipa)) void outer(int n)
{
	for (int i = 0; i < n; i++)
		sink = inner(2000);
}
int main(void)
{
	for (int i = 0; i < 100; i++) {
		outer(300);
		other(200000);
	}
}
E2
# Stacks that perf copied: by address, frame by frame, as perf unwinds them. perf gives some up.
cc -g -O2 -fomit-frame-pointer -o work work.c
timeout 100 perf record -o copied.data -F 2000 --call-graph dwarf -- ./work >/dev/null 2>&1
check_status "copied stacks: import" 0 "$culprit" import copied.data -o copied.db
python3 "$root/tests/system/perf_stacks.py" "$culprit" "$root/src/exchange/pprof.proto" copied.data copied.db 2 >stacks.txt
# shellcheck disable=SC2034
read -r _ perf _ ours _ equal _ prefix _ longer _ perf_whole _ whole <stacks.txt
if [ "$perf" = "$ours" ] && [ "$ours" -gt 100 ] && [ $((equal + longer)) -ge $((perf * 95 / 100)) ]; then
	pass "copied stacks: $equal of $perf as perf unwinds them in every frame, $longer longer"
else
	fail "copied stacks: as perf unwinds them" "$(cat stacks.txt)"
fi
if [ "$whole" -ge "$perf_whole" ] && [ "$whole" -ge $((ours * 95 / 100)) ]; then
	pass "copied stacks: $whole of $ours to their thread's start, of perf's $perf_whole"
else
	fail "copied stacks: to their thread's start" "$(cat stacks.txt)"
fi
table() { "$culprit" prof -i "$1" --image '*work' | sed '1,/^$/d'; }
tree() { "$culprit" calls -i "$1" | sed '1,/^$/d'; }
cc -g -O0 -o work work.c
timeout 100 perf record -o forms.data -F 2000 -g -- ./work >/dev/null 2>&1
"$culprit" import forms.data -q -o f.db
table f.db >table.txt
tree f.db >tree.txt
check_match "the program's functions are there" table.txt ' other .*work$'
"$culprit" export -i f.db --pprof f.pb.gz
"$culprit" import f.pb.gz -q -o pprof.db
table pprof.db >pprof-table.txt
tree pprof.db >pprof-tree.txt
check "pprof and back: the same table" diff table.txt pprof-table.txt
check "pprof and back: the same tree" diff tree.txt pprof-tree.txt
mv work "work.away"
HOME=$PWD "$culprit" import f.pb.gz -q -o away.db
table away.db >away-table.txt
tree away.db >away-tree.txt
check "pprof: names as they were when the program is gone" diff table.txt away-table.txt
check "pprof: and the tree" diff tree.txt away-tree.txt
mv "work.away" work
"$culprit" export -i f.db --folded f.folded
"$culprit" import f.folded -q -o folded.db
"$culprit" export -i folded.db --folded again.folded
check "folded and back: the same stacks" cmp f.folded again.folded
for options in "" "--no-inline"; do
	# shellcheck disable=SC2086
	timeout 100 perf script -i forms.data $options >f.txt 2>/dev/null
	rm -rf script.db
	"$culprit" import f.txt -q -o script.db
	table script.db >script-table.txt
	check "perf script $options: the same table as of the file" diff table.txt script-table.txt
done
# By the path of the program's own functions, the stacks that end there.
paths() { # DB
	"$culprit" calls -i "$1" --no-inlined --image '*work' --json | python3 -c '
import collections, json, sys
sums = collections.Counter()
def walk(node, path):
    if node.get("image", "").endswith("/work"):
        path += (node["function"],)
    sums[path] += node["self"]
    for child in node.get("children", []):
        walk(child, path)
for root in json.load(sys.stdin)["rows"]:
    walk(root, ())
for path, count in sorted(sums.items()):
    print(count, *path)'
}
paths f.db >paths.txt
paths script.db >script-paths.txt
check_match "stacks of the program are there" paths.txt '^[0-9]+ main outer inner$'
check "perf script: the same stacks" diff paths.txt script-paths.txt

# By function, ticks and calls: gprof's flat profile has them as seconds of 10 ms.
cc -pg -g -O1 -o counted work.c
if ./counted && [ -s gmon.out ] && command -v gprof >/dev/null; then
	gprof -b -p counted gmon.out | python3 -c '
import sys
for line in sys.stdin.read().split("name    \n")[1].splitlines():
    f = line.split()
    if f:
        print(f[-1], round(float(f[2]) * 100), f[3] if len(f) > 4 else 0)' | sort >gprof.txt
	"$culprit" import gmon.out --program counted -q -o gmon.db
	"$culprit" prof -i gmon.db --image '*counted' --json | python3 -c '
import json, sys
for row in json.load(sys.stdin)["rows"]:
    print(row["function"], row["events"].get("cpu-clock", 0), row["events"].get("calls", 0))' |
		sort >culprit.txt
	check "gmon.out: ticks and calls as gprof has them" diff gprof.txt culprit.txt
else
	skip "gmon.out" "no gprof, or gcc -pg does not work here"
fi
tap_end
