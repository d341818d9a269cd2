#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Breaks the rules of tests/mutants/list.txt, each by itself, in a copy of the
# tree, and runs the test that is to notice it. Fails if one of them lives. The
# copy stays, so that the next time only what has changed is built.
#
#   mutants.sh [RULE...]    these; without a name all of them
#   mutants.sh --slice      one in SLICES of them: which ones, the commit says;
#                           after SLICE_SECONDS none is begun any more. Of the
#                           others it says which do not compile
#   mutants.sh --lines      breaks nothing, and says which lines are not there
#   mutants.sh --compile    runs no test, and says which do not compile

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

LIST=tests/mutants/list.txt
PLACE=build/mutants
COPY=$PLACE/tree
LOG=$PWD/$PLACE/log
SECONDS_MOST=120
SLICES=20
SLICE_SECONDS=240
seconds_all=
bad=0
killed=0
compiled=0
left=0

# Leaves what it says in the log.
quietly()
{
    "$@" >>"$LOG" 2>&1
}

# What the tree has, and nothing else but what was built; a file that is as it
# was keeps its time.
copy_make()
{
    local name

    mkdir -p "$COPY"
    : >"$LOG"
    git ls-files -z --cached --others --exclude-standard |
        while IFS= read -r -d '' name; do
            [ -e "$name" ] || continue
            printf '%s\n' "$name"
            cmp -s "$name" "$COPY/$name" || cp --parents -t "$COPY" "$name"
        done | LC_ALL=C sort >"$PLACE/names"
    (cd "$COPY" && find . -path ./build -prune -o -type f -printf '%P\n') |
        LC_ALL=C sort | LC_ALL=C comm -13 "$PLACE/names" - |
        while IFS= read -r name; do rm "$COPY/$name"; done
    (cd "$COPY" && quietly cmake --preset debug --log-level=WARNING)
}

# build <test>
build()
{
    quietly cmake --build "$COPY/build/debug" --target "test_${1/./_}"
}

# passes <test>: a rule that is broken may make it run for ever. What is no
# program of tests/ is run by ctest. The test may ask LK_MUTANT which rule it is.
passes()
{
    local tests=$COPY/build/debug/tests

    if [ -x "$tests/test_${1/./_}" ]; then
        quietly timeout --kill-after=10 "$SECONDS_MOST" \
            "$tests/programs/lk_reap" "$tests/test_${1/./_}"
    else
        quietly ctest --test-dir "$COPY/build/debug" -R "^${1//./\\.}\$" \
            --output-on-failure --no-tests=error
    fi
}

# break_line <file> <in> <old> <new>: prints the file without the rule. Fails
# unless the line is found, and found once.
break_line()
{
    BEHIND=$2 OLD=$3 NEW=$4 awk '
        { line = $0; gsub(/^[ \t]+|[ \t]+$/, "", line) }
        line == ENVIRON["OLD"] && (ENVIRON["BEHIND"] == "" || (behind && !n)) {
            n++
            print ENVIRON["NEW"]
            next
        }
        ENVIRON["BEHIND"] != "" && index($0, ENVIRON["BEHIND"]) { behind = 1 }
        { print }
        END { exit n != 1 }' "$1"
}

say()
{
    printf '%-9s %-24s %s\n' "$1" "$2" "$3"
}

# A test that fails anyway proves nothing.
sound=' '
is_sound()
{
    [[ $sound != *" $1 "* ]] || return 0
    if build "$1" && passes "$1"; then
        sound+="$1 "
    else
        return 1
    fi
}

# try <rule> <file> <in> <old> <new> <test>
try()
{
    local verdict

    if [ -n "$seconds_all" ] && [ "$SECONDS" -ge "$seconds_all" ]; then
        left=$((left + 1))
        return
    fi
    if ! is_sound "$6"; then
        verdict='unsound'
    elif ! break_line "$2" "$3" "$4" "$5" >"$COPY/$2"; then
        verdict='no line'
    elif ! build "$6"; then
        verdict='no build'
    elif LK_MUTANT=$1 passes "$6"; then
        verdict='lives'
    else
        verdict='killed'
    fi
    cp "$2" "$COPY/$2"
    say "$verdict" "$1" "$6"
    if [ "$verdict" = killed ]; then
        killed=$((killed + 1))
    else
        bad=$((bad + 1))
    fi
}

# Says so if a rule's line has gone.
look_for_line()
{
    if ! break_line "$2" "$3" "$4" "$5" >/dev/null; then
        say 'no line' "$1" "$2"
        bad=$((bad + 1))
    fi
}

# compiles <file>: what is built of it stays as it was.
compiles()
{
    local command

    command=$(ninja -C "$COPY/build/debug" -t commands "$PWD/$COPY/$1^" |
        sed -n '$s| -o [^ ]* -c | -o /dev/null -c |p')
    [ -n "$command" ] || return 1
    (cd "$COPY/build/debug" && quietly eval "$command -MF /dev/null")
}

# Says so if what is left without the rule is no C: such a rule proves nothing.
look_for_compile()
{
    case $2 in *.c) ;; *) return 0 ;; esac
    if break_line "$2" "$3" "$4" "$5" >"$COPY/$2" && compiles "$2"; then
        compiled=$((compiled + 1))
    else
        say 'no build' "$1" "$2"
        bad=$((bad + 1))
    fi
    cp -p "$2" "$COPY/$2" # as old as it is: nothing was built of the other
}

# The names of this commit's share: each rule comes in turn.
slice()
{
    local commit part

    commit=$(git rev-parse HEAD)
    part=$((16#${commit:0:7} % SLICES))
    awk -v part="$part" -v slices="$SLICES" \
        '$1 == "rule" && n++ % slices == part { print $2 }' "$LIST"
}

# each <what to do> [RULE...]: with these, or all, as they stand in the list
each()
{
    local word rest rule='' file='' behind='' old='' new='' act=$1 wanted

    shift
    wanted=" $* "
    while read -r word rest; do
        case $word in
        rule) rule=$rest behind='' ;;
        file) file=$rest ;;
        in) behind=$rest ;;
        old) old=$rest ;;
        new) new=$rest ;;
        test)
            if [ $# -eq 0 ] || [[ $wanted == *" $rule "* ]]; then
                wanted=${wanted/ $rule / }
                "$act" "$rule" "$file" "$behind" "$old" "$new" "$rest" </dev/null
            fi
            ;;
        esac
    done <"$LIST"
    for rule in $wanted; do
        say 'no rule' "$rule" "$LIST"
        bad=$((bad + 1))
    done
}

# What is generated has to be there.
compile_all()
{
    quietly cmake --build "$COPY/build/debug" --target latchkey latchkey_cli
    each look_for_compile
    printf '%d compile\n' "$compiled"
}

main()
{
    case ${1:-} in
    --lines)
        each look_for_line
        return $((bad > 0))
        ;;
    --compile)
        copy_make
        compile_all
        return $((bad > 0))
        ;;
    --slice)
        copy_make
        compile_all
        seconds_all=$SLICE_SECONDS
        # shellcheck disable=SC2046 # one word each
        each try $(slice)
        ;;
    *)
        copy_make
        each try "$@"
        ;;
    esac
    printf '%d killed, %d not\n' "$killed" "$bad"
    [ "$left" -eq 0 ] || printf '%d not tried: no time left\n' "$left"
    [ "$bad" -eq 0 ] || printf 'What was said meanwhile is in %s\n' "$LOG"
    [ "$bad" -eq 0 ]
}

main "$@"
