"""Operations that read records from files and write them as files: import, export, add a
document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.config.settings import POLICY_FILE
from kl_hooks.errors import UsageProblem
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.parameter import InputFile, Parameter
from kl_hooks.model.problem import Problems
from kl_hooks.model.text import counted
from kl_hooks.operations.file_access import require_shown_files
from kl_hooks.operations.knowledge import require_kinds
from kl_hooks.operations.operation import Operation
from kl_hooks.operations.parts import Kinds
from kl_hooks.operations.records import now
from kl_hooks.operations.seeding import Seeding, seeding, seeding_to_dict
from kl_hooks.operations.written import Written
from kl_hooks.records.query import RecordFilter, get_record, get_records, list_records, record_now
from kl_hooks.store.files import read_small
from kl_hooks.workspace import require_initialized

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.kinds.decision.importer import ImportResult
    from kl_hooks.model.record import Record
    from kl_hooks.records.seeding import Seed, Step
    from kl_hooks.workspace import Workspace

_MOST_BYTES: Final = 16 * 1024 * 1024
"""Of a file that is imported."""
_MOST_DOCUMENTS: Final = 1000


def exportable(access: Access, records: Sequence[Record]) -> tuple[list[Record], list[str]]:
    """Return the records that an export may have, and what it omits: of one of which only a part
    may be shown, nothing is read back as it was.
    """
    shown = access.shown(records)
    omitted = len(access.without_denied(records)) - len(shown)
    notes = [f"{counted(omitted, 'record')} omitted: hidden from you by {POLICY_FILE}."]
    return shown, notes if omitted else []


class ExportRequest(NamedTuple):
    """Which records, in which form."""

    ids: Annotated[tuple[str, ...], Parameter("Their IDs.", argument="[ID]...")] = ()
    kind: Annotated[
        str, Parameter("All records of this kind, ended and archived ones too.", metavar="KIND")
    ] = ""
    form: Annotated[
        str, Parameter("Form.", name="format", choices=("json", "yaml"), is_default_shown=True)
    ] = "json"


class ExportedRecords(NamedTuple):
    """Records, whole."""

    records: tuple[Record, ...]
    kinds: Kinds
    now: str
    notes: tuple[str, ...]


def _export(ws: Workspace, request: ExportRequest, access: Access) -> ExportedRecords:
    from kl_hooks.records.liveness import quarantines

    kinds = (request.kind,) if request.kind else ()
    require_kinds(ws, kinds)
    if not request.ids and not kinds:
        raise UsageProblem(
            "no records selected: give IDs, or --kind.",
            place="kl knowledge export",
            hint="See: kl knowledge list",
        )
    named = [access.record(get_record(ws, name, request.kind)) for name in request.ids]
    selected = named or list_records(ws, RecordFilter(kinds, archived=True, expired=True))
    records, notes = exportable(access, selected)
    if access.is_agent and (quarantined := quarantines(ws, records)):
        records = [record for record in records if request.ids or record.id not in quarantined]
        what = f"{counted(len(quarantined), 'quarantined record')}, which no person has read"
        notes.append(f"{'exported' if request.ids else 'omitted'}: {what}")
    return ExportedRecords(tuple(records), Kinds(ws.kinds), now(ws), tuple(notes))


def exported_to_dict(exported: ExportedRecords) -> dict[str, Any]:
    """Return the records of an export as JSON."""
    kinds = exported.kinds.by_name
    rows = [record_now(kinds[record.kind], record, exported.now) for record in exported.records]
    return {"records": rows, "total": len(rows)}


EXPORT: Final = Operation(
    "knowledge export",
    """Write records as JSON or YAML, an object or a list of them. `kl knowledge import` takes them
    back.

    Three kinds have an import of their own: kl decision import, kl memory import, kl finding
    import.
    """,
    ExportRequest,
    _export,
    exported_to_dict,
    "kl.knowledge.export/1",
    "kl knowledge export --kind objective --format yaml -o objectives.yaml",
    is_tool=False,
    progress="Reading records and pages",
)


class ImportRequest(NamedTuple):
    """Which files, and what they hold."""

    files: Annotated[tuple[InputFile, ...], Parameter("Files of JSON or YAML.", argument="FILE...")]
    kind: Annotated[str, Parameter("The kind of the records, such as objective.", is_option=True)]


class ImportedRecords(NamedTuple):
    """What an import made."""

    records: tuple[Written, ...]
    existing: tuple[str, ...]
    """IDs of records that were there already."""


def _import(ws: Workspace, request: ImportRequest, _access: Access) -> ImportedRecords:
    from kl_hooks.records.interchange import parse_records, plan_import
    from kl_hooks.records.permissions import sign_record
    from kl_hooks.records.write import create_records

    require_initialized(ws)
    require_kinds(ws, (request.kind,))
    kind = ws.kinds[request.kind]
    parsed = []
    problems = []
    for name in request.files:
        records, mistakes = parse_records(kind, name, _content(Path(name)))
        parsed += records
        problems += mistakes
    if problems:
        raise Problems(problems)
    plan = plan_import(ws, kind, parsed, partial(sign_record, ws))
    values = [record.raw for record in plan.new]
    ids = [record.id for record in plan.new]
    bodies = [record.body for record in plan.new]
    if values:
        made = create_records(ws, kind, values, asked=ids, bodies=bodies, by=plan.by)
    else:
        made = []
    moment = now(ws)
    return ImportedRecords(tuple(Written(record, moment) for record in made), plan.existing)


def _content(path: Path) -> bytes:
    data = read_small(path, most=_MOST_BYTES)
    if data is None:
        raise UsageProblem("is not there.", place=str(path), hint="Give a file of JSON or YAML.")
    return data


def _imported_to_dict(imported: ImportedRecords) -> dict[str, Any]:
    made = [written.record.id for written in imported.records]
    return {"made": made, "there_already": list(imported.existing)}


IMPORT: Final = Operation(
    "knowledge import",
    """Import records from JSON or YAML FILES, one or a list in each. Fields are read by every name
    that a kind has for them.

    An ID stays where it fits and is free; an existing one is skipped. What matches no field goes
    into the body. If anything is wrong in one of the files, nothing is imported.

    Three kinds have an import of their own: kl decision import, kl memory import, kl finding
    import.
    """,
    ImportRequest,
    _import,
    _imported_to_dict,
    "kl.knowledge.import/1",
    "kl knowledge import --kind objective .fuseraft/knowledge/objectives/*.yaml",
    is_tool=False,
    progress="Importing records",
)

PASSAGES: Final = "full-doc"
"""The type of a document that is no records but passages."""
_DECISION: Final = "adr"


class AddRequest(NamedTuple):
    """Which documents, and how they are read."""

    place: Annotated[InputFile, Parameter("A file or a folder.", argument="PATH")]
    document_type: Annotated[
        str,
        Parameter(
            "What it is; else derived from its name and content.",
            name="type",
            choices=(_DECISION, "feature-spec", "project-overview", "project-doc", PASSAGES),
        ),
    ] = ""
    pattern: Annotated[str, Parameter("Of a folder: these files.", is_default_shown=True)] = (
        "**/*.md"
    )
    is_forced: Annotated[
        bool, Parameter("Write over what was edited or deleted by hand, too.", name="force")
    ] = False
    is_dry_run: Annotated[
        bool, Parameter("Show what would be done; write nothing.", name="dry_run")
    ] = False


_TYPE_OF_KIND: Final = {
    "fact": "project-overview",
    "rule": "project-doc",
    "guide": "project-doc",
    "feature": "feature-spec",
}
"""Kind of a record → the type of the document that it was made of, the surest first."""


def _add(ws: Workspace, request: AddRequest, access: Access) -> Seeding:
    from kl_hooks.kinds.seeds import seeds_of_file, type_of_file
    from kl_hooks.records.seeding import plan_seeding, seed_records

    files = documents_at(Path(request.place), request.pattern)
    require_shown_files(ws, access, files)
    names = {file: _name_from_root(ws, file) for file in files}
    former = _types_of_seeded(ws)
    types = {
        file: request.document_type
        or type_of_file(names[file], file)
        or former.get(names[file], "")
        for file in files
    }
    seeds: dict[str, Seed] = {}
    notes: list[str] = []
    for file in (file for file in files if types[file] != _DECISION):
        of_file, remark = seeds_of_file(ws.root, names[file], file, types[file])
        if remark:
            notes += [remark]
        for seed in of_file:
            seeds.setdefault(seed.key, seed)  # of seeds with one key the first counts
    plan: Callable[..., list[Step]] = plan_seeding
    if not request.is_dry_run:
        plan = partial(seed_records, scope=f"add:{request.place}")
    steps = plan(ws, [*seeds.values()], force=request.is_forced, paths=set(names.values()))
    decisions = [file for file in files if types[file] == _DECISION]
    steps += _decision_steps(ws, decisions, request, notes)
    return seeding(ws, "documents", steps, notes, is_dry_run=request.is_dry_run)


def _types_of_seeded(ws: Workspace) -> dict[str, str]:
    """Return document → the type that it was added with, by the records that were made of it."""
    types: dict[str, str] = {}
    for kind, document_type in _TYPE_OF_KIND.items():
        for record in list_records(ws, RecordFilter((kind,))):
            if path := record.text("source_path"):
                types.setdefault(path, document_type)
    return types


def _decision_steps(
    ws: Workspace, files: list[Path], request: AddRequest, notes: list[str]
) -> list[Step]:
    """Import the decisions in these files; return that as steps."""
    from kl_hooks.kinds.decision.importer import import_decisions
    from kl_hooks.model.actors import agent
    from kl_hooks.records.sync import sync

    if not files:
        return []
    author = agent(ws.environ) or ""
    imported = import_decisions(ws, files, dry_run=request.is_dry_run, agent=author)
    notes += imported.remarks
    sync(ws)
    ids = [identifier for identifier, *_ in (*imported.made, *imported.existing)]
    records = {record.id: record for record in get_records(ws, ids)}
    return list(_steps_of_import(imported, records))


def _steps_of_import(imported: ImportResult, records: Mapping[str, Record]) -> Iterator[Step]:
    from kl_hooks.records.seeding import Seed, Step

    for identifier, title, path in imported.made:
        seed = Seed("decision", identifier, {"title": title}, path, "")
        yield Step("created", seed, "", records.get(identifier))
    for identifier, path in imported.existing:
        if record := records.get(identifier):
            seed = Seed("decision", identifier, {"title": record.title}, path, "")
            yield Step("skipped", seed, "is here already", record)


def documents_at(path: Path, pattern: str) -> list[Path]:
    """Return a file, or the files of a folder that a pattern names. UsageProblem for too many."""
    if not path.is_dir():
        return [path]
    if ".." in Path(pattern).parts or Path(pattern).is_absolute():
        raise UsageProblem(
            "must stay inside the folder.", place="--pattern", hint="Such as **/*.md"
        )
    # bounded: else `**/*` above an installed environment is walked to its end, only to be refused
    files = [
        file
        for file in islice(path.glob(pattern), _MOST_DOCUMENTS * 20)
        if file.is_file() and not file.is_symlink()
    ]
    if len(files) > _MOST_DOCUMENTS:
        raise UsageProblem(
            f"{len(files)} documents; at most {_MOST_DOCUMENTS} are read.",
            place=str(path),
            hint="Narrow --pattern.",
        )
    return sorted(files)


def _name_from_root(ws: Workspace, file: Path) -> str:
    """The path from the root, or the name alone of a file outside."""
    target = file.resolve()
    is_inside = target.is_relative_to(ws.root)
    if is_inside:
        return target.relative_to(ws.root).as_posix()
    return file.name


ADD: Final = Operation(
    "knowledge add",
    """Make records of the document at PATH, or of every document in a folder.

    adr: a decision, as `kl decision import` reads it. feature-spec: a feature. project-overview:
    facts and guides, as of a README. project-doc: rules and guides, as of AGENTS.md. full-doc: its
    passages, as by `kl document add`. Without --type, the ID in the front matter, the name, the
    title or the sections of a file decide. A second import changes only what changed.
    """,
    AddRequest,
    _add,
    seeding_to_dict,
    "kl.seed/1",
    "kl knowledge add docs/features --type feature-spec",
    is_tool=False,
    progress="Importing records",
)

OPERATIONS: Final = (EXPORT, IMPORT, ADD)
