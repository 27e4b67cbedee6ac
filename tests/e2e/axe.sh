# axe.sh - where axe-core is, for page.py
# shellcheck shell=bash
#
# SPDX-License-Identifier: Apache-2.0
#
# Sourced behind lib.sh (`cache`): exports CK_AXE, which npm fetches once unless it is set.
axe=${cache:?}/axe-core
if [ ! -e "$axe/.ready" ] && [ -z "${CK_AXE:-}" ] && command -v npm >/dev/null; then
    rm -rf "$axe"
    mkdir -p "$axe"
    (cd "$axe" && npm pack --silent axe-core@4.14.1 && tar xzf ./*.tgz &&
        touch .ready) >"$cache/axe-core.log" 2>&1 || true
fi
if [ -e "$axe/.ready" ]; then
    export CK_AXE=${CK_AXE:-$axe/package/axe.min.js}
fi
[ -n "${CK_AXE:-}" ] || echo "not looked at with axe-core, which npm cannot fetch here"
