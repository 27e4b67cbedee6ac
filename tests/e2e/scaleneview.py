#!/usr/bin/env python3
"""scaleneview.py - open a profile in scalene's viewer in a real browser

SPDX-License-Identifier: Apache-2.0

scaleneview.py GUI_DIR PROFILE [SCREENSHOT.png]: GUI_DIR is scalene-gui of a
scalene installation or source (index.html.template, scalene-gui-bundle.js).
Prints the text that the page shows; exit 1 when the device's columns or the
profile's kernels are not in it.
"""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile


def page_make(gui, profile):
    """The template with its own files beside it, and the profile inside."""
    with open(os.path.join(gui, "index.html.template")) as file:
        page = file.read()
    page = re.sub(r"\{#.*?#\}", "", page, flags=re.S)
    block = r"\{%%\s*if %sstandalone\s*%%\}(.*?)\{%%\s*endif\s*%%\}"

    def choose(match):
        parts = re.split(r"\{%\s*else\s*%\}", match.group(1))
        return parts[1] if len(parts) > 1 else ""
    page = re.sub(block % "not ", "", page, flags=re.S)
    page = re.sub(block % "", choose, page, flags=re.S)
    page = page.replace("{{ profile }}", profile)
    return re.sub(r"\{\{[^}]*\}\}", "null", page)


def main():
    gui, path = sys.argv[1:3]
    with open(path) as file:
        profile = json.load(file)
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(gui, place, dirs_exist_ok=True)
        page = os.path.join(place, "page.html")
        with open(page, "w") as file:
            file.write(page_make(gui, json.dumps(profile).replace(
                "</", "<\\/")))
        options = [os.environ.get("CHROMIUM", "/usr/bin/chromium"),
                   "--headless", "--no-sandbox", "--disable-gpu",
                   "--user-data-dir=" + os.path.join(place, "user"),
                   "--virtual-time-budget=20000", "--window-size=1600,1200",
                   "--enable-logging=stderr"]
        if len(sys.argv) > 3:
            subprocess.run(options + ["--screenshot=" + sys.argv[3],
                                      "file://" + page], timeout=120,
                           capture_output=True, check=False)
        done = subprocess.run(options + ["--dump-dom", "file://" + page],
                              capture_output=True, text=True, timeout=120,
                              check=True)
    body = re.sub(r"<(script|style).*?</\1>", " ", done.stdout, flags=re.S)
    text = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", body)))
    wanted = ["Unused Device", "NRT", "% of nc time"]
    wanted += [os.path.basename(f) for f in profile["files"]]
    wanted += [f["line"][:20] for file in profile["files"].values()
               for f in file["functions"]][:3]
    # The code comes highlighted, a word at a time.
    flat = re.sub(r"\s", "", text)
    missing = [w for w in wanted if re.sub(r"\s", "", w) not in flat]
    errors = [line for line in done.stderr.split("\n")
              if "Uncaught" in line]
    print(text[:1500])
    for line in errors:
        print("error:", line)
    if missing or errors:
        sys.exit("not shown: %s" % missing)


main()
