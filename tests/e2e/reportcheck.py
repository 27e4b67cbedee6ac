#!/usr/bin/env python3
"""reportcheck.py - reports have the fields and types of docs/report.schema.json

SPDX-License-Identifier: Apache-2.0

reportcheck.py REPORT.JSON...: a field that the schema does not have is an
error, as is one that is missing. Files that are no reports of ck are left out.
"""
import json
import os
import sys

import jsonschema

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "../../docs/report.schema.json")


def main():
    with open(SCHEMA, encoding="utf-8") as file:
        check = jsonschema.Draft202012Validator(json.load(file))
    bad = 0
    for path in sys.argv[1:]:
        try:
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        except ValueError:
            continue
        if not isinstance(report, dict) or report.get("format") != "ck.report":
            continue
        for error in list(check.iter_errors(report))[:8]:
            bad = 1
            print("%s: %s: %s (docs/report.md)" % (
                path, ".".join(str(part) for part in error.absolute_path),
                error.message[-200:]))
    sys.exit(bad)


main()
