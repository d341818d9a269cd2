#!/bin/sh
# SPDX-License-Identifier: MIT
#
# check-abi.sh [--renew]
#
# Fails if what programs link against has changed: the functions that the
# headers declare, that abi/latchkey.map lists and that the library exports have
# to be the same, and their types those of the baseline, abi/latchkey.abi.
# --renew writes both files again, from the headers. Needs build/strict.
#
# The baseline is of the headers alone, so that nothing inside the library shows
# in it: of a library made of one pointer to each function and one value of each
# enumeration.

set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
library=build/strict/liblatchkey.so
status=0

# wrong <words>: the check has failed
wrong()
{
    printf 'check-abi: %s\n' "$1" >&2
    status=1
}

# The headers as one line for each declaration.
printf '#include <latchkey/latchkey.h>\n' | cc -E -P -I include - |
    tr '\n' ' ' | sed 's/;/;\n/g' >"$work/headers"
sed -nE 's/ *__attribute__ *\(\(warn_unused_result\)\)//
    s/^.*visibility\("default"\).*[ *](lk_[a-z0-9_]+) ?\(.*/\1/p' \
    "$work/headers" | LC_ALL=C sort >"$work/declared"
sed -nE 's/.*typedef enum (lk_[a-z0-9_]+).*/\1/p' "$work/headers" |
    LC_ALL=C sort >"$work/enums"

# Symbols bear the version of the library's name: 0.1, and from 1.0 on 1.
soname=$(readelf -d "$library" | sed -nE 's/.*SONAME.*\[(.*)\]/\1/p')
symbols=LATCHKEY_${soname#liblatchkey.so.}

{
    printf '#include <latchkey/latchkey.h>\n'
    sed 's/.*/extern __typeof__(\&&) abi_&; __typeof__(\&&) abi_&;/' \
        "$work/declared"
    sed 's/.*/extern & abi_&; & abi_&;/' "$work/enums"
} >"$work/abi.c"
include=$PWD/include
(cd "$work" && cc -g -std=gnu11 -shared -fPIC -I "$include" \
    -Wl,-soname,"$soname" -o abi.so abi.c)

if [ "${1:-}" = --renew ]; then
    {
        printf '# All that the library exports; written by ./dev abi.\n'
        printf '%s {\nglobal:\n' "$symbols"
        sed 's/.*/    &;/' "$work/declared"
        printf 'local:\n    *;\n};\n'
    } >abi/latchkey.map
    abidw --no-architecture --no-show-locs --no-comp-dir-path \
        --no-corpus-path --no-elf-needed --no-parameter-names \
        --type-id-style hash --out-file abi/latchkey.abi "$work/abi.so"
    exit
fi

sed -nE 's/^ +(lk_[a-z0-9_]+);$/\1/p' abi/latchkey.map >"$work/listed"
nm -D --defined-only --with-symbol-versions "$library" |
    awk -v version="@@$symbols" '$2 != "A" {
        print sub(version "$", "", $3) ? $3 : $3 " without " version }' |
    LC_ALL=C sort >"$work/exported"
diff -u --label 'the headers declare' "$work/declared" \
    --label 'abi/latchkey.map lists' "$work/listed" >&2 ||
    wrong 'the list is not what the headers declare: ./dev abi renews it'
diff -u --label 'abi/latchkey.map lists' "$work/listed" \
    --label 'the library exports' "$work/exported" >&2 ||
    wrong 'the library does not export what is listed: build it again'

# Of its answer, 8 stands for a change that breaks programs already built.
changed=0
abidiff --no-architecture abi/latchkey.abi "$work/abi.so" >"$work/diff" || changed=$?
if [ "$changed" -ne 0 ]; then
    cat "$work/diff" >&2
    wrong 'not as in the baseline. Does a program built before still run? Then
    ./dev abi renews the baseline; else the library needs another name first'
fi
exit "$status"
