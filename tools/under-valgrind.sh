#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tools/under-valgrind.sh <program> [<argument>...]: runs a test under Valgrind,
# and the processes that it starts as well, but for what is not ours: servers,
# shells and the system's commands. LK_TEST_TRACE=long follows processes only
# if LK_LONG is set, for tests that start hundreds of them; LK_TEST_TRACE=never
# follows none.
#
# What Valgrind finds goes to files, one for each process, since tests compare
# what the tool writes. So a process that is killed tells what was found until
# then. A finding in any of them fails the test. A child of fork() that does not
# go on with another program would write into the file of its parent: it tells by
# its exit code alone.

set -uo pipefail

found=$(mktemp -d) || exit 1
trap 'rm -rf "$found"' EXIT

trace=(--trace-children=yes
    --trace-children-skip='*redis-*,/bin/*,/usr/*,*.sh')
case ${LK_TEST_TRACE:-}${LK_LONG:+ long} in
never* | long) trace=() ;;
esac

valgrind -q --leak-check=full --errors-for-leak-kinds=definite,indirect \
    --show-leak-kinds=definite,indirect --error-exitcode=99 \
    --child-silent-after-fork=yes "${trace[@]}" \
    --xml=yes --xml-file="$found/%p" --log-file="$found/said.%p" "$@"
code=$?

# Without the tags it can be read well enough.
grep -l '<error>' "$found"/* 2>/dev/null | while read -r file; do
    sed -n '/<args>/,/<\/args>/p; /<error>/,/<\/error>/p' "$file" |
        sed -E 's/<[^>]*>/ /g; s/^ +//' | grep -v '^ *$' >&2
done
if [ "$code" -eq 0 ] && grep -q '<error>' "$found"/* 2>/dev/null; then
    code=99
fi
exit "$code"
