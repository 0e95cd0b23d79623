"""The facts that verdicts rest on: what a run executed, and what differs in another content.

Plain values. `proof.difference` reads them from git and from the facts of the code; the rules
(`proof.rules`) see nothing else, whoever handed them over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from kl_hooks.evidence.executed import Executed
from kl_hooks.evidence.reach import Reach
from kl_hooks.model.definitions import EMPTY, NamedTuple
from kl_hooks.model.receipt import FACT_CLASSES
from kl_hooks.proof.pytest_config import PytestConfig
from kl_hooks.proof.requirements import RequirementChange
from kl_hooks.proof.source_facts import SourceFacts

VALID: Final = "valid"
STALE: Final = "stale"
NOT_ASSESSED: Final = "not assessed"


class Verdict(NamedTuple):
    """Whether a result of a run is valid for another content."""

    state: str
    """`VALID`, `STALE`, `NOT_ASSESSED`."""
    reason: str = ""
    """Why it is not valid: `shop.cart.total changed`."""
    symbols: tuple[str, ...] = ()
    """The executed symbols that differ."""


class FileSymbols(NamedTuple):
    """What a Python file defines in one content; names start with `_` instead of its module."""

    hashes: Mapping[str, str] = EMPTY
    """`function:_.f` → content hash."""
    names: frozenset[str] = frozenset()
    """The identifiers that it uses or binds."""
    lines: Mapping[str, int] = EMPTY
    error: str = ""
    """Why it could not be read."""


LINK: Final = "120000"
"""git's mode of a symbolic link."""


class Definition(NamedTuple):
    """A function, a class, or a value in the body of a class."""

    path: str
    name: str
    """In the file: `C.m`."""


class FileChange(NamedTuple):
    """A file that differs between the content of a run and another one."""

    path: str
    state_before: str = ""
    """See `git.worktree.changed_files`; empty: it was not there."""
    state_now: str = ""
    symbols_before: FileSymbols | None = None
    """Of a Python file that was there."""
    symbols_now: FileSymbols | None = None

    @property
    def is_python(self) -> bool:
        """Whether it is source: what tests of it executed is known by symbols."""
        states = (self.state_before, self.state_now)
        return self.path.endswith(".py") and all(
            not state or state.startswith("100") for state in states
        )


def _no_text(path: str, side: int) -> bytes | None:
    return None


def _never(folder: str) -> bool:
    return False


def _no_mentions(words: Iterable[str]) -> Mapping[str, frozenset[str]]:
    return {}


_UNKEPT: Final = SourceFacts()


def _default_config(path: str) -> PytestConfig:
    return PytestConfig()


class Difference(NamedTuple):
    """What differs between the content of a run and another one."""

    changes: Mapping[str, FileChange] = EMPTY
    whole: tuple[str, ...] = ()
    """Differences that no test escapes: pytest's configuration, how the project is installed."""
    documents: frozenset[str] = frozenset()
    """Changed files that are documentation."""
    read_documents: Mapping[str, str] = EMPTY
    """Changed documentation that a test may read → why; asked only where opened files were not
    recorded.
    """
    mentions: Callable[[Iterable[str]], Mapping[str, frozenset[str]]] = _no_mentions
    """Words → the Python files of the other content that have them."""
    text: Callable[[str, int], bytes | None] = _no_text
    """(path, 0: before, 1: now) → the bytes of a file; None where it is not there or can't be read.
    """
    source: SourceFacts = _UNKEPT
    """What a content of source has by itself."""
    is_lasting: Callable[[str], bool] = _never
    """Whether a folder has a file in both contents, so that it is in both."""
    requirements: tuple[RequirementChange, ...] = ()
    """Distributions that files of the two contents require otherwise."""
    python_files: Callable[[], frozenset[str]] = frozenset
    """The Python files of the other content."""
    pytest_config: Callable[[str], PytestConfig] = _default_config
    """The configuration that decides what a test of a file is; where that differs, `whole` names
    it.
    """


class RunFacts(NamedTuple):
    """What a run recorded next to its results."""

    executed: Executed | None = None
    opened: bool = False
    """Whether the files that it opened were recorded."""
    recorded: frozenset[str] = frozenset(FACT_CLASSES)
    """The classes of facts that it recorded, of `FACT_CLASSES`: an earlier kl had fewer."""
    reach: Reach | None = None
    """The installed distributions that it recorded, and which tests reach them."""
    installed: Mapping[str, str] = EMPTY
    """Distribution → how it differs now from what the run had: `cachetools 5.3.0 → 5.5.0 is
    installed now`.
    """
    added: Mapping[str, str] = EMPTY
    """First part of a module that can be imported now → the same of it."""
    start: str = ""
    """What an interpreter executes otherwise when it starts; empty: nothing."""
    other_bytes: Mapping[str, str] = EMPTY
    """Files that it opened, and that have other bytes now, whatever git calls the same → in words.
    """
    appeared: frozenset[str] = frozenset()
    """Paths where it looked in vain, and where something is on disk now, ignored by git or not."""
    relisted: frozenset[str] = frozenset()
    """Listings (`books/*.txt`) that show other names on disk now."""
    variables: frozenset[str] = frozenset()
    """Variables of the environment that it looked for in vain, and that are set now."""
    new: Mapping[str, str] = EMPTY
    """Distribution that is installed now, and was not at all → in words."""
    why_not_executed: str = ""
    """Why it recorded no executed symbols, where that is known."""

    def has_other_distributions(self, difference: Difference) -> bool:
        """Whether something that it had installed is another now, or is required otherwise."""
        changed = self.changed_distributions(difference)
        return bool(changed or self.added or self.start or self.new)

    @property
    def has_other_files(self) -> bool:
        """Whether something differs on disk, or in the environment, that git does not show."""
        return bool(self.other_bytes or self.appeared or self.relisted or self.variables)

    def changed_distributions(self, difference: Difference) -> dict[str, str]:
        """Distribution → why its recorded version is not what is installed now, or what the other
        content requires.
        """
        changed = dict(self.installed)
        if self.reach is None:
            return changed
        recorded = self.reach.distributions
        for change in difference.requirements:
            version = recorded.versions.get(change.name, "")
            if version and (why := change.unmet(version, recorded.markers)):
                changed[change.name] = why
        return changed


class RunSymbols:
    """The symbols that a run executed, by file."""

    def __init__(self, executed: Executed) -> None:
        self.executed = executed
        self.paths = [executed.places.get(symbol.symbol, "") for symbol in executed.symbols]
        """The path of each symbol, by its index."""
        self.at: dict[str, list[int]] = {}
        """Path → indexes."""
        self.modules: dict[str, str] = {}
        """Path → the module that the file was."""
        for index, (path, symbol) in enumerate(zip(self.paths, executed.symbols, strict=True)):
            self.at.setdefault(path, []).append(index)
            if symbol.symbol.startswith("namespace:"):
                self.modules[path] = symbol.symbol.partition(":")[2]

    def local(self, index: int) -> str:
        """A symbol without its module: `function:_.f`."""
        kind, _, name = self.executed.symbols[index].symbol.partition(":")
        return f"{kind}:_{name.removeprefix(self.modules.get(self.paths[index], ''))}"

    def find(self, path: str, local: str) -> int | None:
        """The index of a symbol of a file; None for one that was not executed."""
        return next((index for index in self.at.get(path, ()) if self.local(index) == local), None)
