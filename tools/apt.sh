# shellcheck shell=bash
# SPDX-License-Identifier: MIT
#
# For scripts that take something from another suite of Debian: by the mirror
# and the keys that this machine's own apt uses, and nothing is installed.

# apt_ready <folder> <suite>: makes a directory of apt's own for that suite in
# the folder; APT_CONFIG says so. Status 3: no mirror answers.
apt_ready()
{
    local folder=$PWD/$1/apt-$2 suite=$2 mirror

    mirror=$(apt-get indextargets --format "\$(RELEASE) \$(REPO_URI)" \
        'Created-By: Packages' 2>/dev/null |
        sed -n 's/^\(bookworm\|trixie\) //p' | head -n 1)
    [ -n "$mirror" ] || return 3
    mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial" \
        "$folder/parts"
    : >"$folder/status"
    printf '%s %s %s main\n' deb "$mirror" "$suite" deb-src "$mirror" "$suite" \
        >"$folder/sources.list"
    cat >"$folder/apt.conf" <<END
Dir::Etc::sourcelist "$folder/sources.list";
Dir::Etc::sourceparts "$folder/parts";
Dir::State::lists "$folder/lists";
Dir::State::status "$folder/status";
Dir::Cache "$folder/cache";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "20";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
APT::Sandbox::User "root";
END
    export APT_CONFIG=$folder/apt.conf
    [ -e "$folder/updated" ] && return
    apt-get -qq --error-on=any update >&2 || return 3
    touch "$folder/updated"
}
