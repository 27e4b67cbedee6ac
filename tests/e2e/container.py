#!/usr/bin/env python3
"""Write the config.json of a container with the limits of Podman and Docker.

SPDX-License-Identifier: Apache-2.0

    container.py DIRECTORY WRITABLE READABLE COMMAND...

The directories of this machine's programs, and READABLE, are read only there,
WRITABLE is as here; 64 MB of /dev/shm, the capabilities that Docker leaves, and
its seccomp profile (package golang-github-containers-common has it).
"""
import json
import os
import sys

PROFILE = "/usr/share/containers/seccomp.json"
CAPABILITIES = """CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD SETGID SETUID SETFCAP
    SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE""".split()


def bound(path, access):
    return {"destination": path, "source": path, "type": "bind",
            "options": ["rbind", access]}


def mounted(path, kind, *options):
    return {"destination": path, "source": kind, "type": kind,
            "options": ["nosuid", *options]}


def is_meant(condition, wanted):
    """Does the condition of a rule hold here, as `wanted`?"""
    arches = condition.get("arches")
    capabilities = condition.get("caps")
    names = {"CAP_" + name for name in CAPABILITIES}
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine)
    return (not arches or (machine in arches) == wanted) and \
        (not capabilities or bool(names & set(capabilities)) == wanted)


def seccomp():
    """What the profile permits on this processor with our capabilities."""
    with open(PROFILE) as file:
        profile = json.load(file)
    rules = []
    for rule in profile["syscalls"]:
        if not is_meant(rule.get("includes") or {}, True) or \
                not is_meant(rule.get("excludes") or {}, False):
            continue
        kept = {"names": rule["names"], "action": rule["action"]}
        if rule.get("args"):
            kept["args"] = rule["args"]
        rules.append(kept)
    return {"defaultAction": "SCMP_ACT_ERRNO", "syscalls": rules}


def main():
    directory, writable, readable, *command = sys.argv[1:]
    names = ["CAP_" + name for name in CAPABILITIES]
    mounts = [mounted("/proc", "proc"), mounted("/tmp", "tmpfs"),
              mounted("/dev", "tmpfs", "mode=755"),
              mounted("/dev/pts", "devpts", "newinstance"),
              mounted("/dev/shm", "tmpfs", "mode=1777", "size=65536k")]
    mounts += [bound(path, "ro")
               for path in ("/usr", "/bin", "/lib", "/lib64", "/sbin", "/etc",
                            readable) if os.path.isdir(path)]
    mounts.append(bound(writable, "rw"))
    linux = {"namespaces": [{"type": kind} for kind in
                            ("pid", "ipc", "uts", "mount")]}
    if os.path.exists(PROFILE):
        linux["seccomp"] = seccomp()
    config = {
        "ociVersion": "1.0.0",
        "process": {
            "user": {"uid": 0, "gid": 0}, "args": command, "cwd": writable,
            "env": ["PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C"],
            "noNewPrivileges": True,
            "capabilities": {kind: names for kind in
                             ("bounding", "effective", "permitted")},
        },
        "root": {"path": "rootfs"}, "mounts": mounts, "linux": linux,
    }
    os.makedirs(os.path.join(directory, "rootfs"), exist_ok=True)
    with open(os.path.join(directory, "config.json"), "w") as file:
        json.dump(config, file)


main()
