# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# What doctor says must agree with what this machine does, as whoever runs it and as nobody.
. "$(dirname "$0")/../tap.sh"

check_status "a wrong option" 2 "$culprit" doctor --frobnicate
check_status "a wrong budget" 2 "$culprit" doctor --budget 0
check_match "which says what it is" err "'0' is not a percentage"
check_status "an operand" 2 "$culprit" doctor everything

# agrees JSON STATUS: the JSON is whole, and its verdict is the exit status.
cat >agrees.py <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["report"] == "doctor" and isinstance(d["machine"], str) and d["notes"] == []
bad = [row for row in d["rows"] if row["state"] == "bad"]
assert {row["state"] for row in d["rows"]} <= {"fact", "good", "partial", "bad"}
assert d["usable"] == (not bad) == (int(sys.argv[2]) == 0), (d["verdict"], bad)
assert d["verdict"].startswith("can " if d["usable"] else "cannot ")
names = [row["name"] for row in d["rows"]]
assert len(names) == len(set(names))
for wanted in ("version", "btf", "capabilities", "cycles", "cpu_clock", "bpf_load", "kallsyms"):
    assert wanted in names, wanted
# Whatever stands in the way of sampling is mended by a line.
assert all(row["mend"] for row in bad), bad
PY
timeout 200 "$culprit" doctor --json >doctor.json 2>err
status=$?
check "JSON as the one who runs the test" python3 agrees.py doctor.json $status
check "nothing on stderr" test ! -s err
check_status "text has the same exit status" $status timeout 200 "$culprit" doctor
check_match "text ends with the verdict" out '^culprit can'

if [ $status = 0 ]; then
	check_status "--measure" 0 timeout 200 "$culprit" doctor --measure
	check_match "it says what a sample costs" out 'sample_cost .* us '
	check_match "and what rate that allows" out 'sample_rate .* a second and CPU at a budget of 1%'
else
	skip "--measure" "sampling does not work here"
fi

check_status "--events" 0 timeout 200 "$culprit" doctor --events
check_match "lists every kind" out '^(ok|-) +cache +L1-dcache-load-misses$'
if [ $status = 0 ]; then check_match "cpu-clock works" out '^ok +software +cpu-clock$'; fi
timeout 200 "$culprit" doctor --events --json >events.json
check "as JSON too" python3 -c '
import json
d = json.load(open("events.json"))
assert d["report"] == "events" and len(d["rows"]) > 50
assert all(type(r["usable"]) is bool and r["kind"] and r["name"] for r in d["rows"])'

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	# Where nobody may look: the build directory may be out of reach.
	nobody_dir=$(mktemp -d /tmp/culprit-doctor.XXXXXX)
	trap 'rm -rf "$nobody_dir" "$tap_scratch"' EXIT
	install -m 755 "$culprit" "$nobody_dir/culprit"
	chmod 755 "$nobody_dir"
	as_nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	timeout 200 "${as_nobody[@]}" "$nobody_dir/culprit" doctor --json >nobody.json 2>err
	status=$?
	check "JSON as nobody" python3 agrees.py nobody.json $status
	check "nobody may not sample the machine" test $status = 1
	check_status "text as nobody" 1 timeout 200 "${as_nobody[@]}" "$nobody_dir/culprit" doctor
	check_match "nobody is told the line that mends it" out \
		"sudo setcap cap_perfmon,cap_bpf\\+ep $nobody_dir/culprit"
	if "$culprit" doctor >/dev/null; then
		check_status "those two capabilities suffice" 0 timeout 200 setpriv --reuid 65534 \
			--regid 65534 --clear-groups --inh-caps +bpf,+perfmon \
			--ambient-caps +bpf,+perfmon "$nobody_dir/culprit" doctor
	else
		skip "those two capabilities suffice" "sampling does not work here"
	fi
	# setcap replaces what a program had: a line that names only what is missing takes the rest away.
	row='
import json, sys
print([r[sys.argv[2]] for r in json.load(open(sys.argv[1]))["rows"] if r["name"] == "capabilities"][0])'
	if setcap cap_perfmon,cap_bpf+ep "$nobody_dir/culprit" 2>/dev/null; then
		"${as_nobody[@]}" "$nobody_dir/culprit" doctor --json >some.json
		line=$(python3 -c "$row" some.json mend | sed -n 's/.*: sudo //p')
		eval "$line"
		"${as_nobody[@]}" "$nobody_dir/culprit" doctor --json >all.json
		check "the line for what is missing leaves what there is" bash -c '! grep -q setcap "$1"' - <(python3 -c "$row" all.json mend)
	else
		skip "the line for what is missing leaves what there is" "no capabilities of files here"
	fi
	cp "$culprit" "$nobody_dir/"$'cul\xffprit'
	"${as_nobody[@]}" "$nobody_dir/"$'cul\xffprit' doctor --json >out
	"${as_nobody[@]}" "$nobody_dir/"$'cul\xffprit' doctor >text
	check "in text, too" bash -c 'grep -qF "$1" text && ! grep -q $'"'\xff'"' text' - "$nobody_dir/cul\\xffprit"
	check "a path of any bytes in it is escaped" grep -qF "$nobody_dir/cul\\\\xffprit" out
else
	skip "as nobody" "needs root and setpriv"
fi
tap_end
