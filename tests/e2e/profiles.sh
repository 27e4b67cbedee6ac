#!/usr/bin/env bash
# profiles.sh - traces that PyTorch itself writes, and the merged result in
# scalene's own viewer
#
# SPDX-License-Identifier: Apache-2.0
#
# CK_SCALENE_GUI: the folder scalene-gui of a scalene installation or source;
# without it the viewer is left out, with a line about it.
. "$(dirname "$0")/lib.sh"
python=${CK_TORCH_PYTHON:-/usr/bin/python3}
"$python" -c 'import torch.distributed' 2>/dev/null ||
    skip "$python has no PyTorch (install python3-torch)"

timeout 1600 "$python" "$here/torchtrace.py" "$bin/ckmerge" "$work" ||
    fail "PyTorch's traces"
[ -e "${CK_SCALENE_GUI:-/none}/index.html.template" ] || {
    echo "left out: scalene's viewer (CK_SCALENE_GUI is not set)"
    exit 0
}
[ -x "${CHROMIUM:-/usr/bin/chromium}" ] || skip "chromium is missing"
for profile in nkipy kineto; do
    "$bin/ckmerge" --quiet --kernel-only \
        "$here/../data/profiles/$profile.json" "$work/$profile.out.json"
    timeout 1200 python3 "$here/scaleneview.py" "$CK_SCALENE_GUI" \
        "$work/$profile.out.json" >"$work/$profile.shown" ||
        fail "scalene's viewer: $(tail -n 1 "$work/$profile.shown")"
done
