#!/usr/bin/env bash
# completion.sh BUILD - what bash proposes for a line of a ck program
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
PATH=$(cd "${1:?build folder}/bin" && pwd):$PATH
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=launch/completion.bash
. "$top/launch/completion.bash"
cd "$top" || exit 1
bad=0

# proposes "WORD..." LINE...: the line's end is being written.
proposes() {
    local wanted=$1
    shift
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _ck "$1"
    if [ "${COMPREPLY[*]}" != "$wanted" ]; then
        echo "FAILED: $*: proposed '${COMPREPLY[*]}', not '$wanted'"
        bad=1
    fi
}

proposes "--posix --posix-threshold" ckagent --po
proposes "none lz4 zstd" ckagent --pack ''
proposes "zstd" ckagent --pack = z
proposes "all probes messages kernels" ckmerge --clock-facts ''
# The first text of each line of the definition.
formats=$(sed -nE 's/^ *(FORMAT|last)\([A-Z_]+, "([a-z-]+)",.*/\2/p' \
    launch/format.h | paste -sd ' ')
[ -n "$formats" ] || bad=1
proposes "$formats" ckmerge --output ''
proposes "mpirun hydra srun torchrun" cklaunch --launcher ''
proposes "merge" cklaunch --dir mer
proposes "--no-merge" ckagg --no-m
proposes "--no-verify" ckmerge --no-v
proposes "README.md" ckmerge READ
proposes "README.md" ckagent -d READ
proposes "./README.md" cklaunch -n 2 -- ./READ
for program in ckagent ckagg ckmerge cklaunch; do
    COMP_WORDS=("$program" --)
    COMP_CWORD=1
    _ck "$program"
    for option in --help --version; do
        [[ " ${COMPREPLY[*]} " == *" $option "* ]] || {
            echo "FAILED: $program --: $option is not proposed"
            bad=1
        }
    done
done
exit $bad
