#!/usr/bin/env bash
# man.sh BUILD - every option of a program has a line in its manual page, and
# every option of the page is one of the program
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
build=${1:?build folder}
docs=$(dirname "$0")/../../docs/man
status=0

for program in ckagent ckagg ckmerge cklaunch; do
    page=$docs/$program.1.scd
    if ! [ -e "$page" ]; then
        echo "$page is missing"
        status=1
        continue
    fi
    options=$("$build/bin/$program" --print-options | cut -f 1)
    if [ -z "$options" ]; then
        echo "$program says no options (is it built?)"
        status=1
        continue
    fi
    while read -r option; do
        # A flag that is on by default is documented by its --no- form.
        grep -qF -e "*$option*" -e "*--no-${option#--}*" -- "$page" || {
            echo "$page: no line for $option"
            status=1
        }
    done <<<"$options"
    # Lines that open an option in the page: bold, at the line's start.
    while read -r option; do
        grep -qxF -- "$option" <<<"$options" ||
            grep -qxF -- "${option/--no-/--}" <<<"$options" || {
            echo "$page: $program has no option $option"
            status=1
        }
    done < <(grep -oE '^\*-.*' "$page" | grep -oE '\*--[a-z-]+\*' |
        tr -d '*' | sort -u)
done
exit $status
