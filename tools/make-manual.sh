#!/bin/sh
# SPDX-License-Identifier: MIT
#
# make-manual.sh <tool> <source> <folder>: makes the folder again, with the man
# pages that the tool writes: one for each command and each other name of it,
# and of the source latchkey.1.in, in which the installed paths are still marks.

set -eu
tool=$1 source=$2 folder=$3

rm -rf "$folder"
mkdir -p "$folder"
names=$("$tool" __manual)
for name in $names; do
    "$tool" __manual "$name" >"$folder/latchkey-$name.1"
done
# The last one, since it is what the build waits for.
"$tool" __manual "$source" >"$folder/latchkey.1.part"
mv "$folder/latchkey.1.part" "$folder/latchkey.1.in"
