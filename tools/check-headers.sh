#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Fails if a public header does not stand alone: as strict C11 and as C++11; or
# if a compiler warns of its INIT macros.

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

# Every options struct, begun as its header says.
begun()
{
    printf '#include <latchkey/latchkey.h>\n'
    sed -nE 's/^#define (LK_[A-Z_]*)_INIT .*/\1_INIT \L\1/p' \
        include/latchkey/*.h | while read -r init type; do
        printf 'extern const %s of_%s; const %s of_%s = {%s};\n' \
            "$type" "$type" "$type" "$type" "$init"
        printf 'unsigned long in_%s(void); unsigned long in_%s(void)\n' \
            "$type" "$type"
        printf '{ %s options = {%s}; return options.size; }\n' "$type" "$init"
    done
}

for compiler in 'cc -std=c11 -x c' 'c++ -std=c++11 -x c++' \
    'c++ -std=c++17 -x c++' 'c++ -std=c++20 -x c++'; do
    # The options are meant to be split.
    # shellcheck disable=SC2086
    if ! begun | $compiler -pedantic-errors -Wall -Wextra -Werror \
        -fsyntax-only -I include -; then
        printf 'the INIT macros do not compile with %s\n' "$compiler" >&2
        status=1
    fi
done
exit "$status"
