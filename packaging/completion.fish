# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
# fish completion for culprit: what there is, the program itself says.
function __culprit_commands
	culprit --help 2>/dev/null | string replace -rf '^  *([a-z][a-z-]*)  +(.*)' '$1\t$2'
end

function __culprit_options
	set -l words (commandline -opc)
	culprit $words[2] --help 2>/dev/null | string match -rag '(?:^|[\s,\[])(--?[a-zA-Z][a-zA-Z-]*)'
end

# What an option takes, from its refusal of what it does not.
function __culprit_values
	set -l words (commandline -opc)
	culprit $words[2] $argv[1] '?' 2>&1 |
		string replace -rf '.* is (?:none of|neither) (.*) \(see.*' '$1' |
		string replace ' nor ' ', ' | string split ', '
end

for option in by cause normalize
	complete -c culprit -n 'not __fish_use_subcommand' -l $option -x -a "(__culprit_values --$option)"
end
complete -c culprit -n __fish_use_subcommand -f -a '(__culprit_commands)'
complete -c culprit -n 'not __fish_use_subcommand' -a '(__culprit_options)'
