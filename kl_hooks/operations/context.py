"""Operations of context packages: build one, show and explain one, what binds all work, what a
policy decided, how well code is found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from kl_hooks.context.critical import CriticalRequest
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.model.actors import trace_id
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.package import Candidate, Omission
from kl_hooks.model.parameter import Parameter, RequestField, fields_of
from kl_hooks.model.request import Request
from kl_hooks.model.text import CHARACTERS_OF_A_TOKEN, counted, one_line, suggest_spelling
from kl_hooks.operations.operation import Operation

if TYPE_CHECKING:
    from kl_hooks.context.access import Access
    from kl_hooks.context.critical import FilledSection
    from kl_hooks.context.replay import Replayed
    from kl_hooks.context.replay_briefs import Brief
    from kl_hooks.git.repository import Repository
    from kl_hooks.workspace import Workspace


_OWN_ARGUMENTS: Final = ("budget", "queries", "changed")
"""Options of a package that are arguments of the tool; the others are in its `options`."""
_NAMED_OPTIONS: Final = 10
"""Of these in the listing, which has a limit; the others in the page about tools."""
_PARTS: Final = ("omitted", "budget", "searches", "quota", "coverage")
"""What an answer has beside the text and its ID, as far as the budget has space, in this order."""


def _package_options() -> dict[str, RequestField]:
    """Option of `kl context` that `options` of the tool takes → the field of a request."""
    return {
        field.public_name.replace("_", "-"): field
        for field in fields_of(Request)
        if field.name not in _OWN_ARGUMENTS
    }


class PackageRequest(NamedTuple):
    """What a package is asked for."""

    task: Annotated[str, Parameter("In plain words.")] = ""
    budget: Annotated[str, Parameter("6000, or 1500tok")] = ""
    queries: Annotated[tuple[str, ...], Parameter("More.")] = ()
    changed: Annotated[str, Parameter("A...B")] = ""
    options: Annotated[
        dict[str, str],
        Parameter(f"{', '.join([*_package_options()][:_NAMED_OPTIONS])} …"),
    ] = {}  # noqa: RUF012 - the default of a NamedTuple, which nobody changes
    chosen: Mapping[str, Any] = {}
    """Options of a command or a program, by the names of `Request`, which take precedence."""
    style: str = "text"
    """One of `STYLE_NAMES`."""
    trace_id: str = ""
    omit: tuple[str, ...] = ()
    """IDs of what the reader has already."""
    now: str = ""
    """The time of the answer, in ISO 8601; empty: the present."""
    author: str = ""
    """As events name it; empty: whoever runs this."""


class Package(NamedTuple):
    """A package, made under the policy of whoever asks."""

    text: str
    document: Mapping[str, Any]
    """`kl.package/4`."""
    omissions: tuple[Omission, ...] = ()
    """What is not in it, which the document only counts."""
    remark: str = ""
    """What is to be known of it, such as that it was made again."""

    @property
    def notes(self) -> tuple[str, ...]:
        """The remark, and what could not be asked."""
        failures = (
            f"{name} {outcome.rstrip('.')}. The package goes on without it."
            for name, outcome in self.document["coverage"].items()
            if outcome.startswith("failed")
        )
        return (*filter(None, (self.remark,)), *failures)


def _build(ws: Workspace, request: PackageRequest, _access: Access) -> Package:
    from kl_hooks.context.deliver import deliver, make_request

    options = {name: getattr(request, name) for name in _OWN_ARGUMENTS}
    options |= {**_read_options(request.options), **request.chosen}
    for package_id in options.get("have") or ():
        _require_package_id(package_id, "--have")
    trace = request.trace_id or trace_id(ws.environ)
    asked = make_request(request.task, request.style, trace, options)
    delivered = deliver(_at(ws, request.now), asked, request.omit, actor=request.author)
    return Package(delivered.text, delivered.document, delivered.omissions, delivered.remark)


def _at(ws: Workspace, now: str) -> Workspace:
    """The workspace at a time. UsageProblem for what is none."""
    from kl_hooks.clock import FixedClock, micros

    try:
        if not now:
            return ws
        return replace(ws, clock=FixedClock(micros(now)))
    except ValueError:
        raise UsageProblem(
            f"{now!r} is not a time.", place="--now", hint="Try: 2027-01-31T12:00:00Z"
        ) from None


def is_package_id(word: str) -> bool:
    """Whether a word is the ID of a package, or the beginning of one."""
    return re.fullmatch(r"cp-[0-9a-f]{1,12}", word) is not None


def _require_package_id(word: str, place: str) -> None:
    if not is_package_id(word):
        raise UsageProblem(f"{word!r} is not a package.", place=place, hint="Try: cp-3f9a1c20b7de")


def _read_options(texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a request that `options` holds. UsageProblem for what `kl context` would
    refuse.
    """
    fields = _package_options()
    values: dict[str, Any] = {}
    for name, text in texts.items():
        if name not in fields:
            raise UsageProblem(
                f'"{one_line(name, 60)}" is no option.',
                place="options",
                hint=suggest_spelling(name, fields) or "See: kl context --help",
            )
        values[fields[name].name] = fields[name].read(text)
    return values


def _package_to_dict(package: Package) -> dict[str, Any]:
    """The text, its ID, and what else is within the budget."""
    document = package.document
    budget = document["budget"]
    if budget["unit"] == "tokens":
        unit = CHARACTERS_OF_A_TOKEN
    else:
        unit = 1
    answer: dict[str, Any] = {"text": package.text, "package_id": document["package_id"]}
    for name in _PARTS:
        longer = {**answer, name: document[name]}
        if document[name] and len(json.dumps(longer)) <= budget["total"] * unit:
            answer = longer
    return answer


PACKAGE: Final = Operation(
    "context TASK",
    "A small, ranked, cited context package for a task.",
    PackageRequest,
    _build,
    _package_to_dict,
    "kl.context.text/2",
    'kl context "make names unique"',
    tool="context",
)


_PACKAGE_ID: Final = Parameter("Its ID, or the beginning of it.", argument="PACKAGE")


class ShowRequest(NamedTuple):
    """Which package."""

    id: Annotated[str, _PACKAGE_ID]
    author: str = ""
    """As events name it; empty: whoever runs this."""


def _show(ws: Workspace, request: ShowRequest, _access: Access) -> Package:
    return _found(ws, request.id, request.author)


def _found(ws: Workspace, package_id: str, author: str = "") -> Package:
    from kl_hooks.context.deliver import find_package

    delivered = find_package(ws, package_id, author)
    return Package(delivered.text, delivered.document, delivered.omissions, delivered.remark)


def _shown_to_dict(package: Package) -> dict[str, Any]:
    return {"text": package.text, "package": dict(package.document), "remark": package.remark}


SHOW: Final = Operation(
    "context show",
    """A package made here, by its id or the beginning of it; after half an hour built again from
    its request.
    """,
    ShowRequest,
    _show,
    _shown_to_dict,
    "kl.context.shown/2",
    "kl context show cp-3f9a1c20b7de --format json",
    is_tool=False,
)


class WhyRequest(NamedTuple):
    """Which item of which package."""

    item: Annotated[str, Parameter("The ID, name or place of an item.", argument="[ID]")]
    """Or the package: then all that was omitted from it is asked for."""
    package: Annotated[str, _PACKAGE_ID] = ""


class Explanation(NamedTuple):
    """Why an item is, or is not, in a package."""

    lines: tuple[str, ...]
    omissions: tuple[Omission, ...]
    """Without an item: all that was omitted."""
    notes: tuple[str, ...]


def _why(ws: Workspace, request: WhyRequest, _access: Access) -> Explanation:
    from kl_hooks.context.deliver import explain_omissions, explain_one

    package = _found(ws, request.package or request.item)
    if request.package:
        lines = explain_one(package.document, package.omissions, request.item)
        return Explanation(tuple(lines), (), package.notes)
    lines = explain_omissions(package.document["package_id"], package.omissions)
    return Explanation(tuple(lines), package.omissions, package.notes)


def _why_to_dict(explanation: Explanation) -> dict[str, Any]:
    omitted = [{"id": omission.id, "reason": omission.reason} for omission in explanation.omissions]
    return {"lines": list(explanation.lines), "omitted": omitted}


WHY: Final = Operation(
    "context why",
    """Why one item is, or is not, in a package: its score and reasons, or why it was omitted.

    With a package alone: all that was omitted from it, and why.
    """,
    WhyRequest,
    _why,
    _why_to_dict,
    "kl.context.why/2",
    "kl context why function:shop.price.total cp-3f9a1c20b7de",
    is_tool=False,
)


class AuditRequest(NamedTuple):
    """Of which package."""

    package: Annotated[
        str,
        Parameter("Only this package, by its id or the beginning of it.", metavar="PACKAGE"),
    ] = ""


class Audit(NamedTuple):
    """What the policy decided, the newest first."""

    decisions: tuple[Mapping[str, Any], ...]
    """Events of the package log; of an agent without items."""


def _audit(ws: Workspace, request: AuditRequest, _access: Access) -> Audit:
    from kl_hooks.context.policy import audit

    if request.package:
        _require_package_id(request.package, "--package")
    return Audit(tuple(audit(ws, request.package)))


AUDIT: Final = Operation(
    "context audit",
    """What `.kl/policy.yaml` decided about each package made here, and each answer to an agent, the
    newest first.

    For whom, which rules, how many items each, and which ones were denied or redacted; agents get
    no items.
    """,
    AuditRequest,
    _audit,
    lambda log: {"decisions": list(log.decisions)},
    "kl.context.audit/1",
    "kl context audit --package cp-3f9a1c20b7de --format json",
    is_tool=False,
)


class CriticalContext(NamedTuple):
    """What binds every piece of work, section by section."""

    sections: tuple[FilledSection, ...]
    limit: int

    @property
    def is_empty(self) -> bool:
        """Whether nothing binds work here yet."""
        return not any(part.items for part in self.sections)


def _critical(ws: Workspace, request: CriticalRequest, access: Access) -> CriticalContext:
    from kl_hooks.context.critical import critical
    from kl_hooks.records.query import RecordFilter, list_records

    if request.feature:
        features = list_records(ws, RecordFilter(("feature",)))
    else:
        features = []
    shown = {record.id.upper() for record in features if access.shows(record)}
    if request.feature and request.feature.upper() not in shown:
        hint = "See: kl feature list"
        raise UsageProblem(
            "there is no feature of this ID.", place=one_line(request.feature, 80), hint=hint
        )
    return CriticalContext(tuple(critical(ws, request)), request.limit)


def _critical_to_dict(context: CriticalContext) -> dict[str, Any]:
    sections = {
        part.section.name: [_candidate_to_dict(item) for item in part.items]
        for part in context.sections
    }
    omitted = {part.section.name: part.omitted for part in context.sections if part.omitted}
    return {**sections, "omitted": omitted}


def _candidate_to_dict(candidate: Candidate) -> dict[str, Any]:
    texts = ("id", "kind", "title", "text", "summary", "path", "authority")
    if candidate.tier is not None:
        tier = candidate.tier.word
    else:
        tier = None
    return {name: getattr(candidate, name) for name in texts} | {"tier": tier}


CRITICAL: Final = Operation(
    "context critical",
    """Show what binds every piece of work here: decisions, known failures, gates, what this system
    is.
    """,
    CriticalRequest,
    _critical,
    _critical_to_dict,
    "kl.critical/1",
    "kl context critical --command feature-build --feature FEAT-AUTH-12",
    is_tool=False,
)


class ReplayRequest(NamedTuple):
    """Which past commits are replayed."""

    last: Annotated[
        int,
        Parameter("Newest commits to choose from.", bounds=(1, 100_000), is_default_shown=True),
    ] = 500
    tasks: Annotated[
        int,
        Parameter(
            "Most tasks of a repository, drawn at random.",
            bounds=(1, 100_000),
            is_default_shown=True,
        ),
    ] = 30
    seed: Annotated[
        int, Parameter("The seed of the random draw and of the intervals.", is_default_shown=True)
    ] = 0
    repositories: Annotated[
        tuple[str, ...],
        Parameter(
            "A clone to replay instead of this repository; may be given several times.",
            name="repo",
            metavar="DIRECTORY",
        ),
    ] = ()
    briefs: Annotated[
        bool,
        Parameter(
            "Also build what a prompt brings: how many of the files that it names were changed, and"
            " whether it names the test file. Takes seconds a task."
        ),
    ] = False
    progress: Callable[[str], AbstractContextManager[Any]] = nullcontext
    """Shows that work is going on."""


class Replay(NamedTuple):
    """How well code is found for tasks whose answer is known."""

    report: Mapping[str, Any]
    lines: tuple[str, ...]
    """The report for people."""
    notes: tuple[str, ...]


def _replay(ws: Workspace, request: ReplayRequest, _access: Access) -> Replay:
    from kl_hooks.context import replay
    from kl_hooks.context.replay import report_lines, report_to_dict
    from kl_hooks.context.replay_briefs import brief_figures, brief_lines, replay_briefs

    notes: list[str] = []
    replays: list[Replayed] = []
    briefs: dict[int, list[Brief]] = {}
    for name, repo in _repositories(ws, request.repositories):
        tasks = replay.find_tasks(repo, request.last, request.tasks, request.seed)
        if not tasks:
            notes.append(
                f"{name}: no commit here is a task: one that changes existing source and has a"
                " message of some words."
            )
        history = replay.Replay(repo, name)
        with request.progress(f"Replaying {counted(len(tasks), 'commit')} of {name}"):
            for task in tasks:
                replays.append(history.replay(task))
                if request.briefs:
                    for budget, brief in replay_briefs(ws, repo, replays[-1]).items():
                        briefs.setdefault(budget, []).append(brief)
    figures = {budget: brief_figures(of_budget) for budget, of_budget in briefs.items()}
    lines = (*report_lines(replays, request.seed), *(brief_lines(figures) if figures else ()))
    return Replay(report_to_dict(replays, request.seed, figures), lines, tuple(notes))


def _repositories(ws: Workspace, folders: tuple[str, ...]) -> list[tuple[str, Repository]]:
    """Name and repository of each folder; this repository where none is named."""
    from kl_hooks.git.repository import find_repository

    if not folders:
        if ws.repo is None:
            raise EnvironmentProblem(
                "a replay needs a git repository.", hint="Name one: --repo PATH"
            )
        return [(ws.repo.top.name, ws.repo)]
    repositories = []
    for folder in folders:
        path = Path(folder).resolve()
        if path.is_dir():
            repo = find_repository(path)
        else:
            repo = None
        if repo is None:
            raise UsageProblem(f"{path.name!r} is in no git repository.", place="--repo")
        repositories.append((path.name, repo))
    return repositories


REPLAY: Final = Operation(
    "context replay",
    """Grade the ranking of code on past commits.

    Each task is the message of a commit without paths, file names and IDs; the answer is what the
    commit changed. Only the content and history of its parent are seen. Printed beside grep, BM25
    over files and over symbols, past commits, and the fusion (RRF) of the last three: recall of
    files among the first 1, 5 and 10, the mean reciprocal rank, and which files and symbols are in
    the delivered text. Writes nothing.
    """,
    ReplayRequest,
    _replay,
    lambda replay: dict(replay.report),
    "kl.replay/3",
    "kl context replay --last 500 --tasks 30 --repo ../flask --repo ../click",
    is_tool=False,
)

OPERATIONS: Final = (PACKAGE, SHOW)
