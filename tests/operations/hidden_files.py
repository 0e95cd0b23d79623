"""A repository whose policy hides files with tests that failed and passed, code that they execute
and imports that break a layer's rule.

Each text in them is a word that is nowhere else; whatever prints one has shown what is hidden.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from tests.pytest_kl.recorded import run_pytest
from tests.support import Checkout

AGENT: Final = {"KL_AGENT": "bot"}
NAMES: Final = ("zqtotal", "zqfails", "zqpasses", "zqdepends", "zqplans", "zqlayer")
"""Of functions, tests, files and a layer, which are left of what is redacted."""
TEXTS: Final = ("zqmessage", "zqstatement")
"""A message of a failure, and a statement that breaks a rule."""
POLICY: Final = """version: 1
rules:
  - name: hidden files
    {effect}: {{paths: ["veiled/**"], actors: [agent]}}
"""
_MANIFEST: Final = """version: 1
layers:
  - name: core
    paths: [src/]
    may_depend_on: []
  - name: plans
    paths: [veiled/]
    may_depend_on: []
"""
_FILES: Final = {
    ".kl/architecture.yaml": _MANIFEST,
    "src/shop.py": "def total() -> int:\n    return 1\n",
    "src/__init__.py": "",
    "veiled/__init__.py": "",
    "veiled/zqplans.py": "from src import shop as zqstatement\n\n\ndef zqtotal() -> int:\n"
    "    return zqstatement.total()\n",
    "veiled/test_zqplans.py": "from veiled.zqplans import zqtotal\n\n\ndef test_zqfails() -> "
    "None:\n    raise ValueError('zqmessage')\n\n\ndef test_zqpasses() -> None:\n    assert "
    "zqtotal() == 1\n",
    "tests/test_open.py": "from src.shop import total\nfrom veiled.zqplans import zqtotal\n\n\n"
    "def test_total() -> None:\n    assert total() == 1\n\n\n"
    "def test_all() -> None:\n    assert zqtotal() == 1\n",
}
_OPEN: Final = "tests/test_open.py::test_total"
_HIDDEN: Final = "veiled/test_zqplans.py::test_zqfails"
_BY_COMMAND: Final[dict[str, Sequence[Sequence[str]]]] = {
    "proof tests": [("src.shop.total",), ("veiled.zqplans.zqtotal",), ("veiled/zqplans.py",)],
    "proof symbols": [(_OPEN,), ("tests/test_open.py::test_all",), (_HIDDEN,)],
    "proof impacted": [(), ("--staged",), ("--changed", "HEAD~1...HEAD"), ("--format", "pytest")],
    "proof why": [(_OPEN,), (_HIDDEN,), ("tests/test_open.py::test_all",)],
    "proof flaky": [()],
    "proof audit": [()],
    "evidence list": [()],
    "evidence show": [
        ("RUN",),
        (_HIDDEN,),
        ("veiled/zqplans.py",),
        ("file:veiled/zqplans.py",),
        ("tests/test_open.py",),
    ],
    "evidence export": [()],
    "evidence verify": [()],
    "verify": [
        (),
        ("--staged",),
        ("--require", "proven"),
        ("--changed", "HEAD~1...HEAD"),
        ("--format", "sarif"),
        ("--format", "github"),
        ("--format", "gitlab"),
        ("--format", "junit"),
        ("--propose-known-failures",),
    ],
    "status": [()],
    "arch check": [
        (),
        ("--staged",),
        *(("--format", name) for name in ("sarif", "github", "gitlab", "junit", "mermaid")),
    ],
    "arch show": [()],
    "arch explain": [("veiled/zqplans.py",), ("plans",), ("src/shop.py",), ("core",)],
    "arch fix": [("--dry-run",)],
    "arch baseline show": [()],
}


SUBJECTS: Final = ("arch", "evidence", "proof", "status", "verify")
"""Commands, by their first word."""


def _commands() -> Iterable[tuple[str, ...]]:
    for name, cases in _BY_COMMAND.items():
        if not name.startswith(SUBJECTS):
            continue
        for case in cases:
            words = (*name.split(), *case)
            has_json = "--format" not in case and case != ("--propose-known-failures",)
            yield words
            if has_json and name != "evidence export":
                yield (*words, "--format", "json")


COMMANDS: Final = tuple(_commands())
TOOLS: Final[Sequence[tuple[str, dict[str, Any]]]] = (
    ("verify", {}),
    ("impacted", {}),
    ("impacted", {"changed": "HEAD~1...HEAD"}),
)


class HiddenFiles(NamedTuple):
    """The repository."""

    repo: Checkout
    run: str
    """That failed."""

    def commands(self) -> list[tuple[str, ...]]:
        """Each command, with its arguments."""
        return [tuple(self.run if word == "RUN" else word for word in words) for words in COMMANDS]

    def hide(self, effect: str) -> None:
        """Write the policy: `deny` or `redact`."""
        self.repo.write(".kl/policy.yaml", POLICY.format(effect=effect))

    def leaks(self, text: str, asked: Iterable[str]) -> set[str]:
        """Return the words of what is hidden that a text shows, but for those that were asked
        for.
        """
        is_redacted = "redact" in (self.repo.root / ".kl/policy.yaml").read_text("utf-8")
        words = TEXTS if is_redacted else itertools.chain(NAMES, TEXTS)
        given = " ".join(asked)
        return {word for word in words if word in text and word not in given}


def hidden_files(repo: Checkout) -> HiddenFiles:
    """Fill a repository with what is hidden, and record runs of its tests on two contents."""
    assert repo.kl("init", "--yes").returncode == 0
    repo.commit("before")
    for path, text in _FILES.items():
        repo.write(path, text)
    repo.commit("files")
    run_pytest(repo.root)
    repo.write(
        "veiled/zqplans.py", _FILES["veiled/zqplans.py"].replace("total()\n", "total() + 0\n")
    )
    repo.git("add", "-A")
    listed = repo.kl("evidence", "list", "--source", "pytest")
    return HiddenFiles(repo, listed.stdout[:8])
