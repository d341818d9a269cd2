#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Fails if a file of the project holds what belongs elsewhere: marks of things
# unfinished, somebody's own paths, traces of a merge, blanks at line ends.
# The brackets in the patterns keep this file from finding itself.

set -eu
cd "$(dirname "$0")/.."
status=0

# What is in the repository or would be after `git add .`; what fuzzing has made
# is no text.
list=$(mktemp)
trap 'rm -f "$list"' EXIT
git ls-files --cached --others --exclude-standard -z \
    ':!fuzz/corpus' >"$list"

# refuse <what it is> <pattern>
refuse()
{
    if xargs -0 grep -nIEs -e "$2" /dev/null <"$list" | grep .; then
        printf 'words: the lines above hold %s\n' "$1" >&2
        status=1
    fi
}

refuse 'a mark of something unfinished' '\b(TOD[O]|FIXM[E]|XX[X])\b'
refuse 'a path of one machine' '(^|[^a-z0-9._~-])/(wor[k]|hom[e]|roo[t])/[a-z]'
refuse 'the number of an issue' '\b[Ii]ssue[ ]#?[0-9]'
refuse 'the trace of a merge' '^(<<<<<<[<]|>>>>>>[>]) '
refuse '"who" in place of a noun: name the person or the thing' \
    '(Wh[o]|([;:("#]|/\*) *wh[o]) (was|is|has|may|must|waits|comes|leaves|holds|gets|asks|needs|does|counts)( [a-z]+){0,9} (is|was|are|may|must|can|hears|has|comes|takes|leaves|looks|gets|does|meets?)\b'
refuse 'an older word for "again"' '\b[Aa]ne[w]\b'
refuse '"the" in "at most" or "at least"' '\bat the (mos[t]|leas[t])\b'
refuse 'blanks at the end of a line' '[[:blank:]]$'
exit "$status"
