#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Fails if the release build's library or tool lacks what cmake/Harden.cmake
# asks for, or the library what keeps it in memory. Needs build/strict.

set -eu
cd "$(dirname "$0")/.."
status=0

# holds <file> <what> <pattern> <readelf option>...
holds()
{
    file=$1
    what=$2
    pattern=$3
    shift 3
    readelf --wide "$@" "$file" | grep -qE -e "$pattern" && return
    printf 'check-hardening: %s has no %s\n' "$file" "$what" >&2
    status=1
}

for file in build/strict/liblatchkey.so build/strict/latchkey; do
    holds "$file" 'addresses of its own choosing' 'Type: +DYN' --file-header
    holds "$file" 'read-only relocations' GNU_RELRO --program-headers
    holds "$file" 'stack without code' 'GNU_STACK .* RW +0x' --program-headers
    holds "$file" 'binding at its start' '\(FLAGS_1\).*NOW' --dynamic
    holds "$file" 'stack protector' __stack_chk_fail --dyn-syms
    holds "$file" 'checked copies' '__memcpy_chk|__snprintf_chk' --dyn-syms
done

holds build/strict/liblatchkey.so 'code that stays' '\(FLAGS_1\).*NODELETE' \
    --dynamic

# These leave no mark in what is linked.
flags=-fstack-clash-protection
[ "$(uname -m)" != x86_64 ] || flags="$flags -fcf-protection"
for flag in $flags; do
    grep -q -e "$flag" build/strict/compile_commands.json && continue
    printf 'check-hardening: built without %s\n' "$flag" >&2
    status=1
done
exit "$status"
