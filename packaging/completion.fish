# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# fish completion for culprit, from the program's own --help.
function __culprit_commands
	culprit --help 2>/dev/null | string replace -rf '^  *([a-z][a-z-]*)  +(.*)' '$1\t$2'
end

function __culprit_options
	set -l words (commandline -opc)
	culprit $words[2] --help 2>/dev/null | string match -rag '(?:^|[\s,\[])(--?[a-zA-Z][a-zA-Z-]*)'
end

function __culprit_causes
	culprit stalls --cause '?' 2>&1 | string replace -rf '.* is none of (.*) \(see.*' '$1' | string split ', '
end

complete -c culprit -n 'not __fish_use_subcommand' -l cause -x -a '(__culprit_causes)'
complete -c culprit -n __fish_use_subcommand -f -a '(__culprit_commands)'
complete -c culprit -n 'not __fish_use_subcommand' -a '(__culprit_options)'
