# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash
# bash completion for culprit. Commands and options come from the program's own --help, so that they
# are never out of date.

_culprit_commands() {
	"$1" --help 2>/dev/null | sed -n 's/^  *\([a-z][a-z-]*\)  .*/\1/p'
}

_culprit_options() {
	"$1" "$2" --help 2>/dev/null | grep -oE -- '(^|[[:space:],[])--?[a-zA-Z][a-zA-Z-]*' |
		tr -d ' \t,['
}

# What an option takes, from its refusal of what it does not.
_culprit_values() {
	"$1" "$2" "$3" '?' 2>&1 | sed -En 's/.* is (none of|neither) (.*) \(see.*/\2/p' | sed 's/ nor / /' |
		tr -d ,
}

_culprit() {
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]-} i
	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_culprit_commands "$program") --help --version" -- "$word")
		return
	fi
	# After `record ... --` it is another program's command line.
	for ((i = 2; i < COMP_CWORD; i++)); do
		if [ "${COMP_WORDS[i]}" = -- ]; then
			mapfile -t COMPREPLY < <(compgen -c -f -- "$word")
			return
		fi
	done
	case $command,$previous in
	*,--by | *,--cause | *,--normalize)
		mapfile -t COMPREPLY < <(compgen -W "$(_culprit_values "$program" "$command" "$previous")" -- "$word")
		return ;;
	*,--epoch)
		mapfile -t COMPREPLY < <(compgen -W "last all" -- "$word")
		return ;;
	*,-p | *,--pid)
		mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$word")
		return ;;
	esac
	if [[ $word == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_culprit_options "$program" "$command")" -- "$word")
	elif [ "$command,$previous" = ctl,ctl ]; then
		mapfile -t COMPREPLY < <(compgen -W "status flush epoch label stop" -- "$word")
	elif [ "$command,$previous" = db,db ]; then
		mapfile -t COMPREPLY < <(compgen -W "verify compact" -- "$word")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
	fi
}
complete -o filenames -F _culprit culprit
