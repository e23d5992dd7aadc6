# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# culprit import: what perf records here in its modes, against perf report, to the sample.
. "$(dirname "$0")/../tap.sh"
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS
if ! timeout 60 perf record -o try.data -e cpu-clock -- true >/dev/null 2>&1; then
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
import re, sys
event = ""
for line in sys.stdin:
    found = re.match(r"# Samples: .* of event .(.*).$", line.rstrip())
    if found:
        event = found[1]
    fields = [f.strip() for f in line.split("|")]
    if line[0] != "#" and len(fields) == 3 and int(fields[0]):
        image = "[jit]" if fields[2].startswith("[JIT]") else fields[2]
        print(event, fields[1], image, fields[0], sep="|")' | sort
}
by_culprit() { # DB
	for comm in $("$culprit" prof --idle -i "$1" --by subject --json | python3 -c '
import json, sys
for row in json.load(sys.stdin)["rows"]:
    print(row["subject"].removeprefix("comm="))'); do
		"$culprit" prof --idle -i "$1" --by image --subject "comm=$comm" --json | python3 -c '
import json, os, sys
for row in json.load(sys.stdin)["rows"]:
    for event, count in row["events"].items():
        if count:
            image = row["image"]
            image = image if image[0] == "[" else os.path.basename(image)
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
tap_end
