#compdef culprit
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# zsh completion for culprit: what there is, the program itself says.
if (( CURRENT == 2 )); then
	compadd -- ${(f)"$(culprit --help 2>/dev/null | sed -n 's/^  *\([a-z][a-z-]*\)  .*/\1/p')"}
elif [[ $words[CURRENT-1] = --(by|cause|normalize) ]]; then
	# What it takes, from its refusal of what it does not.
	compadd -- ${(s:, :)"$(culprit $words[2] $words[CURRENT-1] '?' 2>&1 |
		sed -En 's/.* is (none of|neither) (.*) \(see.*/\2/p' | sed 's/ nor /, /')"}
else
	compadd -- ${(f)"$(culprit $words[2] --help 2>/dev/null |
		grep -oE -- '(^|[[:space:],[])--?[a-zA-Z][a-zA-Z-]*' | tr -d ' \t,[')"}
	_files
fi
