#!/usr/bin/env bash
# unit.sh - run a command as a transient unit of systemd, in a sandbox
#
# SPDX-License-Identifier: Apache-2.0
#
#     unit.sh WRITABLE READABLE COMMAND...
#
# systemd need not run here: a user's manager is started in a mount namespace of
# its own, with a /run of its own. The filter kills, as it does by default.
set -u
if [ -z "${CK_IN_UNIT:-}" ]; then
    CK_IN_UNIT=1 exec unshare -m "$0" "$@"
fi
writable=$1 readable=$2
shift 2
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system /run/user/0
export XDG_RUNTIME_DIR=/run/user/0 SYSTEMD_LOG_TARGET=console
/lib/systemd/systemd --user --unit=basic.target >/run/log 2>&1 &
manager=$!
for ((i = 0; i < 3000; i++)); do
    ! systemctl --user is-active -q basic.target 2>/dev/null || break
    read -rt 0.02 <> <(:) || :
done
options=()
for option in PrivateTmp=yes ProtectSystem=strict ProtectHome=tmpfs \
    PrivateDevices=yes NoNewPrivileges=yes MemoryDenyWriteExecute=yes \
    "RestrictAddressFamilies=AF_UNIX AF_INET" RestrictNamespaces=yes \
    RestrictRealtime=yes LockPersonality=yes SystemCallArchitectures=native \
    SystemCallFilter=@system-service "BindPaths=$writable" \
    "BindReadOnlyPaths=$readable" "WorkingDirectory=$PWD"; do
    options+=(-p "$option")
done
status=0
systemd-run --user --pipe --wait --quiet --collect "${options[@]}" "$@" ||
    status=$?
kill $manager
wait $manager
exit $status
