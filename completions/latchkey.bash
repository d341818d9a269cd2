# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Completion of latchkey for bash. The tool itself says what a word may become,
# names on the server among it, and takes 200 ms at most.

# What is typed behind the command up to the cursor, in words: bash parts it
# at colons and equal signs as well, here that is put together again.
_latchkey_words()
{
    local line=${COMP_LINE:0:COMP_POINT} word i

    words=()
    line=${line#"${COMP_WORDS[0]}"}
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i == 1)) || [[ $line == [[:space:]]* ]]; then
            words+=("$word")
        else
            words[${#words[@]} - 1]+=$word
        fi
        line=${line#"${line%%[![:space:]]*}"}
        line=${line#"$word"}
    done
}

# What of the last word stands before the last such sign: bash keeps it.
_latchkey_kept()
{
    local signs=

    [[ $COMP_WORDBREAKS != *:* ]] || signs+=:
    [[ $COMP_WORDBREAKS != *=* ]] || signs+='='
    kept=
    # shellcheck disable=SC2295 # a set of signs
    [[ -z $signs ]] || kept=${1%"${1##*[$signs]}"}
}

_latchkey()
{
    local tool=${COMP_WORDS[0]/#\~/$HOME} kept candidate begun
    local -a words

    _latchkey_words
    words=("${words[@]//\\/}")
    begun=${words[${#words[@]} - 1]}
    _latchkey_kept "$begun"
    COMPREPLY=()
    while IFS= read -r candidate; do
        case $candidate in
        :commands) mapfile -t COMPREPLY < <(compgen -c -- "$begun") ;;
        :files) compopt -o default 2>/dev/null ;;
        *)
            candidate=${candidate%%$'\t'*}
            printf -v candidate %q "${candidate#"$kept"}"
            COMPREPLY+=("$candidate")
            ;;
        esac
    done < <("$tool" __complete "${words[@]}" 2>/dev/null)
}

complete -F _latchkey latchkey
