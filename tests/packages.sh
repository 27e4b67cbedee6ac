# packages.sh - install what tests/packages.txt lists, and only what is missing
# shellcheck shell=bash
#
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced. Needs root or sudo only where something is missing.

ck_packages_file=$(dirname "${BASH_SOURCE[0]}")/packages.txt

# ck_packages SECTION...: the packages of these sections, one a line; those
# whose command is there already are left out.
ck_packages() {
    local section=none line name command
    while IFS= read -r line; do
        line=${line%%#*}
        read -r name command _ <<<"$line" || true
        case $name in
        '') continue ;;
        \[*\])
            section=${name//[\[\]]/}
            continue
            ;;
        esac
        [[ " $* " == *" $section "* ]] || continue
        command=${command//[()]/}
        if [ -n "$command" ] && command -v "$command" >/dev/null; then
            continue
        fi
        echo "$name"
    done <"$ck_packages_file"
}

# ck_packages_missing SECTION...: those that are not installed.
ck_packages_missing() {
    local wanted
    wanted=$(ck_packages "$@")
    # shellcheck disable=SC2086 # one word a package
    comm -23 <(sort <<<"$wanted") <(
        dpkg-query -W -f '${Package} ${db:Status-Status}\n' $wanted \
            2>/dev/null | sed -n 's/ installed$//p' | sort
    )
}

# ck_packages_install SECTION...: 0 when all are there afterwards.
ck_packages_install() {
    local missing as_root=()
    if ! command -v apt-get >/dev/null; then
        echo "This is not Debian: these packages are assumed to be there" \
            "under whatever name they have here:"
        ck_packages "$@" | paste -sd ' '
        return 0
    fi
    missing=$(ck_packages_missing "$@")
    if [ -z "$missing" ]; then
        echo "all packages are installed"
        return 0
    fi
    if [ "$(id -u)" != 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "neither root nor sudo; as root, run: apt-get install" \
                "$(paste -sd ' ' <<<"$missing")" >&2
            return 1
        fi
        as_root=(sudo)
    fi
    as_root+=(env DEBIAN_FRONTEND=noninteractive apt-get
        -o DPkg::Lock::Timeout=300 -y -q)
    echo "installing: $(paste -sd ' ' <<<"$missing")"
    "${as_root[@]}" update
    # shellcheck disable=SC2086 # one word a package
    "${as_root[@]}" install --no-install-recommends $missing
}
