"""Every hookspec, in one file: when it is called, with what, and who wins.

A hookimpl is in the `plugin.py` of a package (built in) or in an installed package that the user's
configuration names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pluggy

from kl_hooks.model.definitions import NamedTuple

if TYPE_CHECKING:
    from kl_hooks.model.claim import Observation
    from kl_hooks.model.kind import Kind
    from kl_hooks.model.lifecycle import Change, Lifecycle
    from kl_hooks.model.package import Candidate, Task
    from kl_hooks.model.problem import Problem
    from kl_hooks.model.receipt import Receipt, SignedReceipt
    from kl_hooks.model.record import Record

# mypy wants bodies (empty-body, below); pluggy reads a hookspec's signature and calls
# implementations only
hookspec = pluggy.HookspecMarker("kl")
hookimpl = pluggy.HookimplMarker("kl")


# named tuples, not dataclasses: those compile several methods at each import, and every command
# imports this module
class Schema(NamedTuple):
    """The tables of one owner in one of our databases, as numbered steps."""

    owner: str
    database: str
    """`kl` (evidence, records, events: migrated, with a backup) or `graph` (derived: rebuilt)."""
    steps: tuple[str, ...]
    """SQL of step 1, 2, …; statements end in `;` at a line's end. A landed step is never edited. In
    `kl` none is added to a released schema (the previous release would refuse to write): new tables
    get a schema of a new name.
    """
    before: int = 0
    """Steps before these that exist no more: what is derived is built anew where only these were
    taken.
    """
    private: tuple[str, ...] = ()
    """Tables whose rows belong to one clone: in a database that a team shares, no other clone sees
    them.
    """
    append_only: tuple[str, ...] = ()
    """Tables whose rows a writer of such a database adds, and only its admins change or remove."""

    @property
    def last(self) -> int:
        """The number of the newest step."""
        return self.before + len(self.steps)


class FileOfEvidence(NamedTuple):
    """A file that somebody wants to import."""

    name: str
    content: bytes
    producer: str
    """Who imports it."""
    now: str
    """ISO 8601."""
    tree: str | None
    """The tree it was run on, according to whoever imports it (`--tree`)."""


class Source(NamedTuple):
    """A reader of evidence from a file: `kl evidence import NAME FILE`."""

    name: str
    read: Callable[[FileOfEvidence], Iterable[Receipt | SignedReceipt | Problem]]
    """What the file holds; a part that can't be read is a Problem, a file that is none at all a
    UsageProblem.
    """


class Scanner(NamedTuple):
    """A reader of source files."""

    language: str
    suffixes: tuple[str, ...]
    """The ends of its files' names; without a dot at the beginning the whole name of a file."""
    version: str
    """Part of the cache key: another version, another reading."""
    scan: Callable[[bytes, str, str], Mapping[str, Any]]
    """(content, path, module) → facts: plain JSON values, see `code.scanner`. Never raises for bad
    source.
    """
    imports: Callable[[bytes, str], Mapping[str, Any]] | None = None
    """(content, path) → facts of which only `error` and `imports` count; None: there is no shorter
    way to these.
    """


class Retriever(NamedTuple):
    """Something that can find candidates for a task."""

    name: str
    weight: int
    """Of its list in the fusion, percent; 100 is neutral."""
    find: Callable[[Any, Task, int], Sequence[Candidate]]
    """(workspace, task, most rows) → candidates, best first. May raise: the package then reports
    `failed`.
    """
    rows: int = 50
    """Most candidates that are asked for."""


class Staleness(NamedTuple):
    """A check whether records of a kind are still true of the current content."""

    kind: str
    find_stale: Callable[[Any, Sequence[Record]], Mapping[str, str]]
    """(workspace, records) → id of a record that is stale → why, in one line. Nothing is stored."""


class Embedder(NamedTuple):
    """A model that turns texts into vectors, so that texts of one meaning are near each other."""

    name: str
    version: str
    """Of the model. Vectors are stored with both: another name or version, and every text is
    embedded again.
    """
    dimension: int
    """Numbers of a vector; 0: as many as the first answer has."""
    batch: int
    """Most texts of one call."""
    embed: Callable[[Sequence[str]], Any]
    """Texts → for each a row of numbers, of any length: an array, or lists. Called lazily; loads
    what it needs.
    """
    local: bool = True
    """False: texts leave this machine, and are redacted once more before they do."""


class CommonEvent(NamedTuple):
    """Something that happened to a record, or was claimed, that other clones should know."""

    name: str
    record: str
    author: str
    """As its clone knows it: `local:<user>@<host>`, `agent:<name>`, a session; empty: unknown."""
    at: str
    """ISO 8601, UTC."""
    body: Mapping[str, Any]
    """Plain values, redacted. Two events of one moment must differ in it, or they are one."""
    signer: str = ""
    """The trusted key that signed it; empty for one of this clone."""
    of_person: bool = False
    """Whether that key is a person's."""

    @property
    def by_person(self) -> bool:
        """Whether a person did it, as far as a key of a person vouches for that."""
        return self.of_person and not self.author.startswith("agent:")


class Policy(NamedTuple):
    """A rule of upkeep: what it would change, and how."""

    name: str
    """As the report calls it: `expired claims`."""
    description: str
    """What it does, in one line."""
    find_changes: Callable[[Any, Lifecycle, int], Sequence[Change]]
    """(workspace, numbers, now in microseconds) → what it would change. Writes nothing but what
    reading ingests.
    """
    apply: Callable[[Any, Sequence[Change], int], None] | None = None
    """(workspace, changes, now). What no longer matches the change is skipped; applied twice is
    applied once. None: nothing is applied, the report is all.
    """


class Removal(NamedTuple):
    """Something of kl in a clone or outside it, and what uninstalling does with it."""

    place: str
    """A file, a folder, a setting of git, an address."""
    sort: str
    """What it is: `git hook`."""
    reason: str = ""
    """Why it stays; empty: it is removed."""
    command: str = ""
    """What removes it, for what stays."""
    has_failed: bool = False
    """Whether it was to be removed and could not be."""


class Uninstaller(NamedTuple):
    """Removes what a package wrote outside of the files that people author."""

    name: str
    uninstall: Callable[[Any, bool], Sequence[Removal]]
    """(workspace, whether nothing may be changed) → what is removed, and what stays. Both answers
    are the same but for what fails.
    """


def schema_hook(*schemas: Schema) -> Callable[[], Sequence[Schema]]:
    """The `kl_schema` of a package whose tables are always the same: data, so that no code of it
    runs to name them.
    """

    def kl_schema() -> Sequence[Schema]:
        return schemas

    return hookimpl(kl_schema)


@hookspec
def kl_schema() -> Schema | Sequence[Schema]:  # type: ignore[empty-body]
    """Called when a database is opened for writing. Every answer counts; steps run by their owners'
    names.
    """


@hookspec
def kl_kinds() -> Sequence[Kind]:  # type: ignore[empty-body]
    """Called when records are first needed. A kind of a name that is taken is refused, with both
    plugins named.
    """


@hookspec
def kl_sources() -> Sequence[Source]:  # type: ignore[empty-body]
    """Called when evidence is imported. The first source of a name wins; a later plugin is asked
    first.
    """


@hookspec
def kl_scanners() -> Sequence[Scanner]:  # type: ignore[empty-body]
    """Called before files are scanned. For each file the first scanner that knows its suffix is
    used.
    """


@hookspec
def kl_retrievers() -> Sequence[Retriever]:  # type: ignore[empty-body]
    """Called once per context package. All answers are used, ordered by name; names are unique.

    Those of installed plugins are asked at the same time, each in a thread of its own.
    """


@hookspec
def kl_stale() -> Sequence[Staleness]:  # type: ignore[empty-body]
    """Called when records are shown. For each kind every answer is asked; a record is stale if one
    gives a reason.
    """


@hookspec
def kl_citations(  # type: ignore[empty-body]
    workspace: Any, ids: Sequence[str]
) -> Mapping[str, tuple[Observation, str]]:
    """Called when claims cite something. ID → what it counts as, and why it does not count (empty:
    it does).

    All answers are used; what was removed is absent.
    """


@hookspec
def kl_basis(  # type: ignore[empty-body]
    workspace: Any, about: Sequence[str], text: str
) -> Mapping[str, Any]:
    """Called when somebody approves a memory. What it rests on now, by what it is about and what
    its text names, as plain data that is stored with the approval.

    All answers are merged.
    """


@hookspec
def kl_common_events(workspace: Any) -> Iterable[CommonEvent]:  # type: ignore[empty-body]
    """Called by `kl sync`.

    The events of this clone that others should know; all answers are used.
    """


@hookspec(firstresult=True)
def kl_foreign_evidence(workspace: Any) -> Any:
    """Called when evidence of other clones or of CI is needed. The first port given is used
    (`evidence.foreign.ForeignEvidence`).
    """


@hookspec
def kl_policies() -> Sequence[Policy]:  # type: ignore[empty-body]
    """Called when upkeep looks. All answers are used, ordered by name; names are unique."""


@hookspec
def kl_redact() -> Iterable[tuple[str, Callable[[str], str]]]:  # type: ignore[empty-body]
    """Called once per process, before anything is written. Gives (name, text → text); all are
    applied, ours first.
    """


@hookspec(firstresult=True)
def kl_embedder(workspace: Any) -> Embedder | None:
    """Called when vectors are needed and the user's settings do not turn them off. The first
    embedder given is used.
    """


@hookspec(firstresult=True)
def kl_summarize(workspace: Any, question: str, passages: Sequence[tuple[str, str]]) -> str | None:
    """Called with the best passages of an answer, each with its source. Without an answer the
    passages are quoted.
    """


@hookspec
def kl_uninstallers() -> Sequence[Uninstaller]:  # type: ignore[empty-body]
    """Called by `kl uninstall`. All answers are used. The state directory is removed at the end,
    so each may still read it.
    """
