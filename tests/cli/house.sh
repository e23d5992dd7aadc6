# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# The front door: exit statuses (0 done, 1 failed, 2 wrong usage), and what goes to which stream.
. "$(dirname "$0")/../tap.sh"

check_silent() { # NAME FILE
	check "$1" [ ! -s "$2" ]
}

check_status "without a command it fails as wrong usage" 2 "$culprit"
check_match "and shows the commands on stderr" err '^  [a-z]+  '
check_silent "and nothing on stdout" out

check_status "an unknown command is wrong usage" 2 "$culprit" frobnicate
check_match "and is named on stderr" err 'frobnicate'
check_silent "and nothing goes to stdout" out
check_status "an unknown command with an escape in it is wrong usage" 2 "$culprit" $'fro\e[31m\nb'
check "and the escape is not passed on to the terminal" bash -c "! grep -q $'\e' err"

check_status "--version succeeds" 0 "$culprit" --version
check_match "and prints the version on stdout" out '^culprit [0-9]+\.[0-9]+\.[0-9]+'
check_silent "and nothing on stderr" err

check_status "--help succeeds" 0 "$culprit" --help
check_match "and lists commands on stdout" out '^  [a-z]+  '
check_silent "and nothing on stderr" err
check_status "help succeeds" 0 "$culprit" help
check_status "an unknown option is wrong usage" 2 "$culprit" --frobnicate

# Every command that --help lists explains itself, and refuses an option that it does not know.
"$culprit" --help | sed -n 's/^  *\([a-z][a-z-]*\)  .*/\1/p' | grep -vx help >commands
check "--help lists commands" [ -s commands ]
while read -r command; do
	check_status "$command --help succeeds" 0 "$culprit" "$command" --help
	check "and says on stdout how it is used" grep -q "$command" out
	check_status "$command refuses an unknown option" 2 "$culprit" "$command" --frobnicate
	check_match "and names it" err 'frobnicate'
done <commands

# unwritten COMMAND: its options that its page does not have, nor their short form.
unwritten() {
	"$culprit" help "$1" | sed -En 's/^  (-[a-zA-Z], |    )(--[a-z-]+).*/\1 \2/p' |
		while read -r first second; do
			[ "$first" = -h, ] || [ "$first" = --help ] || grep -qE -- \
				"\*(${first%,}${second:+|$second})\*" "$root/doc/man/culprit-$1".[18].scd || echo "$first $second"
		done
}
while read -r command; do
	missing=$(unwritten "$command")
	check "the page of $command has all its options${missing:+, but not: $missing}" [ -z "$missing" ]
done <commands
for page in "$root"/doc/man/*.scd; do
	grep -oE '\*culprit[a-z-]*\*\([0-9]\)' "$page" | sed -E 's/\*//g; s/\((.)\)/.\1/' | sort -u >named
	unknown=$(while read -r name; do [ -e "$root/doc/man/$name.scd" ] || echo "$name"; done <named)
	check "$(basename "$page") names pages that exist${unknown:+, but: $unknown}" [ -z "$unknown" ]
done

# What cannot be printed must not pass for success.
if [ -c /dev/full ]; then
	"$culprit" --help >/dev/full 2>err
	check "output to a full device is a failure" [ $? = 1 ]
	check "and is told in one line" [ "$(wc -l <err)" = 1 ]
else
	skip "output to a full device" "there is no /dev/full"
fi
tap_end
