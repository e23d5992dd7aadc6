# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# What every subcommand has in common: help, wrong command lines, and output that cannot be written.
. "$(dirname "$0")/../tap.sh"

check_status "--version" 0 "$culprit" --version
check_match "--version says the program and a number" out '^culprit [0-9]+\.[0-9]+'
check_status "help" 0 "$culprit" help
check_match "help lists the commands" out '^  help  '
check_status "--help" 0 "$culprit" --help
check_status "no command at all is wrong usage" 2 "$culprit"
check_match "and shows the usage" err '^usage: culprit'
check_status "an unknown command is wrong usage" 2 "$culprit" hlep
check_match "and the nearest is named" err "no command 'hlep'; did you mean 'help'"
check_status "help of an unknown command" 2 "$culprit" help frobnicate
check_match "which resembles none" err "no command 'frobnicate' \\(see: culprit help\\)"
check_status "an unknown command full of escapes" 2 "$culprit" $'\e[31m\nx'
check_match "is shown escaped, in one line" err '\\x1b\[31m\\nx'

check_status "a full disk is an error" 1 sh -c '"$1" help >/dev/full' - "$culprit"
check_match "and says so" err 'cannot write to the standard output: No space left'
check_status "a closed output is an error" 1 sh -c '"$1" help >&-' - "$culprit"
printf 'a;b 10\na;c 5\n' >stacks.txt
check_status "a database is made without any descriptor" 0 sh -c '"$1" import -o closed.db stacks.txt <&- >&- 2>&-' - "$culprit"
check_status "of which nothing went into it" 0 "$culprit" db verify -i closed.db
check_status "and read without a place for errors" 0 sh -c '"$1" prof -i closed.db <&- 2>&-' - "$culprit"
check_match "as always" out '^ *10 .* b '
check_status "a closed input is none of our own files" 1 sh -c '"$1" import -o closed.db - <&-' - "$culprit"
check_match "and says so" err 'cannot read: Bad file descriptor'
python3 - "$culprit" <<'PY' >out 2>&1 && pass "EPIPE gives no message and a failure" || fail "EPIPE gives no message and a failure" "$(cat out)"
import os, signal, subprocess, sys
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
r, w = os.pipe()
os.close(r)
p = subprocess.run([sys.argv[1], "help"], stdout=w, stderr=subprocess.PIPE, restore_signals=False)
assert p.returncode == 1, p.returncode
assert p.stderr == b"", p.stderr
PY

# What users of perf try first is told by what it is called here.
hinted() { # REGEX ARGUMENT...
	local regex=$1
	shift
	check_refused "$*" 2 "$regex" "$culprit" "$@"
}
hinted 'unknown option -g: stacks are taken by default' record -g -- true
hinted 'unknown option -g: stacks are taken by default' record -ag
hinted 'unknown option --call-graph: stacks are taken' record --call-graph=dwarf -- true
hinted 'unknown option -c: .*-e EVENT:PERIOD' record -c 1000 -- true
hinted "'max' is not a rate; without -F" record -F max -a
hinted 'unknown option -g: culprit calls' prof -g
hinted 'unknown option --stdio: .*--json' prof --stdio
hinted 'unknown option --subjct; did you mean --subject\?' prof --subjct comm=x
hinted 'ambiguous option --no' record --no -- true
hinted 'unknown option --frobnicate \(see' prof --frobnicate
hinted "no command 'report': culprit prof" report
hinted "no command 'annotate': culprit list FUNCTION" annotate main
hinted "no command 'stat': .*record -e EVENT" stat -- true
hinted "no command 'status': .*culprit ctl" status
hinted 'which function\? .*culprit doctor --events' list

# What is no database, said with what to do about it.
check_status "a file is no database" 1 "$culprit" prof -i /etc/passwd
check_match "which says what one is" err '/etc/passwd is not a database: a database is a directory, made by culprit record'
mkdir nothing
check_status "nor is any directory" 1 "$culprit" prof -i nothing
check_match "and says how one is made" err 'no samples in nothing: .*culprit record -o nothing'
check_status "nor what is not there" 1 "$culprit" db verify gone
check_match "and says what to do" err 'there is no database gone: make one with culprit record'

# An option whose field is of another type than its kind reads does not compile.
compiles() { # KIND FIELD
	printf '#include "cmd/cmd.h"\nenum way { ONE };\nstruct mine { bool flag; const char *text; uint64_t count; int number; double share; enum way way; };\nstatic const struct cmd_option o = {"o", 0, NULL, "", CMD_AT(%s, mine, %s)};\n' "$@" >option.c
	cc -std=gnu17 "-I$root/src" -fsyntax-only option.c
}
for right in "FLAG flag" "TEXT text" "NAME text" "COUNT count" "PERCENT share" "SET way" "CHOICE way"; do
	# shellcheck disable=SC2086
	check_status "an option of kind and field $right compiles" 0 compiles $right
done
for wrong in "FLAG number" "TEXT count" "NAME flag" "COUNT number" "PERCENT count" "SET text" "CHOICE flag"; do
	# shellcheck disable=SC2086
	check_status "of $wrong it does not" 1 compiles $wrong
	check_match "and says why" err 'another type than its kind needs'
done
tap_end
