# SPDX-License-Identifier: MIT
#
# Completion of latchkey for fish. The tool itself says what a word may become,
# names on the server among it, and takes 200 ms at most. A line of it, a
# candidate, a tab and what it means, is what fish wants to read.

function __latchkey_candidates
    set -l before (commandline --tokenize --cut-at-cursor --current-process)
    set -l last (commandline --current-token --cut-at-cursor)

    for line in ($before[1] __complete $before[2..-1] "$last" 2>/dev/null)
        switch $line
            case :commands
                __fish_complete_command
            case :files
                __fish_complete_path "$last"
            case '*'
                printf '%s\n' $line
        end
    end
end

complete --command latchkey --no-files --arguments '(__latchkey_candidates)'
