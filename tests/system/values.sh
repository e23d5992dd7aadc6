# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# shares the machine: 15
# Values that instructions had: known ones of a program, with their shares, strides and widths; what is
# kept of a whole machine; who may read it.
. "$(dirname "$0")/../sampling.sh"
need_sampling
if [ "$(uname -m)" != x86_64 ]; then
	skip 'values' 'only x86-64 is interpreted'
	tap_end
fi

# values NAME DB STATEMENTS [OPTION...]: a case; the statements see rows by function(NAME), and shares.
values() {
	local name=$1 db=$2 statements=$3 output
	shift 3
	"$culprit" values -i "$db" --json -n 100000 "$@" >out.json 2>err
	if output=$(python3 -c "
import json
j = json.load(open('out.json'))
def of(function, kind):
    rows = [r for r in j['rows'] if r['function'] == function and r['kind'] == kind]
    assert rows, (function, kind)
    return max(rows, key=lambda r: r['samples'])
def near(row, value, share):
    got = {int(v['value'], 16): v for v in row['values']}[value]
    print(row['function'], row['kind'], hex(value), 'is', share, 'got', got['share'], 'of', row['samples'])
    assert abs(got['share'] - share) < 5 + 4 * got['error'], row
$statements" 2>&1); then
		pass "$name"
		printf '%s\n' "$output" | sed 's/^/# /'
	else
		fail "$name" "$output"
	fi
}

record known --values=all -F 4000 --budget 80 -- "$programs/values" 40000000
values 'shares of arguments and returned values are those of the program' known.db '
near(of("argument_mix", "argument1"), 42, 50)
near(of("argument_mix", "argument1"), 7, 25)
near(of("argument_mix", "argument2"), 99, 100)
near(of("return_mix", "return"), 1, 75)
assert of("argument_mix", "argument2")["width"] == 1
assert of("argument_mix", "argument2")["samples"] > 100
'
values 'loads tell what they load, how far they go, and that they agree' known.db '
near(of("load_byte", "loaded"), ord("A"), 50)
near(of("load_byte", "loaded"), ord("B"), 50)
near(of("load_byte", "stride"), 1, 100)
near(of("walk_lines", "loaded"), 0, 100)
near(of("walk_lines", "stride"), 64, 100)
assert of("walk_lines", "stride")["stride"] == "64"
assert of("walk_lines", "loaded")["same"] == 100
assert of("load_byte", "loaded")["same"] == 0
assert of("walk_lines", "address")["aligned_bits"] >= 3
'
values 'stores tell what they store, in how many bytes' known.db '
near(of("store_same", "stored"), 12345, 100)
assert of("store_same", "stored")["width"] == 2
far = of("store_far", "stored")
assert far["width"] == 8 and 30 < far["negative"] < 70, far
assert len(far["values"]) > 8 and far["invariant"] < 50, far
'
values 'one asks for what is invariant' known.db '
names = {(r["function"], r["kind"]) for r in j["rows"]}
assert ("argument_mix", "argument2") in names and ("argument_mix", "argument1") not in names, names
assert all(r["invariant"] >= 90 for r in j["rows"])
' --invariant 90
values 'for strides' known.db 'assert j["rows"] and {r["kind"] for r in j["rows"]} == {"stride"}' --strides
values 'for what is narrower than its register' known.db '
assert ("store_same", "stored") in {(r["function"], r["kind"]) for r in j["rows"]}
assert ("store_far", "stored") not in {(r["function"], r["kind"]) for r in j["rows"]}' --widths
check_status 'a function is listed with its code' 0 "$culprit" values -i known.db walk_lines
check_match '... its stride' out 'movq.* stride +64 100%'
check_status '... and in CSV' 0 "$culprit" values -i known.db --csv walk_lines
check_match '... with a header' out '^samples,address,code,kind,'
check_status 'the database is sound' 0 "$culprit" db verify -i known.db
check_match '... and has them' out ' [1-9][0-9]* summaries of values'
check_status 'a function without values says so' 1 "$culprit" values -i known.db _start
check 'nobody else may read them' test "$(stat -c %a known.db)" = 700

"$programs/values" 4000000000 &
busy=$!
record machine -a --for 3s -F 1000 --budget 80 --values
values 'of a whole machine only the form is kept' machine.db '
rows = [r for r in j["rows"] if r["kind"] != "stride"]
assert rows and not any(r["values"] or r["low"] or r["high"] for r in rows), rows[:3]
assert any(r["width"] == 1 for r in rows)'
record machine -a --for 3s -F 1000 --budget 80 --values=arguments --contents --value-image '*/values'
kill "$busy"
values '... unless one asks for more' machine.db '
assert {r["kind"][:8] for r in j["rows"]} == {"argument"}
near(of("argument_mix", "argument2"), 99, 100)
assert all(r["image"].endswith("/values") for r in j["rows"])'
check_status 'what says which values goes with --values' 2 "$culprit" record --contents -- true
check_status 'values come of followed samples' 2 "$culprit" record --values --no-edges -- true
check_status 'an unknown kind is refused' 2 "$culprit" record --values=loads,secrets -- true
check_match '... by its name' err "'secrets' is not one of loads, stores"
tap_end
