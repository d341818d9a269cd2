#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Plays the seeds of sim/found.txt, and fails if the simulator complains of one.
# With a rule's name in LK_MUTANT, which has seeds there, these alone: so a rule
# that is broken is found by the seed that docs/testing.md names for it.
#
#   sim-found.sh SIM

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

SIM=$1
LIST=sim/found.txt
RULE=${LK_MUTANT:-}
bad=0

# The page and the list of rules name what the list of seeds does.
is_told()
{
    grep -qF -- "--profile $1 --seed $2\`" docs/testing.md &&
        grep -qxF "rule $3" tests/mutants/list.txt
}

grep -Eq "^[a-z]+ +[0-9]+ +$RULE( short)?\$" "$LIST" || RULE=''
while read -r profile seed rule length; do
    case $profile in '' | '#'*) continue ;; esac
    [ -z "$RULE" ] || [ "$rule" = "$RULE" ] || continue
    if [ "$rule" != - ] && ! is_told "$profile" "$seed" "$rule"; then
        printf '%s %s: no rule %s, or not in docs/testing.md\n' \
            "$profile" "$seed" "$rule"
        bad=1
    fi
    "$SIM" ${length:+"--$length"} --profile "$profile" --seed "$seed" || bad=1
done <"$LIST"
exit "$bad"
