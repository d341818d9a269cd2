#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Builds Latchkey against the sources of Debian 13's hiredis and libuv, and runs
# the tests of modules, scripts and client. All is below build/newer. Options go
# to ctest. Exit status 3: a mirror does not answer.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ALL=build/newer
PREFIX=$PWD/$ALL/prefix
JOBS=$(nproc)
. tools/apt.sh

# library <package> <version> <option of cmake>...: builds and installs it. apt
# checks the source by what its mirror has signed.
library()
{
    local package=$1 version=$2 folder=$ALL/$1

    shift 2
    [ ! -e "$folder/installed" ] || return 0
    rm -rf "$folder"
    mkdir -p "$folder/source"
    (cd "$folder" && apt-get -qq source --download-only --only-source \
        "$package" >/dev/null) || return 3
    tar -xf "$folder/${package}_$version".orig.tar.* -C "$folder/source" \
        --strip-components 1 || return
    cmake -S "$folder/source" -B "$folder/build" -G Ninja \
        -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_INSTALL_LIBDIR=lib \
        -DCMAKE_INSTALL_PREFIX="$PREFIX" "$@" >"$folder/log" &&
        cmake --build "$folder/build" --target install >>"$folder/log" &&
        touch "$folder/installed"
}

mkdir -p "$ALL"
(
    apt_ready "$ALL" trixie &&
        library hiredis 1.2.0 -DDISABLE_TESTS=ON &&
        library libuv1 1.50.0 -DBUILD_TESTING=OFF
) || exit
export PKG_CONFIG_PATH=$PREFIX/lib/pkgconfig
cmake -S . -B "$ALL/latchkey" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
    -DLK_WERROR=ON -DLK_EXAMPLES=OFF -DCMAKE_PREFIX_PATH="$PREFIX" \
    -DCMAKE_BUILD_RPATH="$PREFIX/lib" >/dev/null
cmake --build "$ALL/latchkey"
ldd "$ALL/latchkey/liblatchkey.so" | grep -c "$PREFIX/lib/lib" |
    grep -qx 2 || { echo 'newer-libraries: not linked with both' >&2; exit 1; }
ctest --test-dir "$ALL/latchkey" --output-on-failure --no-tests=error \
    --parallel $((3 * JOBS)) --tests-regex '^(unit|scripts|integration)\.' "$@" \
    </dev/null
