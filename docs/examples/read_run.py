#!/usr/bin/env python3
# read_run.py - late ranks and causes of a run, out of its report.json
#
# SPDX-License-Identifier: Apache-2.0
#
#     ckmerge RUN >/dev/null
#     python3 read_run.py RUN/report.json
import json
import sys


def place(host):
    """Where the host was: what is known of it."""
    if not host:
        return ""
    if host.get("function"):
        line = f"{host['file']}:{host['line']}" if host.get("file") else "?"
        return f"{host['function']} ({line})"
    after = (host.get("after") or {}).get("call")
    before = (host.get("before") or {}).get("call")
    return f"between {after} and {before}" if after or before else ""


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: read_run.py RUN/report.json")
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    if report.get("format") != "ck.report":
        sys.exit(f"{sys.argv[1]} is no report of ckmerge")
    region = report["region"]
    print(f"{len(report['ranks'])} of {report['size']} ranks, region "
          f"{(region['end_ns'] - region['start_ns']) / 1e9:.3f} s")
    for cause in report["causes"][:5]:
        print(f"{cause['ns'] / 1e9:10.6f} s  {cause['cause']}, rank "
              f"{cause['rank']}  {place(cause.get('host'))}")
    for late in report["stragglers"][:3]:
        print(f"others waited {late['caused_ns'] / 1e9:.6f} s for rank "
              f"{late['rank']}: {place(late.get('did'))}")


if __name__ == "__main__":
    main()
