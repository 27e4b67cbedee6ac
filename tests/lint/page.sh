#!/usr/bin/env bash
# page.sh - the HTML page has no way for a run's text to become script or markup
#
# SPDX-License-Identifier: Apache-2.0
#
# A run is a stranger's: its texts enter the page as textContent alone, no
# address is made of them, and nothing is fetched.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
status=0
scripts=(merge/output/page/*.js)
[ -e "${scripts[0]}" ] || { echo "no scripts of the page"; exit 1; }

refuse() {
    local what=$1 pattern=$2 hits
    hits=$(grep -nE "$pattern" "${scripts[@]}")
    if [ -n "$hits" ]; then
        printf '%s:\n%s\n' "$what" "$hits"
        status=1
    fi
}

refuse "text as markup" '(innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc|setHTML)'
refuse "text as script" "(\beval\b|\bFunction *\(|setTimeout\( *['\"\`]|setInterval\( *['\"\`]|setAttribute\( *['\"\`]on|javascript:)"
# The page of a running job alone asks its server, for one thing.
hits=$(grep -nE '\bfetch *\(' "${scripts[@]}" |
    grep -vF "live.js:" || true)$(grep -oE '\bfetch *\([^,]*' merge/output/page/live.js |
    grep -vxF "fetch('../state'")
if [ -n "$hits" ]; then
    printf 'something is fetched:\n%s\n' "$hits"
    status=1
fi
refuse "something is fetched or kept" '(XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts|\bimport *\(|new Worker|localStorage|sessionStorage|indexedDB|document\.cookie)'
refuse "the page leaves itself" '(window\.open|location\.(assign|replace)|location *= |location\.href *=|\.src *=)'
# The one address is that of a file which the page saves.
hits=$(grep -nE '\.href *=|\bhref:' "${scripts[@]}" | grep -v 'link.href = address')
if [ -n "$hits" ]; then
    printf 'an address is made:\n%s\n' "$hits"
    status=1
fi
# The marks that C writes into the page: the policy allows neither.
hits=$(grep -nE '[ "](style|on[a-z]+)=\\"|<(img|iframe|object|embed|link|form|base)\b' merge/output/page/*.c)
if [ -n "$hits" ]; then
    printf 'the policy of the page refuses this:\n%s\n' "$hits"
    status=1
fi
# In HTML these end the script, or begin a comment in it.
refuse "a mark of HTML in a script" '</script|<!--'
for script in "${scripts[@]}" merge/output/page/*.css; do
    head -n 5 "$script" | grep -q 'SPDX-License-Identifier: Apache-2.0' || {
        echo "$script: no SPDX line"
        status=1
    }
done
# The commands for other formats are of all that ckmerge writes.
all=$(sed -nE 's/^ *(FORMAT|last)\([A-Z_]+, "([a-z-]+)",.*/\2/p' launch/format.h |
    grep -vxF html | sort)
shown=$(sed -nE "s/^  \['([a-z-]+)(=[^']*)?', .*/\1/p" merge/output/page/more.js | sort)
if [ "$all" != "$shown" ]; then
    printf 'more.js has not the formats of launch/format.h:\n'
    diff <(printf '%s\n' "$all") <(printf '%s\n' "$shown")
    status=1
fi
if command -v node >/dev/null; then
    joined=$(mktemp --suffix=.js)
    # In the order of the room's list, as the page has them.
    mapfile -t order < <(grep -oE '[{]page[}]/[a-z]+\.js' merge/CMakeLists.txt |
        sed 's:.*/::')
    if [ ${#order[@]} -ne ${#scripts[@]} ]; then
        echo "merge/CMakeLists.txt lists ${#order[@]} scripts, the room has ${#scripts[@]}"
        status=1
    fi
    (cd merge/output/page && cat "${order[@]}") >"$joined"
    node --check "$joined" || status=1
    rm -f "$joined"
fi
exit $status
