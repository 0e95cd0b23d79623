"""Whether kl changes what the suites of pluggy, pytest-xdist and pytest itself report: the same
environment, before and after kl is installed in it.

    python -m bench.suites_of_others [pluggy pytest-xdist pytest] [--folder DIR] [--select ARGS]

RUNS THE TESTS of the newest sdists that pip downloads: code of strangers. Each suite runs in a
virtual environment of its own and in a repository with `.kl/`, so that kl records it. It prints how
many tests ended in which way, and each that ended otherwise with kl; those are run again, twice
without kl, since some of these tests fail at random. It ends with 1 where kl is the difference.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from bench.downloads import extract
from bench.measure import ROOT

_OUTCOME: Final = re.compile(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (\S+::\S.*?)(?: - .*)?$")
_SECONDS: Final = 3600


class Suite(NamedTuple):
    """A package whose suite is run."""

    name: str
    extras: Sequence[str]
    """What its tests need."""
    options: Sequence[str] = ()


SUITES: Final = (
    Suite("pluggy", ("pytest",)),
    Suite("pytest-xdist", ("pytest", "filelock", "psutil", "setproctitle")),
    Suite(
        "pytest",
        ("attrs", "hypothesis", "mock", "requests", "setuptools", "xmlschema", "argcomplete"),
    ),
)


class Environment:
    """A virtual environment and the unpacked sdist that it tests."""

    def __init__(self, suite: Suite, folder: Path) -> None:
        self._suite, self._python = suite, folder / "venv" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        self._root = self._unpacked(folder / "sdist")
        self.install(*suite.extras, str(self._root))

    def _unpacked(self, folder: Path) -> Path:
        folder.mkdir()
        how = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-binary", ":all:")
        command = [str(self._python), "-m", "pip", "download", *how, self._suite.name]
        subprocess.run(command, cwd=folder, check=True)
        (archive,) = folder.glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            extract(packed, folder)
        (root,) = (path for path in folder.iterdir() if path.is_dir())
        (root / ".kl").mkdir()
        (root / ".kl" / "README.md").write_text("Here.\n", "utf-8")
        for args in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "first")):
            who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
            subprocess.run(["git", *who, *args], cwd=root, check=True)
        return root

    @property
    def version(self) -> str:
        """Name and version, as the sdist has it."""
        return self._root.name

    def install(self, *requirements: str) -> None:
        """Install into the environment."""
        how = ("--quiet", "--disable-pip-version-check")
        subprocess.run([str(self._python), "-m", "pip", "install", *how, *requirements], check=True)

    def outcomes(self, *args: str) -> dict[str, str]:
        """Node ID → outcome, of a run of the suite."""
        foreign = ("KL_", "PYTEST_", "VIRTUAL_ENV", "PYTHONPATH")
        variables = {
            name: text for name, text in os.environ.items() if not name.startswith(foreign)
        }
        command = [str(self._python), "-m", "pytest", "-q", "-rA", "--tb=no", "-p", "no:randomly"]
        done = subprocess.run(
            [*command, *self._suite.options, *args],
            cwd=self._root,
            env=variables,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_SECONDS,
        )
        outcomes = {}
        for line in done.stdout.splitlines():
            if match := _OUTCOME.match(line):
                outcomes[match[2]] = match[1]
        # skipped tests have no IDs in the summary: their number is compared
        last = done.stdout.strip().splitlines()[-1:]
        outcomes["summary"] = re.sub(r" in [\d.]+s.*", "", "".join(last)).strip("= ")
        return outcomes


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Node ID → outcomes without and with kl, where they differ."""
    return {
        name: (before.get(name, "none"), after.get(name, "none"))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name) and name != "summary"
    }


def compare(suite: Suite, folder: Path, args: Sequence[str]) -> int:
    """Run a suite without and with kl; how many tests end otherwise because of kl."""
    environment = Environment(suite, folder)
    runs = [environment.outcomes(*args) for _ in range(2)]
    environment.install(str(ROOT))
    after = environment.outcomes(*args)
    print(f"{environment.version}: without kl {runs[0]['summary']}; with kl {after['summary']}")
    print(f"  {dict(Counter(after.values()))}")
    unstable = differences(*runs)
    changed = {
        name: outcomes
        for name, outcomes in differences(runs[0], after).items()
        if name not in unstable
    }
    again = environment.outcomes(*args) if changed else after
    lasting = {name for name in changed if again.get(name) == after.get(name)}
    for name, (without, with_kl) in changed.items():
        words = "" if name in lasting else " (once: it fails at random)"
        print(f"  {name}: {without} without kl, {with_kl} with it{words}")
    print(f"  unstable without kl: {len(unstable)}; changed by kl: {len(lasting)}", flush=True)
    return len(lasting)


def main(argv: Sequence[str] | None = None) -> int:
    """1 where kl changes what a suite reports."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [suite.name for suite in SUITES]
    parser.add_argument("names", nargs="*", default=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--folder", type=Path, help="where to work; default: a temporary one")
    parser.add_argument("--select", default="", help="further arguments of pytest, as one text")
    options = parser.parse_args(argv)
    changed = 0
    with tempfile.TemporaryDirectory(prefix="kl-suites-") as temporary:
        for suite in SUITES:
            if suite.name in options.names:
                folder = (options.folder or Path(temporary)) / suite.name
                folder.mkdir(parents=True)
                changed += compare(suite, folder, shlex.split(options.select))
    return int(changed > 0)


if __name__ == "__main__":
    sys.exit(main())
