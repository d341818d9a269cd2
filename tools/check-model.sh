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

# search <cc flag> <bits> <flag>...: of $model, with a table for 2^bits states;
# writes what Spin found to $folder/out
search()
{
    local optimize=$1 bits=$2

    shift 2
    (cd "$folder" && spin -a "$@" "$OLDPWD/model/$model.pml" &&
        cc "$optimize" -w -DSAFETY -DCOLLAPSE -DMEMLIM=12000 -o pan pan.c &&
        ./pan -m200000 "-w$bits") >"$folder/out" 2>&1
}

# states: of the last search
states()
{
    sed -nE 's/^ *([0-9]+) states, stored.*/\1/p' "$folder/out"
}

# holds <flag>...
holds()
{
    search -O2 26 "$@"
    if ! grep -q 'errors: 0' "$folder/out" ||
        grep -q 'Search not completed' "$folder/out"; then
        cat "$folder/out"
        printf 'model: it does not hold (%s)\n' "$*" >&2
        exit 1
    fi
    printf 'holds in %9s states  %s\n' "$(states)" "$*"
}

# needs <rule> <flag>...: seen after so few states that compiling takes longest
needs()
{
    local rule=$1

    shift
    search -O0 20 "-DNO_$rule" "$@"
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
holds -DENDS=0 -DCALLS=1 -DCLOSES=1 -DBLOCKS=0
holds -DENDS=0 -DCALLS=1 -DFREEZES=1
holds -DTLS -DENDS=0 -DCALLS=1 -DBLOCKS=0
if [ "${1:-}" = all ]; then
    holds
    holds -DTLS -DCALLS=1
    holds -DTLS -DENDS=0 -DCALLS=1 -DCLOSES=1
    holds -DCALLS=1 -DCLOSES=1
    holds -DENDS=0 -DCALLS=1 -DCLOSES=1
    holds -DENDS=0 -DCALLS=1 -DFREEZES=1 -DCLOSES=1
    holds -DENDS=0 -DFREEZES=1
fi
needs SEND -DCALLS=1
needs RETURN -DCALLS=1
needs TURN -DCALLS=1
needs INSIDE -DCALLS=1
needs LOCKED -DCALLS=1
needs IDLE -DCALLS=1
needs ONE -DCALLS=1
needs RING -DCALLS=1
needs WOKEN -DSILENT=1 -DCALLS=1
needs KEEP -DENDS=0 -DCALLS=1 -DCLOSES=1
needs AGAIN -DENDS=0 -DCALLS=1 -DCLOSES=1
needs EARLY -DENDS=0 -DCALLS=1 -DFREEZES=1 -DCLOSES=1
needs TICK -DENDS=0 -DCALLS=1 -DFREEZES=1
needs FED -DTLS -DENDS=0 -DCALLS=1
needs HANDS -DTLS -DENDS=0 -DCALLS=1

model=line
holds -DCUTS=1
holds -DDEAFS=1
holds -DBREAKS=1
if [ "${1:-}" = all ]; then
    holds -DCUTS=1 -DCANCELS=1
    holds -DCUTS=1 -DDEAFS=1
    holds -DCUTS=1 -DKEEPS=1
fi
needs BOUND
needs LOOK
needs ONCE -DBREAKS=1
needs STAY -DBREAKS=1
needs RUN -DDEAFS=1
needs CHECK -DCUTS=1 -DKEEPS=1
needs ALONE -DCUTS=1 -DDEAFS=1
needs REST -DCUTS=1 -DKEEPS=1
needs BESIDE -DCUTS=1 -DCANCELS=1 -DKEEPS=1

model=rwlock
holds
if [ "${1:-}" = all ]; then
    holds -DCUTS=1 -DKEEPS=0
    holds -DDEAFS=1
    holds -DBREAKS=1 -DKEEPS=0
    needs LONGER
    needs STAYS -DDEAFS=1
    needs REST -DCUTS=1 -DKEEPS=0
fi
needs OWN
needs SILENT
needs LEAST
needs THERE
needs BOUND

model=line_health
holds -DCUTS=1 -DDIES=1
holds -DBREAKS=1
holds -DRESTARTS=1 -DDIES=1 -DCUTS=1
holds -DTRIERS=1 -DCUTS=1 -DDIES=1
holds -DDEAFS=2 -DORDER -DCLAIMS=4
holds -DFREEZES=2 -DDIES=1 -DCLAIMS=4
needs SEEN -DDIES=1
needs FREE -DTRIERS=1 -DDIES=2
needs END -DCUTS=1 -DDIES=1
needs SHORT -DBREAKS=1
needs FROZEN -DFREEZES=2 -DDIES=1 -DCLAIMS=4
needs LAST -DDEAFS=2 -DORDER -DCLAIMS=4
