#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Fails if a public header does not stand alone: as strict C11 and as C++11.

set -eu
cd "$(dirname "$0")/.."
status=0

# alone <header> <compiler and its options>...
alone()
{
    header=$1
    shift
    if ! printf '#include <%s>\n#include <%s>\ntypedef int lk_alone;\n' \
        "$header" "$header" |
        "$@" -pedantic-errors -Wall -Wextra -Werror -fsyntax-only -I include -
    then
        printf '%s does not stand alone with %s\n' "$header" "$*" >&2
        status=1
    fi
}

for path in include/latchkey/*.h; do
    header=${path#include/}
    alone "$header" cc -std=c11 -x c
    alone "$header" c++ -std=c++11 -x c++
done
exit "$status"
