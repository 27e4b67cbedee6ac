#!/usr/bin/env bash
# package.sh DEB NEWER - a package installs, runs, is upgraded, and leaves nothing
#
# SPDX-License-Identifier: Apache-2.0
#
# As root in a root that is there for tests (tests/platforms package): it installs
# and removes packages. NEWER is the same with a later version.
set -euo pipefail
deb=$(realpath "${1:?package}")
newer=$(realpath "${2:?the same, newer}")
export DEBIAN_FRONTEND=noninteractive
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/ck-package-test.XXXXXX")
. "$here/../discard.sh"
. "$here/../rings.sh"
trap 'discard "$work" "$rings"' EXIT

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

get() {
    apt-get -q -y --no-install-recommends "$@" >"$work/apt" 2>&1 ||
        fail "apt-get $*: $(tail -n 5 "$work/apt")"
}

field() {
    dpkg-deb -f "$1" "$2"
}

# job NAME: recorded by what is installed, verified, and reported.
job() {
    local status=0
    ckagent --dir "$work/$1" -- sh -c 'sleep 0.3; exit 3' >"$work/out" \
        2>"$work/err" || status=$?
    [ "$status" = 3 ] || fail "ckagent ended with $status: $(cat "$work/err")"
    grep -q 'recorded to the end' "$work/$1/report.txt" ||
        fail "report: $(cat "$work/$1/report.txt")"
    ckmerge --verify "$work/$1" >"$work/verify" 2>&1 ||
        fail "--verify: $(cat "$work/verify")"
}

# installed VERSION: all that users look for is there.
installed() {
    local program page link
    [ "$(dpkg-query -W -f '${Version} ${db:Status-Status}' "$package")" = \
        "$1 installed" ] || fail "$package is not installed as $1"
    [ -z "$(dpkg --audit)" ] || fail "$(dpkg --audit)"
    for program in ckagent ckagg ckmerge cklaunch; do
        "$program" --version >"$work/version" || fail "$program --version"
        grep -q '^commit [0-9a-f]' "$work/version" ||
            fail "$program --version: $(cat "$work/version")"
        [ -s "/usr/share/man/man1/$program.1.gz" ] || fail "no page of $program"
        [ -s "/usr/share/bash-completion/completions/$program" ] ||
            fail "no completion of $program"
    done
    for page in /usr/share/doc/ck/README.md /usr/share/doc/ck/docs/*.md; do
        for link in $(grep -o ']([^):#]*[)#]' "$page" | sed 's/^](//; s/[)#]$//'); do
            [ -e "$(dirname "$page")/$link" ] ||
                fail "$page links to $link, which is not installed"
        done
    done
    [ -s "/usr/share/doc/$package/copyright" ] || fail "no copyright"
}

# gone HOW: of its files none is left but folders of others.
gone() {
    local file
    hash -r # bash would answer from what it has started
    ! command -v ckagent || fail "ckagent is there after it was $1"
    while read -r file; do
        [ ! -e "$file" ] || dpkg -S "$file" >/dev/null 2>&1 ||
            fail "$file is there after it was $1"
    done <"$work/files"
}

package=$(field "$deb" Package)
dpkg --compare-versions "$(field "$newer" Version)" gt "$(field "$deb" Version)" ||
    fail "$newer is not newer"
! command -v ckagent || fail "ck is here already"
dpkg-query -W >"$work/before"
get update
get install "$deb"
installed "$(field "$deb" Version)"
job first
get install "$newer"
installed "$(field "$newer" Version)"
job second
ckmerge "$work/first" >"$work/out" 2>&1 || fail "merged after the upgrade: $(cat "$work/out")"
dpkg -L "$package" >"$work/files"
get remove "$package"
gone removed
get install "$newer"
get purge "$package"
gone purged
# libc6 recommends what came with our libraries (libidn2-0): that alone keeps it.
get -o APT::AutoRemove::RecommendsImportant=false \
    -o APT::AutoRemove::SuggestsImportant=false autoremove --purge
dpkg-query -W >"$work/after"
cmp "$work/before" "$work/after" || fail "other packages: $(diff "$work/before" "$work/after")"
echo "package: installed, run, upgraded, run, removed, installed, purged"
