#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Has Spin search every state of the models, and sees each of their rules to be
# needed: without it the search must find a failure.
#
#   tools/check-model.sh [all]
#
# all: also the searches in which more happens in one run; they take minutes and
# up to 12 GB of memory.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# search <flag>...: of $model; writes what Spin found to $folder/out
search()
{
    (cd "$folder" && spin -a "$@" "$OLDPWD/model/$model.pml" &&
        cc -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM=12000 -o pan pan.c &&
        ./pan -m200000 -w26) >"$folder/out" 2>&1
}

# states: of the last search
states()
{
    sed -nE 's/^ *([0-9]+) states, stored.*/\1/p' "$folder/out"
}

# holds <flag>...
holds()
{
    search "$@"
    if ! grep -q 'errors: 0' "$folder/out" ||
        grep -q 'Search not completed' "$folder/out"; then
        cat "$folder/out"
        printf 'model: it does not hold (%s)\n' "$*" >&2
        exit 1
    fi
    printf 'holds in %9s states  %s\n' "$(states)" "$*"
}

# needs <rule> <flag>...
needs()
{
    local rule=$1

    shift
    search "-DNO_$rule" "$@"
    if ! grep -q 'errors: 1' "$folder/out"; then
        printf 'model: the rule %s could be taken out\n' "$rule" >&2
        exit 1
    fi
    printf 'needs %-8s seen after %7s states\n' "$rule" "$(states)"
}

model=handover
holds -DEXPORTS=0 -DLAST=4
holds -DBREAKS=0 -DRENEWS=0
if [ "${1:-}" = all ]; then
    holds -DBREAKS=0
    holds -DRENEWS=0
fi
needs KILL -DEXPORTS=0 -DRENEWS=0
needs TICKET -DEXPORTS=0 -DRENEWS=0
needs BOUND -DEXPORTS=0 -DBREAKS=0
needs REMAINS -DEXPORTS=0
needs FENCE -DBREAKS=0
needs SWAP -DBREAKS=0
needs MEMORY -DBREAKS=0
needs LOOK -DEXPORTS=0
needs STAY -DEXPORTS=0

model=reader
holds -DCALLS=1
holds -DSILENT=1 -DCALLS=1
holds -DENDS=0 -DCALLS=1 -DCLOSES=1
holds -DENDS=0 -DFREEZES=1
if [ "${1:-}" = all ]; then
    holds
    holds -DCALLS=1 -DCLOSES=1
fi
needs SEND
needs RETURN
needs RESUME
needs AWAKE
needs IDLE
needs ONE
needs WOKEN -DSILENT=1 -DCALLS=1
needs RING -DSILENT=1 -DCALLS=1
needs DEFER
needs HURRY
needs KEEP -DENDS=0 -DCLOSES=1 -DCALLS=1
needs TICK -DENDS=0 -DFREEZES=1
