#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Breaks the rules of tests/mutants/list.txt, each by itself, in a copy of the
# tree, and runs the test that is to notice it. Fails if one of them lives. There is a
# copy for each processor; they stay, so that the next time only what has changed is
# built.
#
#   mutants.sh [RULE...]    these; without a name all of them
#   mutants.sh --slice N    one in N of them: which ones, the commit and the day say;
#                           after SLICE_SECONDS none is begun any more
#   mutants.sh --lines      breaks nothing, and says which lines are not there
#   mutants.sh --compile    runs no test, and says which do not compile

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

LIST=tests/mutants/list.txt
TESTED=build/debug/tests.xml
SECONDS_MOST=120
SLICE_SECONDS=${LK_MUTANTS_SECONDS:-180}
seconds_all=
bad=0
killed=0
compiled=0
left=0

# place <copy>: what is done from now on is done there
place()
{
    PLACE=$PWD/build/mutants/$1
    COPY=$PLACE/tree
    LOG=$PLACE/log
    mkdir -p "$COPY"
    : >"$LOG"
}

# Leaves what it says in the log.
quietly()
{
    "$@" >>"$LOG" 2>&1
}

# sums <folder>: what each of the files that $PLACE/names lists holds
sums()
{
    (cd "$1" && xargs -d '\n' sha1sum --) <"$PLACE/names"
}

# What the tree has, and nothing else but what was built; a file that is as it
# was keeps its time.
copy_make()
{
    local name

    git ls-files --cached --others --exclude-standard |
        while IFS= read -r name; do
            [ ! -e "$name" ] || printf '%s\n' "$name"
        done | LC_ALL=C sort >"$PLACE/names"
    (cd "$COPY" && find . -path ./build -prune -o -type f -printf '%P\n') |
        LC_ALL=C sort >"$PLACE/copied"
    LC_ALL=C comm -13 "$PLACE/names" "$PLACE/copied" |
        while IFS= read -r name; do rm "$COPY/$name"; done
    LC_ALL=C comm -23 "$PLACE/names" "$PLACE/copied" |
        tr '\n' '\0' | xargs -0r cp --parents -t "$COPY"
    { diff <(sums .) <(sums "$COPY") || true; } | sed -n 's/^< [^ ]*  //p' |
        tr '\n' '\0' | xargs -0r cp --parents -t "$COPY"
    (cd "$COPY" && quietly cmake --preset debug --log-level=WARNING)
}

# program <test>: the program that holds it; of what is no file of tests/, the target
# that builds it
program()
{
    local kind=${1%%.*} name=${1#*.} file

    file=$(find "tests/$kind" -name "test_$name.c" 2>/dev/null)
    case $kind:$file in
    conformance:) printf 'test_conformance_all\n' ;;
    *: | */test_short_*) printf 'test_%s_%s\n' "$kind" "$name" ;;
    *) printf 'test_%s_%s\n' "$kind" "$(basename "$(dirname "$file")")" ;;
    esac
}

# build <test>
build()
{
    quietly cmake --build "$COPY/build/debug" --target "$(program "$1")"
}

# passes <test>: a rule that is broken may make it run for ever. What is no
# program of tests/ is run by ctest. The test may ask LK_MUTANT which rule it is.
passes()
{
    local tests=$COPY/build/debug/tests program
    local arguments=("$1")

    program=$tests/$(program "$1")
    case $1 in # a row of a file
    conformance.*_*) arguments=("${1%_*}" "${1##*_}*") ;;
    esac
    if [ -x "$program" ]; then
        quietly timeout --kill-after=10 "$SECONDS_MOST" \
            "$tests/programs/lk_reap" "$program" "${arguments[@]}"
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

# passed_before <test>: in the debug build of what the tree has now
passed_before()
{
    [ -f "$TESTED" ] &&
        grep -q "<testcase name=\"${1//./\\.}\" .*status=\"run\"" "$TESTED" &&
        [ -z "$(find CMakeLists.txt cmake include lua sim src tests \
            -newer "$TESTED" -print -quit)" ]
}

# A test that fails anyway proves nothing.
sound=' '
is_sound()
{
    [[ $sound != *" $1 "* ]] || return 0
    if passed_before "$1" || { build "$1" && passes "$1"; }; then
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

    command=$(ninja -C "$COPY/build/debug" -t commands "$COPY/$1^" |
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

# slice <parts>: the names of this commit's and this day's share. Each rule comes in
# turn.
slice()
{
    local commit part

    commit=$(git rev-parse HEAD)
    part=$(((16#${commit:0:7} + $(date +%s) / 86400) % $1))
    awk -v part="$part" -v slices="$1" \
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

# try_here <copy> <rule>...: leaves its counts in the file counts
try_here()
{
    place "$1"
    shift
    copy_make
    each try "$@"
    printf '%d %d %d\n' "$killed" "$bad" "$left" >"$PLACE/counts"
    [ "$bad" -eq 0 ] || printf 'What was said meanwhile is in %s\n' "$LOG"
}

# try_all <rule>...: a part of them in each copy; those that stand together in the list
# are often for the same test
try_all()
{
    local copies copy part

    copies=$(nproc)
    [ "$copies" -le $# ] || copies=$#
    part=$((($# + copies - 1) / copies))
    rm -f build/mutants/*/counts
    for ((copy = 0; copy < copies; copy++)); do
        try_here "$copy" "${@:copy * part + 1:part}" &
    done
    wait
    read -r killed bad left < <(cat build/mutants/*/counts |
        awk '{ for (i = 1; i <= 3; i++) n[i] += $i } END { print n[1], n[2], n[3] }')
    # one that was ended before it could count
    bad=$((bad + copies - $(cat build/mutants/*/counts | wc -l)))
}

main()
{
    local names

    case ${1:-} in
    --lines)
        each look_for_line
        return $((bad > 0))
        ;;
    --compile)
        place 0
        copy_make
        compile_all
        return $((bad > 0))
        ;;
    --slice)
        seconds_all=$SLICE_SECONDS
        mapfile -t names < <(slice "${2:?how many parts}")
        ;;
    '')
        mapfile -t names < <(awk '$1 == "rule" { print $2 }' "$LIST")
        ;;
    *)
        names=("$@")
        ;;
    esac
    try_all "${names[@]}"
    printf '%d killed, %d not\n' "$killed" "$bad"
    [ "$left" -eq 0 ] || printf '%d not tried: no time left\n' "$left"
    [ "$bad" -eq 0 ]
}

main "$@"
