#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Fails if an #include points against the direction of dependency:
#
#   include  <-  base  <-  world  <-  settings  <-  engine  <-  server  <-  claims
#            <-  handle  <-  src/<primitive>
#   include  <-  src/cli, examples, bench
#
# A floor sees itself and those below it. Primitives never include each other; what
# two of them need moves to a floor. Fair locks and leaders are locks, and see
# src/lock.
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

    floors=base
    for floor in world settings engine server claims handle; do
        floors="$floors|$floor"
    done
    for folder in src/*/; do
        module=$(basename "$folder")
        case "|$floors|" in
        *"|$module|"*) allowed=${floors%%"$module"*}$module ;;
        *) allowed="$floors|$module" ;;
        esac
        case $module in
        cli) allowed='cli' ;;
        fairlock | leader) allowed="$allowed|lock" ;;
        esac
        includes "src/$module" |
            grep '#include "' |
            grep -vE "#include \"($allowed)/([a-z]+/)?[a-z0-9_]+\.h\"" |
            grep -vE '#include "[a-z_]+_table\.h"' |
            refuse "src/$module may include $allowed and public headers" || :
    done

    # A floor knows no primitive, not even by its public header.
    for floor in $(echo "$floors" | tr '|' ' '); do
        includes "src/$floor" |
            grep -E '#include <latchkey/' |
            grep -vE '<latchkey/(client|export|hold|status|version)\.h>' |
            refuse 'a floor names a primitive' || :
    done

    # One place talks to the event loop, and none to hiredis as a client.
    for folder in src include examples bench; do
        includes "$folder" |
            grep -vE '^src/world/' |
            grep -E '#include <uv\.h>' |
            refuse 'only src/world includes uv.h' || :
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
