#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Fails if luacheck finds fault with a script, as the server gets it: its fragments
# stand before it; those of layout 3 have none. Names that hide others are allowed,
# since parameters of a fragment may be called as a script's arguments.

set -euo pipefail
cd "$(dirname "$0")/.."
status=0

made=$(mktemp -d)
trap 'rm -r "$made"' EXIT
for table in lua/*/*.table; do
    family=$(basename "$table" .table)
    [ "$family" != shared ] || continue # packed texts alone
    awk -v family="$family" -v lua=lua -v out="$made" -f tools/table/read.awk \
        -f tools/table/c.awk -f tools/table/lua.awk lua/shared/shared.table \
        "$table" || status=1
    luacheck --no-color --quiet --ignore 4 631 -- "$made/$family"_*.lua >&2 ||
        status=1
done
luacheck --no-color --quiet --ignore 631 -- lua/layout3/*/*.lua >&2 || status=1
exit "$status"
