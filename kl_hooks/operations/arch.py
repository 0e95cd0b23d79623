"""Operations of layers: show and explain them, fix imports, move a folder, allow an import, the
baseline, rules of other tools.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.errors import CLEAN, FINDINGS, ForPeople, UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.manifest import BASELINE, MANIFEST
from kl_hooks.model.parameter import InputFile, Parameter
from kl_hooks.model.symbol import FilePath
from kl_hooks.operations.operation import Operation

if TYPE_CHECKING:
    from kl_hooks.arch.autofix import FixResult
    from kl_hooks.arch.baseline import BaselineComparison, BaselineEntry
    from kl_hooks.arch.exceptions import AddedException
    from kl_hooks.arch.folder_move import FolderMove
    from kl_hooks.arch.overview import Overview
    from kl_hooks.context.access import Access
    from kl_hooks.workspace import Workspace

_DRY_RUN: Final = Parameter("Show what would change; write nothing.")


def _operation(
    name: str,
    help: str,
    request: type,
    run: Callable[..., Any],
    to_dict: Callable[[Any], dict[str, Any]],
    version: int = 1,
    example: str = "",
) -> Operation:
    schema = f"kl.arch.{name.replace(' ', '.')}/{version}"
    return Operation(
        f"arch {name}",
        help,
        request,
        run,
        to_dict,
        schema,
        f"kl arch {example or name}",
        is_tool=False,
    )


class NoRequest(NamedTuple):
    """Nothing is asked."""


class ShownLayers(NamedTuple):
    """The layers of the working tree."""

    overview: Overview | None
    """None: there is no manifest."""
    notes: tuple[str, ...]


def _show(ws: Workspace, _request: NoRequest, _access: Access) -> ShownLayers:
    from kl_hooks.arch.overview import load_overview

    return ShownLayers(*load_overview(ws))


def _layers_to_dict(layers: ShownLayers) -> dict[str, Any]:
    from kl_hooks.arch.overview import overview_to_dict

    return overview_to_dict(layers.overview)


SHOW: Final = _operation(
    "show",
    """Show the layers as they are stacked, what each imports from which, and what breaks the
    manifest.

    Of the files as they are on disk. A table below shows the same. Box characters where the
    terminal has them (a UTF-8 locale), ASCII otherwise. Violations are red, accepted ones yellow
    (not with NO_COLOR). To get an exit code, use: kl arch check
    """,
    NoRequest,
    _show,
    _layers_to_dict,
)


class ExplainRequest(NamedTuple):
    """What is explained."""

    subject: Annotated[str, Parameter("A file, a layer or a module.", argument="FILE|LAYER|MODULE")]
    paths: tuple[str, ...] = ()
    """How it may be read as a path from the root."""


class Crossing(NamedTuple):
    """An import from one layer to another, and what is decided about it."""

    path: FilePath
    line: int
    importer: str
    imported: str
    source: str
    """The layer of the importing file."""
    target: str
    method: str
    decision: str

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Crossing:
        """A row of `overview.CheckedWorktree.explanation`."""
        return cls(FilePath(row["path"]), *(row[name] for name in _CROSSING_KEYS[1:]))


_CROSSING_KEYS: Final = (
    "path",
    "line",
    "importer",
    "imported",
    "from",
    "to",
    "method",
    "decided",
)
_CROSSINGS: Final = ("imports", "imported_by", "broken")
"""Facts that are lists of crossings."""


class Explained(NamedTuple):
    """A file or a layer, and why it is judged so."""

    path: FilePath | None
    """Of the file; None: it is a layer."""
    facts: Mapping[str, Any]
    """Empty where the file is redacted."""
    crossings: Mapping[str, tuple[Crossing, ...]]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        rows = {
            name: [dict(zip(_CROSSING_KEYS, crossing, strict=True)) for crossing in crossings]
            for name, crossings in self.crossings.items()
        }
        return {**self.facts, **rows} | ({"path": self.path} if self.path else {})


class Explanation(NamedTuple):
    """Why a file, module or layer is judged as it is."""

    explained: Explained | None
    """None: there is no manifest."""
    notes: tuple[str, ...]


def _explain(ws: Workspace, request: ExplainRequest, _access: Access) -> Explanation:
    from kl_hooks.arch.overview import check_worktree

    tree, notes = check_worktree(ws)
    if tree is None:
        return Explanation(None, notes)
    facts = tree.explanation(request.subject, [*request.paths, request.subject])
    if facts["kind"] == "file":
        path = FilePath(facts["path"])
    else:
        path = None
    crossings: dict[str, tuple[Crossing, ...]] = {
        name: tuple(map(Crossing.of, facts.pop(name))) for name in _CROSSINGS if name in facts
    }
    return Explanation(Explained(path, facts, crossings), notes)


def _explanation_to_dict(explanation: Explanation) -> dict[str, Any]:
    if explanation.explained:
        return explanation.explained.to_dict()
    return {"kind": None}


EXPLAIN: Final = _operation(
    "explain",
    """Explain a file (which module it is and why, its layer, what crosses layers), or a layer, of
    what is on disk.

    For a file: how it was mapped to a module, which path of the manifest owns it, what it imports
    from other layers and who of them imports it, each with the decision: allowed, excepted, in the
    baseline, ignored, forbidden. For a layer: its paths and files, what it may depend on and does,
    who uses it, and what breaks its rule.
    """,
    ExplainRequest,
    _explain,
    _explanation_to_dict,
    example="explain src/shop/core/order.py",
)


class FixRequest(NamedTuple):
    """What is fixed."""

    paths: Annotated[
        tuple[str, ...], Parameter("Files and folders; none: all.", argument="[FILE]...")
    ] = ()
    is_dry: Annotated[bool, _DRY_RUN._replace(name="dry_run")] = False
    has_accepted: Annotated[
        bool, Parameter("Also fix what the baseline accepts.", name="accepted")
    ] = False


class Fixes(NamedTuple):
    """What was fixed, or would be."""

    result: FixResult
    is_written: bool
    exit_code: int
    """1: something is left, whether it may be shown or not."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be judged."""
        return self.result.notes


def _fix(ws: Workspace, request: FixRequest, _access: Access) -> Fixes:
    from kl_hooks.arch.autofix import fix_violations

    result = fix_violations(ws, request.paths, not request.is_dry, request.has_accepted)
    is_done = result.clean and not (request.is_dry and result.fixed)
    return Fixes(result, not request.is_dry, CLEAN if is_done else FINDINGS)


FIX: Final = _operation(
    "fix",
    """Fix forbidden imports in FILEs and folders on disk (none given: everywhere), where that
    changes no behavior.

    An import that only annotations use is moved under `if TYPE_CHECKING:`, where the manifest
    ignores such imports. Whatever may be noticed at run time stays, and the reason is shown, as is
    the diff. An import that nothing uses is left to ruff (F401). What an exception or the baseline
    accepts is left alone.

    Exit 0: nothing is left to fix. 1: violations are left (or would be fixed: --dry-run). 2: a bad
    manifest.
    """,
    FixRequest,
    _fix,
    lambda fixes: fixes.result.to_dict(written=fixes.is_written),
    version=2,
    example="fix --dry-run src/shop/core/",
)


class MoveRequest(NamedTuple):
    """What gets another path."""

    old: Annotated[str, Parameter("The path before.", argument="OLD")]
    new: Annotated[str, Parameter("The path from now on.", argument="NEW")]
    has_imports: Annotated[
        bool, Parameter("Also rewrite the imports of all Python files.", name="imports")
    ] = False
    is_dry: Annotated[bool, _DRY_RUN._replace(name="dry_run")] = False


class UnchangedPlace(NamedTuple):
    """An import or a string that still has the old name."""

    path: FilePath
    line: int
    reason: str


class Move(NamedTuple):
    """What was changed, or would be."""

    result: FolderMove
    is_written: bool
    exit_code: int

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be judged."""
        return self.result.notes


def _move(ws: Workspace, request: MoveRequest, _access: Access) -> Move:
    from kl_hooks.arch.folder_move import move_folder

    is_written = not request.is_dry
    result = move_folder(
        ws, request.old, request.new, write=is_written, imports=request.has_imports
    )
    result = result._replace(
        left=tuple(
            UnchangedPlace(FilePath(path), line, reason) for path, line, reason in result.left
        ),
        unlayered=tuple(map(FilePath, result.unlayered)),
    )
    return Move(result, is_written, CLEAN if is_written or not result.changes else FINDINGS)


MOVE: Final = _operation(
    "mv",
    """Give the folder or file OLD the path NEW: in the layers, exceptions and contracts of the
    manifest, and in the baseline.

    Moves no file itself: use git mv, before or afterwards. Names of layers stay, as do comments and
    layout. The diff is shown. With --imports the imports on disk get the new names too; strings and
    what can't be rewritten surely are listed.

    Exit 0: done, or nothing to do. 1: something would change (--dry-run). 2: no rule and no file
    knows OLD, or a bad manifest.
    """,
    MoveRequest,
    _move,
    lambda move: move.result.to_dict(written=move.is_written),
    example="mv src/shop/api src/shop/web --imports",
)


class AllowRequest(NamedTuple):
    """Which import is allowed, until when, and why."""

    source: Annotated[str, Parameter("A module or layer.", argument="FROM")]
    target: Annotated[str, Parameter("What it may import.", argument="TO")]
    until: Annotated[str, Parameter("Last day it applies: 30d, or YYYY-MM-DD. Required.")] = ""
    reason: Annotated[str, Parameter("Why; it becomes the decision record. Required.")] = ""
    decision: Annotated[
        str,
        Parameter("Name this record instead of writing a new one.", metavar="ADR-NNNN"),
    ] = ""
    accept: Annotated[
        bool,
        Parameter("Write the new record as accepted; for people. Else it is proposed."),
    ] = False


class Allowed(NamedTuple):
    """The exception that was written."""

    added: AddedException
    is_accepted: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of it."""
        return self.added.remarks


def _allow(ws: Workspace, request: AllowRequest, _access: Access) -> Allowed:
    from kl_hooks.arch.exceptions import add_exception
    from kl_hooks.evidence.provenance import agent

    if not (request.until and request.reason):
        raise UsageProblem("needs --until and --reason.", place="kl arch allow")
    if request.accept and (name := agent(ws.environ)):
        hint = "Leave it out: a person accepts the record with kl decision accept."
        raise ForPeople(
            f"accepting is for people, and this is {name}.", place="--accept", hint=hint
        )
    added = add_exception(
        ws,
        request.source,
        request.target,
        request.until,
        request.reason,
        request.decision,
        accept=request.accept,
    )
    return Allowed(added, request.accept)


def _allowed_to_dict(allowed: Allowed) -> dict[str, Any]:
    added = allowed.added
    exception = allowed.added.exception
    return {
        "from": exception.source,
        "to": exception.target,
        "until": exception.until,
        "decision": exception.decision,
        "manifest": MANIFEST,
        "line": exception.line,
        "record": added.record or None,
        "imports": added.imports,
    }


ALLOW: Final = _operation(
    "allow",
    """Allow imports of TO by FROM (modules or layers) until a day, and record why.

    Adds an exception to `.kl/architecture.yaml`, every other byte of which stays as it is, and
    writes a decision into `.kl/knowledge/decisions/` unless --decision names one: proposed, or
    accepted with --accept. Review and commit both. Refused where it would excuse no import of
    today: no exception excuses a chain (`indirect: forbid`).
    """,
    AllowRequest,
    _allow,
    _allowed_to_dict,
    example='allow shop.core.order shop.web.page --until 30d --reason "until orders are split"',
)


class Entries(NamedTuple):
    """Accepted violations that are shown, and how many there are."""

    shown: tuple[BaselineEntry, ...]
    total: int

    @classmethod
    def of(cls, entries: Iterable[BaselineEntry]) -> Entries:
        """All of these."""
        listed = tuple(entries)
        return cls(listed, sum(entry.count for entry in listed))

    def to_dicts(self) -> list[dict[str, Any]]:
        """As JSON has them."""
        return [entry.to_dict() for entry in self.shown]


class Renamed(NamedTuple):
    """An accepted violation whose modules have other names today."""

    entry: BaselineEntry
    today: BaselineEntry


class Baseline(NamedTuple):
    """The violations of the working tree compared with those that are accepted."""

    is_there: bool
    """Whether there was a baseline before."""
    accepted: Entries
    """Those of the file."""
    needed: Entries
    """Those of the file as far as a violation matches them."""
    today: Entries
    """Those that accept exactly what is there."""
    pruned: Entries
    """`needed` under the names of today."""
    added: Entries
    fixed: Entries
    renamed: tuple[Renamed, ...]
    is_written: bool = False

    @classmethod
    def of(cls, comparison: BaselineComparison, *, is_written: bool = False) -> Baseline:
        """What a comparison shows."""
        match = comparison.found
        return cls(
            is_there=comparison.before is not None,
            accepted=Entries.of(comparison.entries),
            needed=Entries.of(match.needed),
            today=Entries.of(comparison.today),
            pruned=Entries.of(match.today),
            added=Entries.of(comparison.added),
            fixed=Entries.of(comparison.fixed),
            renamed=tuple(Renamed(*pair) for pair in match.renamed),
            is_written=is_written,
        )


class WriteRequest(NamedTuple):
    """Whether a baseline may grow."""

    grow: Annotated[
        bool, Parameter("Accept what is added to a baseline that is there already.")
    ] = False


def _write_baseline(ws: Workspace, request: WriteRequest, _access: Access) -> Baseline:
    from kl_hooks.arch.baseline import compare_baseline, replace_baseline

    comparison = compare_baseline(ws)
    is_growth = comparison.before is not None and bool(comparison.added)
    is_written = request.grow or not is_growth
    if is_written:
        replace_baseline(ws, comparison, comparison.today)
    return Baseline.of(comparison, is_written=is_written)


def _written_to_dict(baseline: Baseline) -> dict[str, Any]:
    return {
        "violations": baseline.today.to_dicts(),
        "added": baseline.added.to_dicts(),
        "fixed": baseline.fixed.to_dicts(),
        "written": baseline.is_written,
    }


BASELINE_WRITE: Final = _operation(
    "baseline write",
    """Accept today's violations of the working tree. Exit 2, and nothing is written, if a baseline
    would grow.
    """,
    WriteRequest,
    _write_baseline,
    _written_to_dict,
)


def _show_baseline(ws: Workspace, _request: NoRequest, _access: Access) -> Baseline:
    from kl_hooks.arch.baseline import compare_baseline

    return Baseline.of(compare_baseline(ws))


def _baseline_to_dict(baseline: Baseline) -> dict[str, Any]:
    return {
        "baseline": BASELINE if baseline.is_there else None,
        "renamed": [
            {"entry": renamed.entry.to_dict(), "today": renamed.today.to_dict()}
            for renamed in baseline.renamed
        ],
        "accepted": baseline.accepted.to_dicts(),
        "fixed": baseline.fixed.to_dicts(),
        "new": baseline.added.to_dicts(),
    }


BASELINE_SHOW: Final = _operation(
    "baseline show",
    "List what is accepted, what of it is fixed or renamed, and what is new.",
    NoRequest,
    _show_baseline,
    _baseline_to_dict,
)._replace(schema="kl.arch.baseline/1")


def _prune_baseline(ws: Workspace, _request: NoRequest, _access: Access) -> Baseline:
    from kl_hooks.arch.baseline import compare_baseline, replace_baseline

    comparison = compare_baseline(ws)
    if comparison.before is None:
        raise UsageProblem(
            "is not there.",
            place=BASELINE,
            hint="Accept today's violations: kl arch baseline write",
        )
    is_changed = comparison.found.today != comparison.entries
    if is_changed:
        replace_baseline(ws, comparison, comparison.found.today)
    return Baseline.of(comparison, is_written=is_changed)


def _pruned_to_dict(baseline: Baseline) -> dict[str, Any]:
    return {
        "fixed": baseline.fixed.to_dicts(),
        "violations": baseline.pruned.to_dicts(),
        "written": baseline.is_written,
    }


BASELINE_PRUNE: Final = _operation(
    "baseline prune",
    """Remove what is fixed, and give renamed modules their names of today. New violations are not
    added.
    """,
    NoRequest,
    _prune_baseline,
    _pruned_to_dict,
)


class ImportRequest(NamedTuple):
    """Which rules are taken over."""

    file: Annotated[
        InputFile, Parameter("A set-up of import-linter or tach.", argument="[FILE]")
    ] = InputFile("")
    write: Annotated[bool, Parameter(f"Write {MANIFEST}; without it the text is only printed.")] = (
        False
    )
    force: Annotated[bool, Parameter("With --write: replace the manifest that is there.")] = False
    path: str = ""
    """Of the file, from the root."""


class ImportedRules(NamedTuple):
    """A manifest made of the rules of another tool."""

    origin: FilePath
    layers: tuple[str, ...]
    contracts: tuple[str, ...]
    untranslated: tuple[str, ...]
    """A line each."""
    text: str
    is_written: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be translated."""
        return tuple(f"not translated: {line}" for line in self.untranslated)


def _import(ws: Workspace, request: ImportRequest, _access: Access) -> ImportedRules:
    from kl_hooks.arch.importers import import_config

    if request.force and not request.write:
        raise UsageProblem("--force goes with --write.", place="kl arch import")
    config = import_config(ws, request.path or None)
    text = config.manifest_text()
    if request.write:
        _write_manifest(ws, text, is_forced=request.force)
    return ImportedRules(
        FilePath(config.origin),
        tuple(layer.name for layer in config.layers),
        tuple(contract.name for contract in config.contracts),
        config.left,
        text,
        request.write,
    )


def _write_manifest(ws: Workspace, text: str, *, is_forced: bool) -> None:
    from kl_hooks.store.files import write_atomic
    from kl_hooks.workspace import refuse_linked_folder

    refuse_linked_folder(ws.root)
    target = ws.root / MANIFEST
    # exists() follows links, and is False for one that leads nowhere
    if (target.exists() or target.is_symlink()) and not is_forced:
        raise UsageProblem(
            "is there already.", place=MANIFEST, hint="Print it without --write, or add --force."
        )
    if target.is_symlink() or target.is_dir():
        raise UsageProblem("is not a file.", place=MANIFEST, hint="Move it away.")
    target.parent.mkdir(exist_ok=True)
    write_atomic(target, text.encode(), within=ws.root)


def _imported_to_dict(rules: ImportedRules) -> dict[str, Any]:
    return {
        "origin": rules.origin,
        "layers": list(rules.layers),
        "contracts": list(rules.contracts),
        "not_translated": list(rules.untranslated),
        "text": rules.text,
        "wrote": rules.is_written,
    }


IMPORT: Final = _operation(
    "import",
    """Convert the configuration of import-linter or tach into a manifest (FILE, or the first one).

    Rules stay as strict as they were: what our layers can't express in full stays a contract that
    import-linter runs. What can't be translated is listed, a line each.
    """,
    ImportRequest,
    _import,
    _imported_to_dict,
    example="import --write",
)
