#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Fails if what is installed cannot be used: installs the strict build into a
# temporary folder and builds a program against it with pkg-config and with
# CMake, shared and static, as C and with the public header as C++. Looks at
# what belongs to the tool as well. Needs build/strict.

set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

cmake --install build/strict --prefix "$prefix" >/dev/null
library=$(dirname "$(find "$prefix" -name liblatchkey.a)")
for line in "LD_LIBRARY_PATH=~/.local${library#"$prefix"}" \
    "PKG_CONFIG_PATH=~/.local${library#"$prefix"}/pkgconfig"; do
    grep -qx "export $line" docs/install.md || {
        echo "docs/install.md has no line 'export $line'" >&2
        exit 1
    }
done

cat >"$work/main.c" <<'EOF'
#include <latchkey/latchkey.h>

#include <stdio.h>

int main(void)
{
    return puts(lk_version()) == EOF || lk_status_name(LK_OK)[0] != 'O';
}
EOF
cat >"$work/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
find_package(latchkey 0.1 REQUIRED)
add_executable(shared main.c)
target_link_libraries(shared PRIVATE latchkey::latchkey)
add_executable(static main.c)
target_link_libraries(static PRIVATE latchkey::latchkey_static)
EOF

# config <option>...: pkg-config. The prefix is another than the configured one,
# and the file has to tell it by itself, as it has to for those who do not move.
# It finds no other file: what the library is made of need not be installed.
config()
{
    PKG_CONFIG_LIBDIR=$library/pkgconfig pkg-config --dont-define-prefix "$@" \
        latchkey
}

# runs <program>
runs()
{
    LD_LIBRARY_PATH=$library "$1" >/dev/null
}

# The lists of pkg-config are meant to be split.
# shellcheck disable=SC2046
{
    cc -o "$work/shared" "$work/main.c" $(config --cflags --libs)
    cc -o "$work/static" "$work/main.c" $(config --cflags) \
        "$library/liblatchkey.a" $(config --static --libs-only-l |
            sed 's/-llatchkey//') -pthread
    c++ -std=c++11 -fsyntax-only -x c++ $(config --cflags) \
        -include latchkey/latchkey.h /dev/null
}
runs "$work/shared"
runs "$work/static"

cmake -G Ninja -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$work/build" >/dev/null
runs "$work/build/shared"
runs "$work/build/static"

# The program asks for the library of this minor release, and for no other.
needed=$(readelf -d "$work/shared" | sed -nE 's/.*NEEDED.*\[(.*)\]/\1/p' |
    grep -v '^libc\.' | paste -sd' ')
minor=$(LD_LIBRARY_PATH=$library "$work/shared" |
    sed -E 's/^(0\.[0-9]+|[0-9]+).*/\1/')
if [ "$needed" != "liblatchkey.so.$minor" ]; then
    printf 'check-install: a program needs "%s"\n' "$needed" >&2
    exit 1
fi

# has <line> <command>...: says so unless that is a line of what it writes
has()
{
    line=$1
    shift
    "$@" | grep -qxF -e "$line" && return
    printf 'check-install: no "%s" from %s\n' "$line" "$*" >&2
    exit 1
}

# The tool has the library in it and runs from wherever it lies.
PATH=$prefix/bin:$PATH
has "latchkey $(LD_LIBRARY_PATH=$library "$work/shared")" latchkey --version
man=$prefix/share/man/man1
has '.SH EXIT STATUS' cat "$man/latchkey.1"
has "ExecStart=$prefix/bin/latchkey leader \\-q billing \\-\\- /usr/local/bin/billing" \
    cat "$man/latchkey.1"
if grep -n '@[A-Z_]*@' "$man"/*; then
    printf 'check-install: the man pages have marks that nothing has filled\n' >&2
    exit 1
fi
has lock latchkey __manual
for page in $(latchkey __manual); do
    latchkey __manual "$page" | cmp - "$man/latchkey-$page.1"
done
# Each function that is exported has a page, and no page says what groff does not
# understand.
sed -nE 's/^ *(lk_[a-z0-9_]+);$/\1/p' abi/latchkey.map | while read -r name; do
    test -s "$prefix/share/man/man3/$name.3" || {
        printf 'check-install: no page for %s()\n' "$name" >&2
        exit 1
    }
done
has '.BR lk_hold (3)' cat "$prefix/share/man/man7/latchkey-guarantees.7"
has '.so man3/lk_hold.3' cat "$prefix/share/man/man3/lk_hold_check.3"
(cd "$prefix/share/man" && groff -man -ww -z -Tutf8 man[137]/* 2>&1) | grep . >&2 && {
    printf 'check-install: groff does not understand the man pages\n' >&2
    exit 1
}
if grep -A 1 '^\.PP$' "$prefix/share/man"/man[137]/* | grep -E -- '-\.(TP|PP|SH|SS)'
then
    printf 'check-install: the man pages have paragraphs without a word\n' >&2
    exit 1
fi
# The tool names no document that is not installed.
if grep -ao 'docs/[a-z-]*\.md' "$prefix/bin/latchkey"; then
    printf 'check-install: the tool names what only the sources have\n' >&2
    exit 1
fi
for file in share/doc/latchkey/guarantees.md \
    $(grep -ao 'share/doc/[a-z/-]*\.md' "$prefix/bin/latchkey"); do
    test -s "$prefix/$file" || {
        printf 'check-install: no %s\n' "$file" >&2
        exit 1
    }
done
has '#compdef latchkey' cat "$prefix/share/zsh/site-functions/_latchkey"
has 'function __latchkey_candidates' cat \
    "$prefix/share/fish/vendor_completions.d/latchkey.fish"
# shellcheck disable=SC2016 # the inner shell's
has 'complete -F _latchkey latchkey' bash -c '. "$1" && complete -p latchkey' \
    bash "$prefix/share/bash-completion/completions/latchkey"

# lacks <pattern> <options of cmake>...: no target of that build is so
lacks()
{
    pattern=$1
    shift
    rm -rf "$work/configured"
    cmake -G Ninja -B "$work/configured" "$@" >/dev/null
    ninja -C "$work/configured" -t targets all >"$work/targets"
    grep -q '^liblatchkey\.so\|/liblatchkey\.so' "$work/targets"
    grep -E "$pattern" "$work/targets" || return 0
    printf 'check-install: cmake %s builds what nobody asked for\n' "$*" >&2
    exit 1
}

# Whoever says nothing gets what users get, and as a part of another project the
# library alone, of which nothing is installed.
lacks '^[^:]*(test_|_bench|example|interop)[^:]*: (phony|CUSTOM|C_EXEC)' -S .
mkdir "$work/whole"
cat >"$work/whole/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.22)
project(whole LANGUAGES C)
add_subdirectory($PWD latchkey)
END
lacks 'latchkey_cli|manual|^[^:]*test_' -S "$work/whole"
if grep -r 'file(INSTALL' "$work/configured" --include=cmake_install.cmake; then
    printf 'check-install: another project installs what belongs to latchkey\n' >&2
    exit 1
fi

# Nothing is asked for but the packages of the library, and of one that may be missing
# it is said what the tool lacks.
mkdir "$work/packages"
for name in hiredis libuv openssl libssl libcrypto; do
    ln -s "$(pkg-config --variable=pcfiledir "$name")/$name.pc" "$work/packages"
done
configured=true
PKG_CONFIG_LIBDIR=$work/packages cmake -G Ninja -S . -B "$work/plain" \
    >"$work/said" 2>&1 || configured=false
if ! $configured ||
    ! grep -A 3 '^CMake Warning' "$work/said" | grep -qF 'latchkey serve'; then
    cat "$work/said"
    printf 'check-install: a plain build needs more, or does not say what it lacks\n' >&2
    exit 1
fi
