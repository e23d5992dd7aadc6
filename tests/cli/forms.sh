# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# Every report as text, JSON and CSV, which must hold the same rows; a whole source file; loops in XML.
. "$(dirname "$0")/../tap.sh"
mkdb=$build/tests/cli/mkdb
unset CULPRIT_DB DEBUGINFOD_URLS COLUMNS

cat >nest.c <<'C'
volatile int x;
__attribute__((noinline)) void inner(int n)
{
	for (int k = 0; k < 50; k++) {
		x += n;
		for (int i = 0; i < 100; i++)
			x += i;
		for (int i = 0; i < 100; i++)
			x -= i;
	}
}

int main(void)
{
	inner(3);
	return 0;
}
C
cc -g -O1 -Wl,--build-id -o nest nest.c || fail "cc"
id=$(readelf -n nest | sed -n 's/.*Build ID: //p')
instructions() { # FUNCTION: the addresses of its instructions
	objdump -d --no-show-raw-insn nest | awk -v f="<$1>:" '$2 == f { on = 1; next } on && !NF { exit } on { sub(":", "", $1); print "0x" $1 }'
}
# run START: 10 samples of each instruction, with stacks, of two events and two processes.
run() {
	printf 'epoch\t%d\t%d\n' "$1" $(($1 + 60))
	for place in $(instructions inner) $(instructions main); do
		printf 'sample\t1\t%s\t%s\tcycles\t1000\t%d\t10\tcomm=app\tpid=7\n' "$id" "$PWD/nest" "$place"
		printf 'sample\t1\t%s\t%s\tinstructions\t500\t%d\t3\tcomm=app\tpid=8\n' "$id" "$PWD/nest" "$place"
	done
	printf 'frame\tmain\t1\t%s\t%s\t%d\nframe\tinner\t1\t%s\t%s\t%d\n' "$id" "$PWD/nest" \
		$(($(instructions main | sed -n 3p))) "$id" "$PWD/nest" $(($(instructions inner | sed -n 3p)))
	printf 'stack\tcycles\t1000\t40\tcomm=app\tmain\tinner\nstack\tinstructions\t500\t30\tcomm=app\tmain\tinner\n'
}
{ run 1700000000; run 1700001000; } | "$mkdb" a.db m1 || fail "mkdb"

# same ROWS ARGUMENT...: a report has that many rows at least, as many in CSV as in JSON, and text.
same() {
	local name="${*:2}" least=$1
	shift
	check_status "$name" 0 "$culprit" "$@" -i a.db
	check "$name: text" test -s out
	mv out out.text
	check_status "$name --json" 0 "$culprit" "$@" -i a.db --json
	mv out out.json
	check_status "$name --csv" 0 "$culprit" "$@" -i a.db --csv
	check "$name: the same in both" python3 -c 'import csv, json, sys
j = json.load(open("out.json"))
data = open("out", newline="").read()
rows = list(csv.DictReader(data.splitlines()))
assert j["report"] and isinstance(j["events"], list) and data.count("\r\n") == len(rows) + 1
assert {"samples", "lost", "unknown", "idle", "epochs", "machine"} <= set(j), set(j)
assert j["report"] == "epochs" or (j["events"] and all(e["name"] and e["period"] for e in j["events"]))
head = "" if j["report"] == "epochs" else open("out.text").read()
assert j["report"] == "epochs" or sys.argv[2] == "cfg" or ("\nlost 0, unknown 0" in head and ": %d samples, one in " % j["events"][0]["samples"] in head), head[:300]
assert rows and all(None not in r and None not in r.values() for r in rows), "ragged"
def count(nodes):
    return sum(1 + count(n.get("children", [])) for n in nodes)
if "functions" in j:
    brief = not any(f["instructions"] for f in j["functions"])
    wanted = len(j["functions"]) if brief else sum(len(f["instructions"]) for f in j["functions"])
else:
    wanted = count(j["rows"])
assert len(rows) == wanted >= int(sys.argv[1]), (len(rows), wanted)
flat = set()
def keys(o, at=""):
    for k, v in o.items():
        if isinstance(v, dict):
            keys(v, at + k + ".")
        elif k not in ("children", "callers", "callees"):
            flat.add(at + k)
if "rows" in j and sys.argv[2] != "calls":
    for row in j["rows"]:
        keys(row)
    assert flat == set(rows[0]), (flat ^ set(rows[0]))' "$least" "$1"
}
for by in function image file line loop process subject; do
	same 1 prof --by $by --metric 'ipc = instructions / cycles'
done
same 2 stats --each
same 2 stats --each --by line
same 2 diff @20231114T221320Z @20231114T223
same 10 diff @20231114T221320Z @20231114T223 --by instruction
same 10 list inner
same 4 list inner --source
same 17 list --file nest.c
same 2 calls
same 2 calls --callers
same 10 calc inner --blocks 0
same 2 calc --brief --cutoff 100
same 1 stalls
same 1 why
same 1 summary
same 5 cfg inner
same 2 epochs

same 3 calls inner
same 2 calls --by process --prune 0
same 4 diff @20231114T221320Z @20231114T223 --by block

# table NAME STATUS KEY ARGUMENT...: the same rows in JSON and CSV, with that status in all three forms.
table() {
	local name="$1 in all forms" status=$2 key=$3 form
	shift 3
	check_status "$name: text" "$status" "$culprit" "$@"
	check "$name: some" test -s out
	for form in json csv; do
		check_status "$name: $form" "$status" "$culprit" "$@" --$form
		mv out "out$form"
	done
	check "$name: the same rows" python3 -c 'import csv, json, sys
rows = json.load(open("outjson"))["rows"]
table = list(csv.DictReader(open("outcsv", newline="")))
wanted = [r[sys.argv[1]] for r in rows]
assert wanted and [r[sys.argv[1]] for r in table] == wanted, (len(wanted), len(table))
assert all(set(r) == set(rows[0]) and None not in r.values() for r in table), table[0]' "$key"
}
timeout 200 "$culprit" doctor >/dev/null
table doctor $? name doctor
table "doctor --events" 0 name doctor --events
cp -r a.db damaged.db
pack=$(find damaged.db -name 'seg-*' | sort | head -n 1)
printf '\377\377\377\377' | dd of="$pack" bs=1 seek=$(($(stat -c %s "$pack") / 2)) conv=notrunc status=none
table "db verify" 1 what db verify damaged.db
check_status "db verify of a sound one" 0 "$culprit" db verify a.db --csv
check "has no row" test "$(cat out)" = "$(printf 'what\r')"
check_match "but the totals beside it" err ': 0 damaged$'

# The daemon's answer, from something that answers as it does.
answer='{"ok":true,"database":"/var/lib/\u001bx","events":[{"name":"cpu-clock","period":2500000},{"name":"page-faults","period":1}],"samples":7,"rate":0.5}'
python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind("control")
s.listen()
for _ in range(3):
    c = s.accept()[0]
    c.makefile().readline()
    c.sendall(sys.argv[1].encode() + b"\n")
    c.close()' "$answer" &
until [ -S control ]; do sleep 0.05; done
check_status "ctl status" 0 "$culprit" ctl -s control status
check_match "text: events" out '^events +page-faults, period 1$'
check_status "ctl status --json" 0 "$culprit" ctl -s control status --json
check "is the answer" python3 -c 'import json, sys; assert json.load(open("out")) == json.loads(sys.argv[1])' "$answer"
check_status "ctl status --csv" 0 "$culprit" ctl -s control status --csv
check "has all of it" python3 -c 'import csv
rows = {r["key"]: r["value"] for r in csv.DictReader(open("out", newline=""))}
assert rows == {"database": "/var/lib/\\x1bx", "events.cpu-clock": "2500000", "events.page-faults": "1", "samples": "7", "rate": "0.5"}, rows'
wait
for arguments in "ctl flush --csv" "ctl status --csv --json" "doctor --csv --json" "db verify a.db --csv --json" "prof --csv --csv"; do
	# shellcheck disable=SC2086
	check_status "$arguments" 2 "$culprit" $arguments
	check "is refused in one line" test "$(wc -l <err)" = 1 -a ! -s out
done

# Whatever has a table has both forms. The structure is a tree, view and tui are pages, push and sim write samples,
# and fleet passes on what its reports take.
walked=0
for command in $("$culprit" help | sed -n 's/^ *\([a-z]*\)  .*/\1/p'); do
	case $command in record | daemon | import | export | struct | sim | tui | view | push | fleet | help) continue ;; esac
	"$culprit" help "$command" >help
	walked=$((walked + 1))
	check "$command has --json and --csv" sh -c "grep -q -- --json help && grep -q -- --csv help"
done
check "all tables were seen" test $walked -ge 14

# The whole source file, with the lines that have no sample.
check_status "a whole file" 0 "$culprit" list -i a.db --file nest.c --json
check "has each line once, as the file has it" python3 -c 'import json
j = json.load(open("out")); rows = j["rows"]; text = open("nest.c").read().splitlines()
assert [r["line"] for r in rows] == list(range(1, len(text) + 1)), rows
assert [r["text"].split() for r in rows] == [t.split() for t in text]
by = {r["line"]: r for r in rows}
assert by[1]["samples"] == 0 and by[7]["samples"] > 0 and by[7]["function"] == "inner" and by[15]["function"] == "main"
assert sum(r["samples"] for r in rows) == j["events"][0]["samples"] and abs(sum(r["percent"] for r in rows) - 100) < 1e-6'
check_status "of one function" 0 "$culprit" list -i a.db --file "$PWD/nest.c" --function main --json
check "has its samples alone" python3 -c 'import json
rows = json.load(open("out"))["rows"]
assert {r["function"] for r in rows if r["samples"]} == {"main"} and len(rows) == 17'
mv nest.c other.c
check_status "a file that is gone" 0 "$culprit" list -i a.db --file nest.c
check_match "is said to be" out '^note: no text: .*nest.c: No such file'
check "has the lines with samples" grep -q ' 7  *$' out
mv other.c nest.c
refuse() { # NAME STATUS REGEX ARGUMENT...
	check_status "$1" "$2" "$culprit" list -i a.db "${@:4}"
	check_match "$1: message" err "$3"
}
refuse "a file without samples" 1 "no samples in 'est.c'.*--by file" --file est.c
refuse "a file and a function" 2 'leave out FUNCTION' --file nest.c main
refuse "a file's assembly" 2 'leave out FUNCTION and --asm' --file nest.c --asm
refuse "a file of no name" 2 'is empty' --file ''

check_status "XML" 0 "$culprit" export -i a.db --xml a.xml
check "nests loops as the code does" python3 -c 'import xml.etree.ElementTree as xml
p = [p for p in xml.parse("a.xml").getroot().iter("P") if p.get("n") == "inner"]
assert len(p) == 1
outer = p[0].findall("L")
assert len(outer) == 1 and int(outer[0].get("header"), 16) > 0
inner = outer[0].findall("L")
assert len(inner) == 2 and inner[0].get("header") != inner[1].get("header")
assert [(l.get("b"), l.get("e")) for l in inner] == [("6", "7"), ("8", "9")], [l.attrib for l in inner]
assert (int(outer[0].get("b")), int(outer[0].get("e"))) == (4, 9), outer[0].attrib
assert all(not l.findall("L") and l.findall("S") for l in inner)
def total(scope):
    return sum(float(m.get("v")) for m in scope.iter("M") if m.get("n") == "0")
assert total(p[0]) > total(outer[0]) > total(inner[0]) + total(inner[1]) > 0'
# Two builds of one program.
cp nest first
sed -i 's/x -= i/x ^= i/' nest.c
cc -g -O1 -Wl,--build-id -o nest nest.c || fail "cc"
id=$(readelf -n nest | sed -n 's/.*Build ID: //p')
run 1700002000 | "$mkdb" a.db m1
check_status "XML of two builds" 0 "$culprit" export -i a.db --epoch all --xml a.xml
check "has each as a load module" python3 -c 'import sys, xml.etree.ElementTree as xml
modules = xml.parse("a.xml").getroot().findall("PROFILESCOPETREE/PGM/LM")
assert len(modules) == 2 and len({m.get("n") for m in modules}) == 1 and len({m.get("build_id") for m in modules}) == 2
assert sys.argv[1] in {m.get("build_id") for m in modules}' "$id"
tap_end
