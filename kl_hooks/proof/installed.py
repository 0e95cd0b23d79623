"""What a run had installed, compared with what is in its own site-packages folders now.

The folders are those of the run, not of the Python that asks: `kl verify` may run in an environment
of its own, of pipx or pre-commit. On another machine, or where they are missing, nothing can be
compared, and that is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from kl_hooks.evidence.distributions import (
    DISTRIBUTIONS,
    Distributions,
    Folder,
    Uses,
    change_words,
    digest_of,
    machine,
    read_folder,
    start_up,
)
from kl_hooks.evidence.executed import Executed, why_not_recorded
from kl_hooks.evidence.ledger import Entry
from kl_hooks.evidence.reach import Reach
from kl_hooks.evidence.trust import environment_key
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import Receipt
from kl_hooks.proof.facts import RunFacts
from kl_hooks.proof.opened_bytes import BytesOfCheckout, BytesOnDisk
from kl_hooks.proof.variables import set_variables

_FILES: Final = "files:"
"""How the version of a module begins that belongs to no distribution."""


class EnvironmentChanges(NamedTuple):
    """How what is installed differs from what a run had."""

    installed: Mapping[str, str] = {}
    """Distribution → in words."""
    added: Mapping[str, str] = {}
    """First part of a module that can be imported now → in words."""
    start: str = ""
    """What an interpreter executes otherwise when it starts."""
    new: Mapping[str, str] = {}
    """Distribution that was not installed at all → in words."""
    not_compared: str = ""
    """Why nothing could be compared; empty: it was."""


def changes_since(distributions: Distributions | None, uses: Uses | None) -> EnvironmentChanges:
    """How the folders of a run differ now from what it recorded of them."""
    if distributions is None:
        why = "which distributions were installed was not recorded; run the tests once"
        return EnvironmentChanges(not_compared=why)
    if distributions.machine != _machine():
        return EnvironmentChanges(not_compared=_NOT_COMPARED.format("it ran on another machine"))
    if any("[redacted:" in path for path in distributions.folders):  # of an earlier kl
        why = "the folders of its distributions were not recorded; run the tests once"
        return EnvironmentChanges(not_compared=_NOT_COMPARED.format(why))
    folders = [folder for path in distributions.folders if (folder := _listing(path))]
    if not folders:
        return EnvironmentChanges(not_compared=_NOT_COMPARED.format("its environment was removed"))
    return EnvironmentChanges(
        dict(_changed(distributions, uses, folders)),
        _added(uses, folders),
        _start_changed(distributions, folders),
        _new(distributions, uses, folders),
    )


_NOT_COMPARED: Final = "what is installed was not compared: {}"


@lru_cache(maxsize=1)
def _machine() -> str:
    return machine()


def _listing(path: str) -> Folder | None:
    try:
        return read_folder(path)
    except OSError:
        return None


def _changed(
    distributions: Distributions, uses: Uses | None, folders: Iterable[Folder]
) -> Iterable[tuple[str, str]]:
    now: dict[str, str] = {}
    for folder in folders:
        now = {**folder.versions, **now}  # the first on sys.path is imported
    recorded = {**(uses.installed if uses else {}), **distributions.versions}
    for name, version in sorted(recorded.items()):
        if name.startswith("/"):
            if version.startswith(_FILES) and version != _files_version(name):
                yield name, f"{change_words(name, version, '')} changed"
        elif name not in now:
            yield name, f"{name} {version} is not installed any more"
        elif now[name] != version:
            yield name, f"{change_words(name, version, now[name])} is installed now"


def _files_version(path: str) -> str:
    try:
        return f"{_FILES}{digest_of(path)}"
    except OSError:
        return ""


def _added(uses: Uses | None, folders: Iterable[Folder]) -> dict[str, str]:
    missing = {name for names in (uses.missing if uses else {}).values() for name in names}
    here = {name for folder in folders for name in folder.modules}
    return {name: f"{name} is installed now" for name in missing & here}


def _new(
    distributions: Distributions, uses: Uses | None, folders: Iterable[Folder]
) -> dict[str, str]:
    if uses is None or distributions.own is None:
        return {}
    before = uses.installed.keys() | distributions.versions.keys() | distributions.own
    now = {name: version for folder in folders for name, version in folder.versions.items()}
    words = {name: f"{name} {version} is installed now" for name, version in now.items()}
    return {name: words[name] for name in sorted(now.keys() - before)}


def _start_changed(distributions: Distributions, folders: Iterable[Folder]) -> str:
    """Which file that is executed when an interpreter starts differs; one with an empty digest is
    of the repository itself.
    """
    before = distributions.start
    now = {path: digest for folder in folders for path, digest in start_up(folder).items()}
    now |= {path: _start_digest(path) for path in before.keys() - now.keys()}
    changed = [
        path
        for path in sorted({*before, *now})
        if before.get(path) != "" and before.get(path) != now.get(path)
    ]
    if not changed:
        return ""
    return f"{changed[0]} changed, which Python executes when it starts"


def _start_digest(path: str) -> str:
    try:
        return digest_of(path)
    except OSError:
        return "it was removed"


# runs compared with each other


class Environments:
    """What runs had installed, and the bytes that they opened, as they are now: asked for runs from
    the newest on.

    Where the folders of a run can't be looked into, the newest run of its environment and origin
    shows what is installed.
    """

    def __init__(self, place: BytesOnDisk | BytesOfCheckout | None = None) -> None:
        """`place`: where the judged content is, the working tree or a checkout of it."""
        self._place = place
        self._newest: dict[tuple[str, ...], tuple[str, Distributions]] = {}

    def facts_of_run(
        self, entry: Entry, executed: Executed | None, *, is_own: bool = False
    ) -> tuple[RunFacts, str]:
        """What a run recorded, and how its environment differs now; why that is not known, if it
        is not. `is_own`: it ran on the very content that is judged.
        """
        receipt = entry.receipt
        opened = executed is not None and executed.knows_opened
        recorded = frozenset(map(str, receipt.environment.get("facts") or ()))
        if executed is not None and executed.reads is None:  # there were too many
            recorded -= {"reads"}
        distributions = Distributions.of(receipt)
        if distributions:
            reach = Reach(distributions, executed)
        else:
            reach = None
        # the facts of one class may have got lost, such as on a full disk
        if not reach:
            recorded = recorded - {DISTRIBUTIONS}
        changes = changes_since(distributions, executed.distributions if executed else None)
        if is_own:
            newer = {}
        else:
            newer = self.changes_in_newer_runs(receipt, entry.origin, distributions)
        installed = newer if changes.not_compared else changes.installed
        place = self._place
        if place:
            other_bytes = place.differing(executed)
        else:
            other_bytes = {}
        # what git ignores is this machine's own
        is_here = distributions is not None and distributions.machine == _machine()
        if is_here and isinstance(place, BytesOnDisk):
            disk = place
        else:
            disk = None
        facts = RunFacts(
            executed,
            opened,
            recorded,
            reach,
            installed,
            changes.added,
            changes.start,
            other_bytes,
            disk.appeared(executed) if disk else frozenset(),
            disk.relisted(executed) if disk else frozenset(),
            set_variables(executed) if disk else frozenset(),
            changes.new,
            "" if executed else why_not_recorded(receipt.environment),
        )
        return facts, changes.not_compared

    def changes_in_newer_runs(
        self, receipt: Receipt, origin: str, distributions: Distributions | None
    ) -> dict[str, str]:
        """How the newest run of this environment differs from one."""
        if distributions is None:
            return {}
        key = (origin, *environment_key(receipt))
        run, newest = self._newest.setdefault(key, (receipt.run, distributions))
        own = distributions.versions
        return {
            name: f"{change_words(name, own[name], version)} in run {run[:8]}"
            for name, version in newest.versions.items()
            if name in own and own[name] != version and not name.startswith("/")
        }
