#!/bin/sh
# SPDX-License-Identifier: MIT
#
# make-library-manual.sh <version> <folder>: makes the folder again, with the pages
# of sections 3 and 7: one for each public header that has functions, one that
# leads to it for each function, and docs/guarantees.md.

set -eu
version=$1 folder=$2
cd "$(dirname "$0")/.."

rm -rf "$folder"
mkdir -p "$folder/man3" "$folder/man7"
for header in include/latchkey/*.h; do
    names=$(awk -v names=1 -f tools/manual-header.awk "$header")
    page=lk_$(basename "$header" .h)
    test -n "$names" || continue
    for name in $names; do
        printf '.so man3/%s.3\n' "$page" >"$folder/man3/$name.3"
    done
    awk -v version="$version" -f tools/manual-header.awk "$header" \
        >"$folder/man3/$page.3"
done
# The last one, since it is what the build waits for.
awk -v version="$version" -v page=latchkey-guarantees -f tools/manual-guide.awk \
    docs/guarantees.md >"$folder/part"
mv "$folder/part" "$folder/man7/latchkey-guarantees.7"
