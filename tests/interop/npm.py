"""Programs of others for the interop tests, from the npm registry.

They are installed once into REEF_INTEROP_CACHE (default ~/.cache/reef-interop). Without node, npm or a network the tests
are skipped, loudly.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CACHE = Path(os.environ.get("REEF_INTEROP_CACHE") or "~/.cache/reef-interop").expanduser()
INSTALL_SECONDS = 240
ANSWER_SECONDS = 30


class Unavailable(Exception):
    """Says why a program cannot be installed."""


def skip_loudly(what, why):
    """For setUpModule: CMake knows the words and reports the test as skipped."""
    message = f"{what} WAS NOT CHECKED: {why}".upper()
    print(f"\n{'!' * 100}\n{message}\n{'!' * 100}", file=sys.stderr, flush=True)
    raise unittest.SkipTest(message) from None


def node(least=(0, 0)):
    """The path of node."""
    path = shutil.which("node")
    if not path:
        raise Unavailable("node is not installed")
    try:
        done = subprocess.run([path, "--version"], stdout=subprocess.PIPE, timeout=ANSWER_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"node does not run: {error}") from None
    version = done.stdout.decode("utf-8", "replace").strip()
    numbers = re.match(r"v(\d+)\.(\d+)", version)
    if not numbers or (int(numbers[1]), int(numbers[2])) < least:
        raise Unavailable(f"node is {version!r}, {least[0]}.{least[1]} is needed")
    return path


def installed(folder, *packages):
    """The folder below the cache that holds `packages` (name@version), installed when they are not there yet."""
    place = CACHE / folder
    try:
        place.mkdir(parents=True, exist_ok=True)
        lock = open(place / ".lock", "w", encoding="utf-8")
    except OSError as error:
        raise Unavailable(f"the cache cannot be used: {error}") from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs do not install at once
        if not (place / "node_modules").is_dir():
            install(place, packages)
    return place


def install(place, packages):
    """Built beside and moved in: a cut-off install is never taken for a whole one."""
    npm = shutil.which("npm")
    if not npm:
        raise Unavailable(f"{packages[0]} is not installed, nor is npm")
    with tempfile.TemporaryDirectory(prefix=".new-", dir=place) as new:
        command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", new, *packages]
        print(f"installing into {place}: {' '.join(command)}", file=sys.stderr, flush=True)
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  cwd=new, env=dict(os.environ, npm_config_fetch_retries="1"), timeout=INSTALL_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"npm install failed: {error}") from None
        if done.returncode:
            output = done.stdout.decode("utf-8", "replace")
            print(output, file=sys.stderr)
            errors = [line.removeprefix("npm error ") for line in output.splitlines() if line.startswith("npm error ")]
            raise Unavailable("npm install failed: " + "; ".join(errors[:3] or [f"exit code {done.returncode}"]))
        (Path(new) / "node_modules").rename(place / "node_modules")
