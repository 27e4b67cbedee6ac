#!/usr/bin/env bash
# install.sh BUILD - an installation in any prefix is complete and can be moved
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
build=${1:?build folder}
work=$(mktemp -d "${TMPDIR:-/tmp}/ck-install.XXXXXX")
. "$(dirname "${BASH_SOURCE[0]}")/../discard.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../rings.sh"
trap 'discard "$work" "$rings"' EXIT
export XDG_RUNTIME_DIR=$work/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

cmake --install "$build" --prefix "$work/made" >"$work/log" 2>&1 ||
    fail "cmake --install: $(tail -n 3 "$work/log")"
mv "$work/made" "$work/moved"
prefix="$work/moved"

# The commit that --version prints: git's, where it can be asked.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
commit='[0-9a-f]{12}'
if [ -e "$top/.git" ]; then
    commit=$(git -c safe.directory='*' -C "$top" rev-parse --short=12 HEAD)
fi
for program in ckagent ckagg ckmerge cklaunch; do
    "$prefix/bin/$program" --version >"$work/version" ||
        fail "$program --version"
    grep -Eq "^commit $commit(, with changes that are not committed)?$" \
        "$work/version" ||
        fail "$program --version, commit $commit: $(cat "$work/version")"
    grep -q '^built for .* by ' "$work/version" ||
        fail "$program --version: $(cat "$work/version")"
    completion=$prefix/share/bash-completion/completions/$program
    [ -e "$completion" ] || fail "no completion of $program"
    if command -v scdoc >/dev/null; then
        [ -s "$prefix/share/man/man1/$program.1" ] || fail "no page of $program"
    fi
done

# What README and the pages of docs/ link to is installed with them.
doc=$(dirname "$(find "$prefix" -name README.md -not -path '*/examples/*')")
for page in "$doc/README.md" "$doc"/docs/*.md "$doc"/docs/examples/*.md; do
    links=$(grep -o ']([^):#]*[)#]' "$page" | sed 's/^](//; s/[)#]$//') || true
    for link in $links; do
        [ -e "$(dirname "$page")/$link" ] ||
            fail "${page#"$prefix"/} links to $link, which is not installed"
    done
done
[ -e "$doc/docs/report.md" ] || fail "report.md is not installed"

# The programs find each other and their libraries: a job leaves a run whose
# report counts what an injected library recorded.
cat >"$work/steps.c" <<'END'
#include <ck.h>
int main(void)
{
    for (int i = 0; i < 7; i++) {
        ck_step_begin(i);
        ck_mark("here", i);
        ck_step_end();
    }
    return 3;
}
END
pc=$(dirname "$(find "$prefix" -name ck.pc)")
if pkgconf --version >/dev/null 2>&1 || pkg-config --version >/dev/null; then
    flags=$(PKG_CONFIG_PATH=$pc pkg-config --cflags ck) || fail "pkg-config ck"
fi
echo "$flags" | grep -q include || fail "no include path in: $flags"
eval "cc -Wall -Werror -o '$work/steps' '$work/steps.c' $flags -ldl" ||
    fail "a program with ck.h"
cd "$work"
status=0
timeout 60 "$prefix/bin/ckagent" --dir "$work/run" -- "$work/steps" \
    2>"$work/err" || status=$?
[ "$status" = 3 ] || fail "ckagent ended with $status: $(cat "$work/err")"
[ -s "$work/run/report.txt" ] || fail "no report: $(cat "$work/err")"
grep -q 'steps 0-6' "$work/run/report.txt" ||
    fail "the report lacks the steps: $(head -n 3 "$work/run/report.txt")"

# find_package(ck) from the moved place.
mkdir "$work/user"
cat >"$work/user/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(user C)
find_package(ck REQUIRED)
add_executable(steps ../steps.c)
target_link_libraries(steps ck::ck)
END
cmake -S "$work/user" -B "$work/user/build" \
    -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 ||
    fail "find_package(ck): $(tail -n 5 "$work/log")"
cmake --build "$work/user/build" >"$work/log" 2>&1 ||
    fail "a program with ck::ck: $(tail -n 5 "$work/log")"
echo "installed, moved, used"
