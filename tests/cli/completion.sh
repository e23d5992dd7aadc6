# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# shellcheck shell=bash disable=SC2154
# Completions of bash, fish and zsh offer what the parser takes: every command, every option of each, and
# the values of those that have a list.
. "$(dirname "$0")/../tap.sh"
PATH=$(dirname "$culprit"):$PATH
program=$(basename "$culprit")

complete_bash() { # WORDS...: the candidates for the last one
	# shellcheck source=/dev/null
	. "$root/packaging/completion.bash"
	COMP_WORDS=("$program" "$@")
	COMP_CWORD=$#
	_culprit
	printf '%s\n' "${COMPREPLY[@]}"
}

complete_fish() {
	fish --no-config -c "source '$root/packaging/completion.fish'; complete -C '$program $*'" | cut -f 1
}

# Its completion system wants a line editor; what the file would add is caught instead.
complete_zsh() {
	zsh -fc 'compadd() { shift; print -l -- "$@" }; _files() { : }; words=("$@"); CURRENT=$#
		source "$0"' "$root/packaging/completion.zsh" "$program" "$@"
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
	values function image file line process subject >by
	check "$shell offers what prof --by takes" [ -z "$(missing $shell by prof --by "")" ]
	values block instruction >by
	check "$shell offers what diff --by takes" [ -z "$(missing $shell by diff --by "")" ]
	values process subject >by
	check "$shell offers what calls --by takes" [ -z "$(missing $shell by calls --by "")" ]
	complete_$shell calls --by "" >out
	check "and nothing else" bash -c '! grep -qx function out'
	values dcache branch_mispredict unexplained >causes
	check "$shell offers the causes" [ -z "$(missing $shell causes stalls --cause "")" ]
done
tap_end
