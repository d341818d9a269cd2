#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Proves that a bare Debian 12 is enough: makes one in a temporary folder, puts
# a clone of the last commit into it and runs there, as the very first
# commands, ./dev test and ./dev demo. Needs root, debootstrap and the network.
#
# usage: tools/fresh-debian.sh [--worktree] [COMMAND OF DEV...]
#
#   --worktree   the files as they are now instead of the last commit

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

die()
{
    printf 'fresh-debian: %s\n' "$1" >&2
    exit 1
}

# The mirror that this machine's own packages come from.
mirror()
{
    # shellcheck disable=SC2016 # the variables are apt's
    apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(COMPONENT) $(REPO_URI)' \
        'Created-By: Packages' |
        awk '$1 == "Debian" && $2 == "bookworm" && $3 == "main" {
            print $4; exit }'
}

# copy_project <root> <worktree>
copy_project()
{
    if $2; then
        mkdir -p "$1/src/latchkey"
        git ls-files --cached --others --exclude-standard -z |
            tar --create --null --files-from=- |
            tar --extract --directory "$1/src/latchkey"
    else
        git clone --quiet --no-hardlinks . "$1/src/latchkey"
    fi
}

# inside <root> <command>: in a world of its own, so that nothing stays
# mounted or running behind it.
inside()
{
    # shellcheck disable=SC2016 # the inner shell's $1
    unshare --mount --pid --fork --kill-child \
        sh -c 'mount -t proc proc "$1/proc" &&
            mount -t devpts -o newinstance,ptmxmode=0666 pts "$1/dev/pts" &&
            exec chroot "$@"' sh \
        "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
        sh -c "cd /src/latchkey && $2" </dev/null
}

worktree=false
if [ "${1:-}" = --worktree ]; then
    worktree=true
    shift
fi
[ $# -gt 0 ] || set -- test demo

[ "$(id -u)" -eq 0 ] || die 'needs root'
command -v debootstrap >/dev/null || die 'needs the package debootstrap'
from=$(mirror)
[ -n "$from" ] || die 'apt knows no mirror of Debian 12'

root=$(mktemp --directory)
trap 'rm -rf --one-file-system "$root"' EXIT
debootstrap --variant=minbase bookworm "$root" "$from" >"$root.log" 2>&1 ||
    die "debootstrap failed, see $root.log"
rm -f "$root.log"
copy_project "$root" "$worktree"

for command in "$@"; do
    printf '\n#### ./dev %s on a bare Debian\n' "$command"
    inside "$root" "./dev $command &&
        ! grep -lx redis-server /proc/[0-9]*/comm" ||
        die "./dev $command failed, or left a server running"
done
[ ! -e "$root/etc/init.d/redis-server" ] || die 'a redis service was installed'
printf '\nA bare Debian 12 is enough.\n'
