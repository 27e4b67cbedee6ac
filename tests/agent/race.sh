#!/usr/bin/env bash
# race.sh PROGRAM... - programs built with the thread sanitizer have no race
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
fixed=(setarch -R) # older sanitizers know few layouts of the address space
"${fixed[@]}" true 2>/dev/null || fixed=()
status=0
for program in "$@"; do
    if ! said=$("${fixed[@]}" "$program" 2>&1); then
        case $said in *'unexpected memory mapping'*)
            echo "skipped: the thread sanitizer does not run here"
            exit 77 ;;
        esac
        echo "$said"
        status=1
    fi
done
exit $status
