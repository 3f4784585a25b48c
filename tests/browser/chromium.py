"""The Chromium that the browser tests drive: `python -m tests.browser.chromium` finds one, or gets one."""

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Error, Playwright, sync_playwright

VARIABLE = "HEADLIGHT_CHROMIUM"
COMMANDS = ("chromium", "chromium-browser", "google-chrome")
CURE = (
    "No Chromium was found. `python -m tests.browser.chromium` gets one; or install Chromium or Chrome yourself, and "
    f"where it is not on the PATH, set {VARIABLE} to its executable."
)


def find(playwright: Playwright) -> str:
    """Path of a Chromium: the one that HEADLIGHT_CHROMIUM names, Playwright's own, or one on the PATH.

    Raises:
        FileNotFoundError: there is none; the message says how to get one.
    """
    if chosen := os.environ.get(VARIABLE):
        if path := shutil.which(chosen):
            return path
        raise FileNotFoundError(f"{VARIABLE} names {chosen!r}, which is no executable: correct it or unset it.")
    if Path(playwright.chromium.executable_path).is_file():
        return playwright.chromium.executable_path
    for command in COMMANDS:
        if path := shutil.which(command):
            return path
    raise FileNotFoundError(CURE)


def describe() -> str:
    """Start the Chromium that `find` finds, and say which it is.

    Raises:
        FileNotFoundError: there is none.
        playwright.sync_api.Error: it does not start.
    """
    with sync_playwright() as playwright:
        path = find(playwright)
        browser = playwright.chromium.launch(executable_path=path)
        version = browser.version
        browser.close()
    return f"Chromium {version}, {path}"


def ways_to_get_one() -> list[list[list[str]]]:
    """Commands that install a Chromium, the most fitting way first."""
    playwright = [sys.executable, "-m", "playwright", "install"]
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    ways = [[[*playwright, "--with-deps", "chromium"] if is_root else [*playwright, "chromium"]]]
    # Ubuntu's package of this name is a stub for a snap, which does not start in a container.
    if is_root and _distribution() == "debian":
        ways.insert(0, [["apt-get", "update"], ["apt-get", "install", "--yes", "chromium"]])
    return ways


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release()["ID"]
    except OSError:
        return ""


def main() -> int:
    """Find a Chromium that starts, or get one; returns the exit status."""
    for way in [[], *ways_to_get_one()]:
        for command in way:
            print("Getting a Chromium:", *command, flush=True)
            if subprocess.run(command, check=False).returncode:
                break
        try:
            print(describe())
            return 0
        except (FileNotFoundError, Error) as error:
            problem = error
    print(f"{problem}\n\nerror: no Chromium that starts could be had here.", file=sys.stderr)
    print(
        "Install Chromium or Chrome with your system's package manager (and, for a Chromium that is there but does not "
        f"start, its libraries with `sudo playwright install-deps chromium`), or set {VARIABLE} to the executable of "
        "one that works.",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
