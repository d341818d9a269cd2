#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Fails if luacheck finds fault with a script. A fragment (part_*.lua) defines
# names that the scripts using it see, so each script is told the names of its
# own fragments. A fragment may use those of all others and leave its own
# unused. Scripts of a table are looked at as the server gets them: there their
# fragments stand before them. Names that hide others are allowed then, since
# parameters of a fragment may be called as a script's arguments.

set -euo pipefail
cd "$(dirname "$0")/.."
shopt -s nullglob
status=0

# names <file>...: what these files define at their top level.
names()
{
    sed -nE -e 's/^local function ([A-Za-z0-9_]+).*/\1/p' \
        -e 's/^local ([A-Za-z0-9_, ]+)( *=.*)?$/\1/p' "$@" |
        grep -vE '^function ' | tr -d ' ' | tr ',' '\n'
}

# uses <script>: the files of its fragments.
uses()
{
    sed -nE 's/^-- uses: *//p' "$1" | tr ' ' '\n' |
        sed -nE 's|^(part_[a-z0-9_]+)$|lua/\1.lua|p'
}

# lint <script> <fragments> <luacheck option>...
lint()
{
    local script=$1 fragments=$2 defined found

    shift 2
    # shellcheck disable=SC2086 # a list of file names without blanks
    mapfile -t defined < <([ -z "$fragments" ] || names $fragments)
    if ! found=$(luacheck --no-color "$script" "$@" \
        ${defined[0]:+--read-globals "${defined[@]}"}); then
        printf '%s\n' "$found" >&2
        status=1
    fi
}

for script in lua/*.lua; do
    case $script in
    lua/part_*)
        others=$(printf '%s\n' lua/part_*.lua | grep -vxF "$script" || :)
        lint "$script" "$others" --ignore 211 231 241
        ;;
    *) lint "$script" "$(uses "$script")" ;;
    esac
done

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
exit "$status"
