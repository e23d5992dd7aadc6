#compdef culprit
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# zsh completion for culprit, from the program's own --help.
if (( CURRENT == 2 )); then
	compadd -- ${(f)"$(culprit --help 2>/dev/null | sed -n 's/^  *\([a-z][a-z-]*\)  .*/\1/p')"}
elif [[ $words[CURRENT-1] = --cause ]]; then
	compadd -- ${(s:, :)"$(culprit stalls --cause '?' 2>&1 | sed -n 's/.* is none of \(.*\) (see.*/\1/p')"}
else
	compadd -- ${(f)"$(culprit $words[2] --help 2>/dev/null |
		grep -oE -- '(^|[[:space:],[])--?[a-zA-Z][a-zA-Z-]*' | tr -d ' \t,[')"}
	_files
fi
