#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Proves that a bare Debian is enough for what README.md shows: makes one in a
# temporary folder, puts a clone of the last commit into it, and runs there, as
# the very first commands, the Install section of README.md, ./dev demo and
# ./dev test. Needs root, debootstrap and the network. What apt has fetched stays
# in build/roots.
#
# usage: tools/fresh-debian.sh [--worktree] [RELEASE...]
#        tools/fresh-debian.sh [--worktree] --run RELEASE USER COMMAND
#
#   --worktree   the files as they are now instead of the last commit
#   --run        only this command, for a shell; USER is root, admin, who may use
#                sudo, or guest, in whose root there is no sudo
#   RELEASE      bookworm (Debian 12) or trixie (Debian 13); both unless named

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

RELEASES=(bookworm trixie)
KEPT=$PWD/build/roots # packages that were fetched

die()
{
    printf 'fresh-debian: %s\n' "$1" >&2
    exit 1
}

title()
{
    printf '\n#### %s\n' "$1"
}

# ---- a root -----------------------------------------------------------------

# The mirror that this machine's own packages come from.
mirror()
{
    apt-get indextargets --format "\$(ORIGIN) \$(RELEASE) \$(REPO_URI)" \
        'Created-By: Packages' |
        awk '$1 == "Debian" && $2 !~ /-/ { print $3; exit }'
}

# debootstrap_root <release> <folder>: with nothing but Debian's smallest set.
# There is nobody to say yes to apt, and what it has fetched is kept.
debootstrap_root()
{
    local from

    from=$(mirror)
    [ -n "$from" ] || die 'apt knows no mirror of Debian'
    mkdir -p "$KEPT/$1"
    debootstrap --variant=minbase --cache-dir="$KEPT/$1" "$1" "$2" "$from" \
        >"$work/log" 2>&1 || die "debootstrap: $(tail -n 3 "$work/log")"
    cat >"$2/etc/apt/apt.conf.d/90fresh" <<'END'
APT::Get::Assume-Yes "true";
Binary::apt::APT::Keep-Downloaded-Packages "true";
END
    printf '%s\n' "127.0.0.1 localhost $(uname -n)" '::1 localhost' >"$2/etc/hosts"
    chroot "$2" useradd --create-home --uid 1000 admin
    chroot "$2" useradd --create-home --uid 1001 guest
}

# copy_project <root> <uid>
copy_project()
{
    local source=$1/src/latchkey

    mkdir -p "$source"
    if $worktree; then
        git ls-files --cached --others --exclude-standard -z |
            tar --create --null --files-from=- |
            tar --extract --directory "$source"
    else
        git archive HEAD | tar --extract --directory "$source"
    fi
    chown -R "$2:$2" "$source"
}

# root_for <release> <user>: $root is a new one, and nobody has run anything in it
root_for()
{
    local base=$work/$1

    [ -d "$base" ] || debootstrap_root "$1" "$base"
    rm -rf --one-file-system "$work/root"
    root=$work/root
    user=$2
    release=$1
    cp -a "$base" "$root"
    copy_project "$root" "$(id_of "$2")"
    [ "$user" != admin ] || {
        inside root 'apt-get -qq install sudo' >/dev/null
        echo 'admin ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/admin"
    }
}

# id_of <user>: as debootstrap_root() has made them
id_of()
{
    case $1 in
    root) echo 0 ;;
    admin) echo 1000 ;;
    guest) echo 1001 ;;
    *) die "no user $1; there are root, admin and guest" ;;
    esac
}

# ---- commands in it ---------------------------------------------------------

# inside [--offline] <user> <command>: in a world of its own, so that nothing
# stays mounted or running behind it; offline there is the loopback alone. Its first
# process stays root's: the kernel would not end another user's with unshare.
inside()
{
    local net=() id home=/root

    if [ "$1" = --offline ]; then
        net=(--net)
        shift
    fi
    id=$(id_of "$1")
    [ "$id" -eq 0 ] || home=/home/$1
    # shellcheck disable=SC2016 # the inner shell's variables
    unshare --mount --pid --fork --kill-child "${net[@]}" \
        sh -c '[ -z "$3" ] || ip link set lo up
            mount -t proc proc "$1/proc" && mount -t sysfs sys "$1/sys" &&
            mount -t devpts -o newinstance,ptmxmode=0666 pts "$1/dev/pts" &&
            mount -t tmpfs shm "$1/dev/shm" &&
            mount --bind "$2" "$1/var/cache/apt/archives" || exit
            root=$1
            shift 3
            chroot "--userspec=$1:$1" --groups= "$root" env -i \
                PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$2" \
                LANG=C.UTF-8 sh -c "cd /src/latchkey && $3"
            exit $?' sh \
        "$root" "$KEPT/$release" "${net[*]}" "$id" "$home" "$2" </dev/null &
    child=$!
    wait "$child"
}

# However this script ends: with it ends all that runs in a root.
end()
{
    { [ -z "$child" ] || { kill -KILL "$child" && wait "$child"; } || :; } \
        2>/dev/null
    rm -rf --one-file-system "$work" 2>/dev/null ||
        { sleep 1 && rm -rf --one-file-system "$work"; }
}

# proves <what> [--offline] <user> <command>
proves()
{
    local what=$1

    shift
    title "$release: $what"
    inside "$@" || die "$release: failed: $what"
}

# block <language>: the first one that README.md has below "## Install" or later
block()
{
    awk -v start="^\`\`\`$1" '/^## Install/ { is_below = 1 }
        is_below && is_in && /^```/ { exit }
        is_in { print }
        is_below && $0 ~ start { is_in = 1 }' README.md
}

# What README.md says is there once its Install section was followed: the tool
# with its private server and its page, and the C program that it shows.
# shellcheck disable=SC2016 # the inner shell's
INSTALLED='set -e
    latchkey lock hello -- echo "alone now"
    timeout 5 latchkey serve --listen 127.0.0.1:0 || [ $? -eq 124 ]
    cc -Wall -Wextra -o /tmp/program /tmp/program.c \
        $(pkg-config --cflags --libs latchkey)
    (cd /tmp && exec bash -c "exec -a redis-server redis-check-rdb") >/tmp/log &
    export LATCHKEY_URL=redis://127.0.0.1
    until latchkey ls >/dev/null 2>&1; do sleep 0.1; done
    /tmp/program | grep "^write, fence [0-9]"'

# A person who may install nothing.
# shellcheck disable=SC2016 # the inner shell's
REFUSED='! out=$(./dev demo --quick 2>&1) && printf "%s\n" "$out" &&
    printf "%s\n" "$out" | grep -q "as root: apt-get install gcc"'

prove()
{
    root_for "$1" guest
    proves 'who may not install is told what to install' guest "$REFUSED"
    root_for "$1" admin
    proves './dev demo, with sudo' admin './dev demo --quick'
    block c >"$root/tmp/program.c"
    proves 'Install' admin "set -e
$(block sh)"
    proves 'what was installed' --offline admin "$INSTALLED"
    root_for "$1" root
    proves './dev demo' root './dev demo --quick &&
        ! grep -lx redis-server /proc/[0-9]*/comm'
    proves './dev build' root './dev build'
    proves './dev test' --offline root './dev test &&
        ! grep -lx redis-server /proc/[0-9]*/comm'
    [ ! -e "$root/etc/init.d/redis-server" ] ||
        die "$release: a Redis service was installed"
}

# ---- command line -----------------------------------------------------------

worktree=false
if [ "${1:-}" = --worktree ]; then
    worktree=true
    shift
fi
[ "$(id -u)" -eq 0 ] || die 'needs root'
command -v debootstrap >/dev/null || die 'needs the package debootstrap'
work=$(mktemp --directory)
child=
trap end EXIT

if [ "${1:-}" = --run ]; then
    root_for "${2:?which release}" "${3:?which user}"
    inside "$3" "${4:?which command}"
    exit
fi
[ $# -eq 0 ] || RELEASES=("$@")
for name in "${RELEASES[@]}"; do
    prove "$name"
done
title "A bare Debian is enough: ${RELEASES[*]}"
