"""Build what is released, and check it as those who install it meet it.

`python -m tools.release` builds wheel and sdist into `dist/`, compares their contents with the files
that git tracks, lets twine check their metadata, and installs the wheel into empty environments: on
each Python of this machine, with the oldest and with the newest dependencies that it allows. Each is
used for a moment, and the newest runs the whole story (`tools/demo`). Then the evidence of this
content's tests is exported, signed by kl itself, and what a person has to push is printed.

Ends with 1 where a check fails, or where a file is not committed; nothing is pushed or uploaded.
"""

from __future__ import annotations

import argparse
import email
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import kl_hooks

ROOT: Final = Path(__file__).resolve().parents[1]
SHIPPED: Final = {
    "kl_hooks/": "kl_hooks/",
    "pytest_kl/": "pytest_kl/",
    "hooks/": "kl_hooks/_shipped/hooks/",
    "templates/": "kl_hooks/_shipped/templates/",
}
"""Folder here → folder in the wheel."""
RESOLUTIONS: Final = ("lowest-direct", "highest")
"""Which dependencies uv takes of those that are allowed."""
TEST_TOOLS: Final = ("pytest>=8.2,<10", "pytest-xdist>=3.6")
IDENTITY: Final = {
    "GIT_AUTHOR_NAME": "Release",
    "GIT_AUTHOR_EMAIL": "release@example.org",
    "GIT_COMMITTER_NAME": "Release",
    "GIT_COMMITTER_EMAIL": "release@example.org",
}
SMOKE: Final = """\
set -eu
git init --quiet .
mkdir -p shop tests
echo 'def total() -> int:
    return 1' >shop/core.py
echo 'from shop.core import total


def test_total() -> None:
    assert total() == 1' >tests/test_core.py
git add . && git commit --quiet --message 'Import'
kl init --yes && git add . && git commit --quiet --message 'Set up kl'
kl arch check
kl graph callers total
kl context 'change total' >/dev/null
python -m pytest -q
kl verify
kl uninstall
"""
"""What one does in the first minutes, as a shell script."""


class Difference(NamedTuple):
    """How the files of an archive differ from those that belong there."""

    missing: frozenset[str]
    foreign: frozenset[str]

    def lines(self, archive: str) -> list[str]:
        """Return a line for each file."""
        return [
            *(f"{archive}: lacks {name}" for name in sorted(self.missing)),
            *(f"{archive}: has {name}" for name in sorted(self.foreign)),
        ]


def tracked_files() -> list[str]:
    """Return the files that git tracks, from the root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return listed.stdout.split("\0")[:-1]


def wheel_difference(names: Iterable[str], tracked: Iterable[str]) -> Difference:
    """Compare the names in a wheel with the tracked files: all of `SHIPPED`, and nothing else."""
    expected = {
        target + path.removeprefix(folder)
        for path in tracked
        for folder, target in SHIPPED.items()
        if path.startswith(folder)
    }
    present = {name for name in names if ".dist-info/" not in name}
    return Difference(frozenset(expected - present), frozenset(present - expected))


def sdist_difference(names: Iterable[str], tracked: Iterable[str]) -> Difference:
    """Compare the names in an sdist with the tracked files: at least what the wheel is built of."""
    present = {name.partition("/")[2] for name in names}
    needed = {path for path in tracked if path.startswith(tuple(SHIPPED))}
    generated = {"PKG-INFO", ""}
    return Difference(
        frozenset({*needed, "pyproject.toml", "README.md", "LICENSE"} - present),
        frozenset(present - set(tracked) - generated),
    )


def uncommitted_files() -> list[str]:
    """Return what differs from the commit that is checked out, as lines of `git status`."""
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return status.stdout.splitlines()


def build(folder: Path) -> tuple[Path, Path]:
    """Build wheel and sdist into a folder, and return their paths."""
    for archive in folder.glob("kl_hooks-*"):
        archive.unlink()
    _run([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)])
    (wheel,) = folder.glob("*.whl")
    (sdist,) = folder.glob("*.tar.gz")
    return wheel, sdist


def check_contents(wheel: Path, sdist: Path) -> list[str]:
    """Return a line for each file that an archive lacks, or that does not belong there."""
    tracked = tracked_files()
    with zipfile.ZipFile(wheel) as archive:
        lines = wheel_difference(archive.namelist(), tracked).lines(wheel.name)
    with tarfile.open(sdist) as source_archive:
        files = [member.name for member in source_archive if member.isfile()]
    return lines + sdist_difference(files, tracked).lines(sdist.name)


def requirements(wheel: Path) -> list[str]:
    """Return what the base install of a wheel depends on."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    stated = metadata.get_all("Requires-Dist") or []
    return [text for text in stated if "extra ==" not in text]


def try_installed(wheel: Path, python: str, resolution: str, folder: Path) -> None:
    """Install the wheel into an empty environment, and use it. Raises CalledProcessError."""
    environment = folder / "environment"
    _run(["uv", "venv", "--quiet", "--python", python, str(environment)])
    installed = str(environment / "bin" / "python")
    options = ["--quiet", "--python", installed, "--resolution", resolution]
    # named directly: of what a wheel asks for uv takes the newest
    _run(["uv", "pip", "install", *options, str(wheel), *requirements(wheel), *TEST_TOOLS])
    repository = folder / "repository"
    repository.mkdir()
    variables = _variables(environment, folder)
    _run(["sh", "-c", SMOKE], cwd=repository, env=variables)


def run_demo(wheel: Path, python: str, folder: Path) -> None:
    """Run `tools/demo` with the wheel. Raises CalledProcessError."""
    environment = folder / "environment"
    # the story downloads a package with pip
    _run(["uv", "venv", "--quiet", "--seed", "--python", python, str(environment)])
    installed = str(environment / "bin" / "python")
    _run(["uv", "pip", "install", "--quiet", "--python", installed, str(wheel), *TEST_TOOLS])
    _run(["sh", str(ROOT / "tools" / "demo")], env=_variables(environment, folder))


def _variables(environment: Path, folder: Path) -> dict[str, str]:
    """The variables of somebody who activated an environment, with an empty home."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    path = f"{environment / 'bin'}:{os.environ['PATH']}"
    cleared = {name: value for name, value in os.environ.items() if not name.startswith("KL_")}
    cleared.pop("PYTHONPATH", None)
    return {**cleared, **IDENTITY, "HOME": str(home), "PATH": path, "TMPDIR": str(folder)}


def attest(key: str, folder: Path) -> Path:
    """Export the evidence of this clone, signed; return the file. Raises CalledProcessError where
    this content is not proven.
    """
    attestation = folder / f"kl_hooks-{kl_hooks.__version__}.intoto.jsonl"
    _run(["kl", "verify"], cwd=ROOT)
    _run(["kl", "evidence", "export", "--sign", key, "-o", str(attestation)], cwd=ROOT)
    _run(["kl", "evidence", "verify", str(attestation)], cwd=ROOT)
    return attestation


def pythons() -> list[str]:
    """Return the newest interpreter of each minor version on this machine."""
    listed = _output(["sh", str(ROOT / "tools" / "find-python"), "all"])
    return listed.splitlines()


def _run(
    command: list[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> None:
    quoted = " ".join(command) if "\n" not in command[-1] else " ".join(command[:-1])
    print(f"$ {quoted}", flush=True)
    # the output of a step is read only where the step fails
    done = subprocess.run(
        command, cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        print(done.stdout, flush=True)
        raise subprocess.CalledProcessError(done.returncode, command[:3])


def _output(command: list[str]) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("--sign", metavar="KEY", default="", help="SSH key; else kl.signingKey")
    parser.add_argument("--python", action="append", metavar="PATH", help="instead of all found")
    parser.add_argument("--no-demo", action="store_true", help="without tools/demo")
    parser.add_argument("--no-attestation", action="store_true", help="sign no evidence")
    parser.add_argument("--output", metavar="DIR", default=str(ROOT / "dist"))
    return parser.parse_args()


def _signing_key(option: str) -> str:
    if option:
        return option
    configured = subprocess.run(
        ["git", "config", "--get", "kl.signingKey"], cwd=ROOT, capture_output=True, text=True
    )
    return configured.stdout.strip()


def signing_problem(key: str) -> str:
    """Return why evidence can't be signed by a key, and what to do; empty where it can."""
    if not key:
        return "no key: give --sign KEY, or git config kl.signingKey KEY"
    shown = subprocess.run(["ssh-keygen", "-lf", key], capture_output=True, text=True)
    if shown.returncode:
        return f"{key}: ssh-keygen can't read this key: {shown.stderr.strip()}"
    fingerprint = shown.stdout.split()[1]
    trusted = subprocess.run(["kl", "trust", "list"], cwd=ROOT, capture_output=True, text=True)
    if fingerprint not in trusted.stdout:
        return f"{key} is not trusted here: kl trust add release --key {key}.pub"
    return ""


def main() -> int:
    """Build, check, sign; return the exit code."""
    arguments = _arguments()
    if files := uncommitted_files():
        # the tag names a commit: what is built must be what it has
        print("make release: refused: commit or stash these files first.", *files, sep="\n  ")
        return 1
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    key = _signing_key(arguments.sign)
    if not arguments.no_attestation and (problem := signing_problem(key)):
        print(f"make release: refused: {problem}")
        return 1
    folder = Path(arguments.output)
    folder.mkdir(exist_ok=True)
    try:
        wheel, sdist = build(folder)
        if problems := check_contents(wheel, sdist):
            print(*problems, sep="\n")
            return 1
        _run(["twine", "check", "--strict", str(wheel), str(sdist)])
        for python in arguments.python or pythons():
            for resolution in RESOLUTIONS:
                with tempfile.TemporaryDirectory(prefix="kl-release-") as scratch:
                    try_installed(wheel, python, resolution, Path(scratch))
            if not arguments.no_demo:
                with tempfile.TemporaryDirectory(prefix="kl-release-") as scratch:
                    run_demo(wheel, python, Path(scratch))
        archives = [wheel, sdist]
        if not arguments.no_attestation:
            archives.append(attest(key, folder))
    except subprocess.CalledProcessError as failure:
        print(f"make release: failed: {failure}")
        return 1
    _print_steps(archives)
    return 0


def _print_steps(archives: Iterable[Path]) -> None:
    version = kl_hooks.__version__
    names = " ".join(str(archive) for archive in archives if archive.suffix != ".jsonl")
    print("Everything passed. What a person does now:")
    print(f"  git tag --sign v{version} --message 'kl {version}' && git push origin v{version}")
    print(f"  twine upload {names}")
    for attestation in (archive for archive in archives if archive.suffix == ".jsonl"):
        print(f"  attach {attestation} to the release of the tag")
    print("  kl sync    # evidence for those who fetch notes")


if __name__ == "__main__":
    sys.exit(main())
