# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# Completions of bash, fish and zsh, made from the parser's tables, offer what it takes: every command, every
# option of each, and the values of those that have a list; without asking the program.
. "$(dirname "$0")/../tap.sh"
program=culprit
made=$build/packaging
for directory in ${PATH//:/ }; do
	[ ! -x "$directory/culprit" ] || skip "the program is nowhere to be asked" "$directory/culprit"
done

complete_bash() { # WORDS...: the candidates for the last one
	# shellcheck source=/dev/null
	. "$made/culprit"
	COMP_WORDS=("$program" "$@")
	COMP_CWORD=$#
	_culprit
	[ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}"
}

complete_fish() {
	fish --no-config -c "source '$made/culprit.fish'; complete -C '$program $*'" | cut -f 1
}

# Its completion system wants a line editor; what the file would add is caught instead.
complete_zsh() {
	zsh -fc 'compadd() { shift; print -l -- "$@" }; _files() { : }; words=("$@"); CURRENT=$#
		source "$0"' "$made/_culprit" "$program" "$@"
}

"$culprit" --help | sed -n 's/^  *\([a-z][a-z-]*\)  .*/\1/p' | sort >commands
while read -r command; do
	"$culprit" "$command" --help | sed -En 's/^  (-[a-zA-Z], |    )(--[a-z-]+).*/\2/p' | sort -u >"options.$command"
done <commands
check "there are commands" [ "$(wc -l <commands)" -gt 15 ]
check "there are options" [ "$(cat options.* | wc -l)" -gt 100 ]

# missing SHELL WANTED WORDS...: which of the lines of the file WANTED the shell does not offer.
missing() {
	local shell=$1 wanted=$2
	shift 2
	comm -23 "$wanted" <("complete_$shell" "$@" | sort -u)
}

values() { printf '%s\n' "$@" | sort; }

for shell in bash fish zsh; do
	if ! command -v $shell >/dev/null; then
		skip "$shell" "it is not installed"
		continue
	fi
	lost=$(missing $shell commands "")
	check "$shell offers every command" [ -z "$lost" ]
	lost=
	while read -r command; do
		[ "$command" = help ] && continue
		one=$(missing $shell "options.$command" "$command" --)
		[ -z "$one" ] || lost+="$command: $one"$'\n'
	done <commands
	if [ -z "$lost" ]; then
		pass "$shell offers every option"
	else
		fail "$shell offers every option" "$lost"
	fi
	# What an option is refused for not being is what is offered, no more and no less.
	while read -r command option; do
		"$culprit" "$command" "$option" '?' 2>&1 | sed -En 's/.* is (not one of|neither) (.*) \(see.*/\2/p' |
			sed 's/ nor /, /' | tr -d ' ' | tr , '\n' | sort >wanted
		complete_$shell "$command" "$option" "" | sort >offered
		check "$shell offers what $command $option takes" cmp wanted offered
		check "which is something" test -s wanted
	done <<'L'
prof --by
top --by
diff --by
stats --by
calls --by
diff --normalize
stats --normalize
diff --sort
stats --sort
stalls --cause
summary --cause
L
	values compact verify >wanted
	complete_$shell db "" | sort >offered
	check "$shell offers what db does" cmp wanted offered
	values epoch flush label status stop >wanted
	complete_$shell ctl "" | sort >offered
	check "$shell offers what ctl does" cmp wanted offered
	complete_$shell prof --limit "" >offered
	check "$shell offers nothing for a number" test ! -s offered
	if [ $shell != zsh ]; then # its line editor, which picks of what is offered, is not there
		complete_$shell record --nothing-like-it >offered
		check "$shell offers no option that there is not" test ! -s offered
		touch file.db
		check "$shell offers files for a database" test "$(complete_$shell prof -i file)" = file.db
	fi
done
tap_end
