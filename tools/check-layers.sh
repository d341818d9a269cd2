#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Fails if an #include points against the direction of dependency:
#
#   include  <-  src/core  <-  src/<primitive>
#   include  <-  src/cli, examples, bench
#
# Primitives never include each other; what two of them need moves to the core.
# What is made of a family's table, <family>_table.h, names nothing of C's.

set -eu
cd "$(dirname "$0")/.."

# includes <folder>: every #include in it, as file:line:#include <...>
includes()
{
    [ -d "$1" ] || return 0
    grep -rnE --include='*.[ch]' --include='*.hpp' \
        '^[[:space:]]*#[[:space:]]*include' "$1" |
        sed -E 's/#[[:space:]]*include[[:space:]]*/#include /' || :
}

# refuse <rule>: prints the lines of standard input as breaking that rule.
refuse()
{
    awk -v rule="$1" '{ print rule ": " $0 }'
}

found=$(
    # What is installed names itself and the language's own headers only.
    includes include |
        grep -vE '#include <latchkey/[a-z_]+\.hp{0,2}>' |
        grep -vE '#include <(stdbool|stddef|stdint)\.h>' |
        grep -vE '\.hpp:[0-9]+:#include <[a-z_]+>' |
        refuse 'a public header names something that is not public' || :

    for folder in src/*/; do
        module=$(basename "$folder")
        case $module in
        core) allowed='core' ;;
        cli) allowed='cli' ;;
        *) allowed="core|$module" ;;
        esac
        includes "src/$module" |
            grep '#include "' |
            grep -vE "#include \"($allowed)/[a-z0-9_]+\.h\"" |
            grep -vE '#include "[a-z]+_table\.h"' |
            refuse "src/$module may include $allowed and public headers" || :
    done

    # The core knows no primitive, not even by its public header.
    includes src/core |
        grep -E '#include <latchkey/' |
        grep -vE '<latchkey/(client|export|hold|status|version)\.h>' |
        refuse 'the core names a primitive' || :

    # One place talks to the event loop, and none to hiredis as a client.
    for folder in src include examples bench; do
        includes "$folder" |
            grep -vE '^src/core/' |
            grep -E '#include <uv\.h>' |
            refuse 'only src/core includes uv.h' || :
    done
    includes src |
        grep -E '#include <hiredis/(async|adapters/)' |
        refuse 'the library uses the reader and the formatter only' || :

    # Programs for users see what users see; a benchmark compares as well.
    for folder in src/cli examples; do
        includes "$folder" | grep -E '#include <hiredis/' |
            refuse 'a program of public headers only' || :
    done
    for folder in examples bench; do
        includes "$folder" | grep -E '#include "[^"]*/' |
            refuse 'a program of public headers only' || :
    done
)

if [ -n "$found" ]; then
    printf '%s\n' "$found" >&2
    exit 1
fi
