#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tools/proof.sh push|night: proves one tier of docs/proof.md. Asks nothing, reads
# nothing.
#
# Every step runs, whatever the ones before it said. One that takes longer than
# tools/proof-minutes.txt expects is said to be over, and is not failed by that; one that
# takes three times as long hangs, and is ended. All of them together may not take longer
# than the total. The last line says how many tests passed and failed, over all steps;
# what fails and is no test, counts as one.

set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
export CI=true
exec </dev/null

tier=$1
passed=0
failed=0
summary=()

# limit <step>: its minutes
limit()
{
    awk -v tier="$tier" -v step="$1" '$1 == tier && $2 == step { print $3 }' \
        tools/proof-minutes.txt
}

# minutes <seconds>
minutes()
{
    awk -v seconds="$1" 'BEGIN { printf "%.1f", seconds / 60 }'
}

# attribute <name> <file>: a number from the head of ctest's report
attribute()
{
    sed -nE "1,/<testcase/s/.*\b$1=\"([0-9]+)\".*/\1/p" "$2" | head -n 1
}

# count_interop: adds up the scenarios beside other libraries; fails if one of
# them failed. What was not run is no failure, and the summary tells it.
count_interop()
{
    local report=build/interop/summary all bad

    [ -f "$report" ] || return 0
    all=$(sed -nE 's/^([0-9]+) passed.*/\1/p' "$report")
    bad=$(sed -nE 's/.* ([0-9]+) failed.*/\1/p' "$report")
    passed=$((passed + all))
    failed=$((failed + bad))
    summary+=("interop: $(cat "$report")")
    [ "$bad" -eq 0 ]
}

# count_servers: adds up the tests on other servers, likewise.
count_servers()
{
    local report=build/servers/summary bad

    [ -f "$report" ] || return 0
    passed=$((passed + $(awk '$3 == "passed," { n += $2 } END { print n + 0 }' \
        "$report")))
    bad=$(awk '$5 == "failed," { n += $4 } END { print n + 0 }' "$report")
    failed=$((failed + bad))
    summary+=("$(cat "$report")")
    [ "$bad" -eq 0 ] || summary+=("$(failures build/servers/*.xml)")
    [ "$bad" -eq 0 ]
}

# failures <file>...: the names of the tests that failed, and what each of them
# said of it, from ctest's reports
failures()
{
    awk '/<testcase / { name = $0; sub(/.* name="/, "", name)
                        sub(/".*/, "", name); is_bad = /status="fail"/ }
         is_bad && /<testcase / { print "  failed: " name }
         is_bad && /(ERROR|LINE|FAILED|Sanitizer)/ { print "    " $0 }' "$@" |
        head -n 60
}

# count <preset>: adds up that preset's tests; fails if one of them failed.
count()
{
    local report=build/$1/tests.xml all bad

    if [ "$1" = interop ] || [ "$1" = servers ]; then
        "count_$1"
        return
    fi
    [ -f "$report" ] || return 0
    all=$(attribute tests "$report")
    bad=$(attribute failures "$report")
    passed=$((passed + all - bad))
    failed=$((failed + bad))
    summary+=("ctest $1: $((all - bad)) passed, $bad failed")
    [ "$bad" -eq 0 ] || summary+=("$(failures "$report")")
    [ "$bad" -eq 0 ]
}

# step <name> <preset, interop, servers or -> <argument of dev>...
step()
{
    local name=$1 preset=$2 start=$SECONDS expected taken result=ok left

    shift 2
    expected=$(limit "$name")
    left=$((60 * $(limit total) - SECONDS))
    [ "$left" -le $((180 * expected)) ] || left=$((180 * expected))
    printf '\n#### %s\n' "$name"
    [ "$preset" = - ] || rm -f "build/$preset/tests.xml" "build/$preset/summary"
    if [ "$left" -le 0 ]; then
        result='FAILED: no time left'
    elif ! timeout --kill-after=10 "$left" ./dev "$@"; then
        result=FAILED
    fi
    taken=$((SECONDS - start))
    if [ "$preset" != - ] && ! count "$preset"; then
        result='FAILED: tests'
    elif [ "$result" != ok ]; then
        failed=$((failed + 1))
    elif [ "$taken" -gt $((60 * expected)) ]; then
        result='ok, but over'
    fi
    summary+=("$(printf '%-9s %5s of %2s minutes  %s' \
        "$name" "$(minutes "$taken")" "$expected" "$result")")
    printf '%s\n' "${summary[-1]}"
}

push()
{
    step setup - setup
    step test debug test
    step check - check --slice
    step asan asan sanitize --one-in 3 asan
    step tsan tsan sanitize --one-in 5 tsan
    step valgrind valgrind sanitize --one-in 12 valgrind
    step fault - fault --minutes 2 --seed "$(date +%s)"
    step mutants - mutants --slice 24
}

# The steps that wait for servers, for most of theirs. What these build and the others
# use as well, the setup has built.
waiting()
{
    step late debug test --night
    step failovers - failovers
    step servers servers servers
    step interop interop interop
    step long long long
    step fault - fault --minutes 5 --brisk --seed "$(date +%s)"
    step sim - sim --seconds 300
}

# And those that compute.
computing()
{
    step check - check --code
    step asan asan sanitize asan
    step tsan tsan sanitize tsan
    step valgrind valgrind sanitize valgrind
    step fuzz - fuzz
    step mutants - mutants --slice 8
    step model - model
    step roots - roots
}

# lane <name>: runs these steps beside others. What they print is in
# build/proof/NAME.log.
lane()
{
    summary=()
    passed=0
    failed=0
    "$1" >"build/proof/$1.log" 2>&1
    printf '%s\n' "${summary[@]}" >"build/proof/$1.summary"
    printf '%d %d\n' "$passed" "$failed" >"build/proof/$1.counts"
}

# joined <name>: adds up what a lane has counted; one that left nothing has failed.
joined()
{
    local more_passed=0 more_failed=1 lines

    cat "build/proof/$1.log"
    read -r more_passed more_failed <"build/proof/$1.counts"
    passed=$((passed + more_passed))
    failed=$((failed + more_failed))
    mapfile -t lines <"build/proof/$1.summary"
    summary+=("${lines[@]}")
}

# Two lanes at a time, as one of them waits while the other computes.
night()
{
    step setup - setup --night
    mkdir -p build/proof
    rm -f build/proof/*
    lane waiting &
    lane computing &
    wait
    joined waiting
    joined computing
}

"$tier"
if [ "$SECONDS" -gt $((60 * $(limit total))) ]; then
    summary+=("total: FAILED: longer than its limit in tools/proof-minutes.txt")
    failed=$((failed + 1))
fi
printf '\n#### summary\n'
printf '%s\n' "${summary[@]}"
printf 'total     %5s of %2s minutes\n' "$(minutes "$SECONDS")" "$(limit total)"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
