"""`kl knowledge`: records of every kind, claims and pages, and their upkeep."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from kl_hooks.cli.groups import LazyGroup
from kl_hooks.cli.kind_commands import command_of, decide_changes, sign_record
from kl_hooks.cli.output import (
    broken_kinds_are_shown,
    command_access,
    confirm,
    counted,
    echo,
    echo_lines,
    format_option,
    initialized_workspace,
    path_from_root,
    print_answer,
    print_rows,
    warn,
    workspace,
    write,
    write_file,
)
from kl_hooks.cli.record_output import (
    exported,
    print_record,
    print_record_list,
    print_steps,
    record_line,
    record_rows,
    waiting_lines,
)
from kl_hooks.cli.request_options import operation_command
from kl_hooks.errors import CLEAN, ENVIRONMENT_ERROR, FINDINGS, UsageProblem
from kl_hooks.model.claim import tier_words
from kl_hooks.model.kind import Kind
from kl_hooks.model.problem import Problems
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.operations import knowledge as operations
from kl_hooks.operations import knowledge_upkeep as upkeep
from kl_hooks.operations import pages
from kl_hooks.records.pages import PAGE_KIND
from kl_hooks.records.query import (
    RecordFilter,
    get_record,
    get_records,
    list_records,
)
from kl_hooks.records.write import apply_verb
from kl_hooks.store.files import read_small
from kl_hooks.workspace import Workspace

if TYPE_CHECKING:
    from kl_hooks.model.kind import Verb
    from kl_hooks.model.record import Record
    from kl_hooks.records.pages import PageLine
    from kl_hooks.records.seeding import Seed, Step


_COMMANDS = {
    "check": "Whether what is written is valid, and links lead somewhere.",
    "verify": "Whether authored files are as they were when a person sealed them.",
    "links": "Where a page leads.",
    "backlinks": "What leads to a page.",
    "mentions": "Who speaks of a page without a link.",
    "related": "Pages similar to a page.",
    "status": "How much is known, and what waits for a person.",
    "stats": "How much is known, by kind, status, topic and use.",
    "registry": "Skills, agents, pools, contexts, collections and kinds, as they are now.",
    "list": "Records of every kind.",
    "show": "One record of any kind, by its id.",
    "search": "Find records, claims and pages; with options of kl search code, too.",
    "proposals": "List what agents proposed and nobody has decided about.",
    "accept": "Accept what an agent proposed.",
    "reject": "Reject what an agent proposed.",
    "add": "Import a document: a feature's specification, an overview.",
    "import": "Import records of any kind from JSON or YAML.",
    "export": "Write records of any kind as JSON or YAML.",
    "clear": "Take away what seeding made.",
    "health": "Unhealthy records: broken, stale, contradicted; can fail CI.",
    "gc": "What upkeep would change; with --apply, change it.",
}
"""Command → its line in the help."""


_PLACES = dict.fromkeys(_COMMANDS, "knowledge") | {"registry": "registry"}


_FORMER = ("search", "status")
"""`kl search` finds what the one does; `kl status` and `kl knowledge stats` have what the other does."""


@click.group(
    cls=LazyGroup, module="kl_hooks.cli.{}", lines=_COMMANDS, places=_PLACES, former=_FORMER
)
def knowledge() -> None:
    """Everything that is known, across kinds, and its upkeep."""


@operation_command(operations.LIST)
def list_(listed: operations.KnowledgeList, request: operations.ListRequest) -> None:
    record_list = listed.found
    is_narrowed = request._replace(limit=0, everything=False) != operations.ListRequest(limit=0)
    begin = "nothing is known yet. Begin with: kl seed, or kl decision new --edit"
    none = "nothing of that is known." if is_narrowed else begin
    print_record_list(record_list, none, of_kind=True)


@click.command(epilog="Example: kl knowledge show FEAT-AUTH-12")
@click.argument("id")
@format_option()
def show(id: str, shape: str) -> None:
    """Show one record of any kind, or a claim (`claim:…`), by its ID."""
    ws, ctx = workspace(), click.get_current_context()
    if id.lower().startswith("claim:"):
        group = cast(
            click.Group, cast(click.Group, ctx.find_root().command).get_command(ctx, "claim")
        )
        ctx.invoke(group.commands["show"], id=id, shape=shape)
        return
    kind = ws.kinds[get_record(ws, id).kind]
    ctx.invoke(command_of(kind, "show"), id=id, shape=shape)


_OF_SEARCH = (
    "mode",
    "collections",
    "fusion",
    "rerank",
    "freshness",
    "rounds",
    "hops",
    "budget",
    "explain",
)


class _SearchCommand(click.Command):
    """With the options of `kl search`, which are imported when this command is called and no
    other.
    """

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        from kl_hooks.cli.search import search as whole

        return [*super().get_params(ctx), *(one for one in whole.params if one.name in _OF_SEARCH)]


@operation_command(operations.SEARCH)
def _search_records(matches: operations.Matches, request: operations.SearchRequest) -> None:
    rows = _match_lines(matches)
    total = matches.total + matches.claims_total
    print_rows(rows, total, f"no matches for: {one_line(request.query)}")


def _match_lines(matches: operations.Matches) -> Iterator[str]:
    records = [hit for hit in matches.hits.shown if isinstance(hit, Record)]
    rows = record_rows(workspace(), records, of_kind=True)
    lines = dict(zip((record.id for record in records), rows, strict=True))
    width = max((len(record.kind) for record in records), default=0)
    for hit in matches.hits.shown:
        if isinstance(hit, Record):
            yield lines[hit.id]
        else:
            place, title = f"{hit.hit.path}:{hit.hit.line}", one_line(hit.hit.title, 120)
            yield f"{PAGE_KIND:<{width}}  {place}  {title}"
    for claim in matches.claims.shown:
        tier = tier_words(claim.tier.word, claim.freshness)[0]
        yield f"claim  {claim.id}  {tier}  {one_line(claim.text, 120)}"


@click.command(
    cls=_SearchCommand,
    params=_search_records.params,
    help=_search_records.help,
    epilog=_search_records.epilog,
)
@click.pass_context
def search(ctx: click.Context, /, **values: Any) -> Any:
    default = click.core.ParameterSource.DEFAULT
    options = {name: value for name, value in values.items() if name in _OF_SEARCH}
    if all(ctx.get_parameter_source(name) is default for name in options):
        own = {name: value for name, value in values.items() if name not in options}
        return ctx.invoke(_search_records, **own)
    if values.pop("topic") or values.pop("everything"):
        raise click.UsageError(
            "--topic and --all select records; `kl search` and its options have neither."
        )
    from kl_hooks.cli.search import search as whole

    limit = values.pop("limit")
    values.pop("everything", None)
    return ctx.invoke(whole, **values, top_k=limit)


@operation_command(upkeep.STATUS)
def status(status_counts: upkeep.StatusCounts, _request: upkeep.WholeRequest) -> None:
    for kind, counts in status_counts.counts.items():
        echo(f"{kind:<10} {sum(counts.values()):>5}   {_numbers(dict(sorted(counts.items())))}")
    for line in waiting_lines(workspace(), status_counts.waiting):
        echo(f"waiting for a person: {line}")
    if not status_counts.counts:
        echo('nothing is known yet. Begin with: kl decision new --edit, or kl memory add "…"')


@operation_command(upkeep.STATS)
def stats(statistics: upkeep.KnowledgeStats, _request: upkeep.WholeRequest) -> None:
    for name, counts in statistics.kinds.items():
        states = filter(None, map(_numbers, (counts.statuses, counts.authorities)))
        echo(f"{name:<10} {counts.records:>5}   {'; '.join(states)}")
        places = {
            "files": counts.files,
            "archived": counts.archived,
            "expired": counts.expired,
            "seeded": counts.seeded,
        }
        parts = ({place: number for place, number in places.items() if number}, counts.topics)
        echo_lines(f"{'':<18} {_numbers(part)}" for part in parts if part)
    echo(f"{counted(statistics.records, 'record')}; {_numbers(statistics.uses)}.")


def _numbers(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in counts.items())


@operation_command(pages.LINKS)
def links(leads: pages.PageLinks, _request: pages.PageRequest) -> None:
    rows = []
    for link in leads.links:
        where = f"{link.node}  {link.title}".rstrip() if link.node else "leads nowhere"
        if link.several:
            where = f"may mean {', '.join(link.several)}"
        target = f"[[{link.target}]]" if link.how == "wikilink" else f"({link.target})"
        rows.append(f"{leads.page.path}:{link.line}  {target}  {where}")
    print_rows(rows, len(rows), "it links to nothing.")


@operation_command(pages.BACKLINKS)
def backlinks(page_lines: pages.PageLines, _request: pages.LinesRequest) -> None:
    _print_page_lines(page_lines, "nothing links to it.")


@operation_command(pages.MENTIONS)
def mentions(page_lines: pages.PageLines, _request: pages.LinesRequest) -> None:
    _print_page_lines(page_lines, "nobody speaks of it without a link.")


@operation_command(pages.RELATED)
def related(page_lines: pages.PageLines, request: pages.RelatedRequest) -> None:
    _print_page_lines(page_lines, f"no page is at least {request.least} % similar.")


def _print_page_lines(page_lines: pages.PageLines, none: str) -> None:
    rows = [_page_line(line) for line in page_lines.lines.shown]
    print_rows(rows, page_lines.lines.total, none)


def _page_line(line: PageLine) -> str:
    percent = f"{line.percent:>3} %  " if line.percent else ""
    text = f"  {one_line(line.text, 100)}" if line.text else ""
    return f"{percent}{line.page.path}:{line.line}  {one_line(line.page.title, 80)}{text}"


def _from_root(request: upkeep.CheckRequest) -> upkeep.CheckRequest:
    broken_kinds_are_shown()
    files = (path_from_root(workspace().root, file) for file in request.files)
    return request._replace(files=tuple(files))


@operation_command(upkeep.CHECK, _from_root, exit_code=lambda checked, _request: checked.exit_code)
def check(checked: upkeep.KnowledgeCheck, _request: upkeep.CheckRequest) -> None:
    result = checked.result
    problems = [*result.unread, *result.findings]
    echo_lines(map(str, problems))
    scope = f"{counted(result.files, 'file')}, {counted(result.links, 'link')}"
    echo(f"{counted(len(problems), 'finding')} in {scope}." if problems else f"clean: {scope}.")
    for remark in result.remarks:
        warn(str(remark))


@operation_command(upkeep.PROPOSALS)
def proposals(waiting: upkeep.Proposals, _request: upkeep.WholeRequest) -> None:
    rows = [
        f"{record.id}  {record.status} {record.kind}  {one_line(record.title, 120)}"
        for record in waiting.records.shown
    ]
    rows += [f"{change.record}  {change.line()}" for change in waiting.changes]
    print_rows(rows, len(rows), "nothing waits for a person.")
    if rows:
        echo("\nhint: kl knowledge show ID, then kl knowledge accept ID or kl knowledge reject ID")


def _decide_proposal(identifier: str, word: str, shape: str) -> None:
    """Accept or reject what is proposed under an ID: a record of any kind, or changes of one. For
    people.
    """
    from kl_hooks.records.permissions import agent_author

    ws = workspace()
    record = get_record(ws, identifier)
    kind = ws.kinds[record.kind]
    if who := agent_author(ws, ""):
        hint = f"Ask a person to run: kl knowledge {word} {record.id}"
        raise UsageProblem(
            f"{word} is for people, and this is {who.removeprefix('agent:')}.",
            place=record.id,
            hint=hint,
        )
    verb = next((v for v in kind.verbs if v.person and _decides(kind, v, word)), None)
    if record.status != kind.proposal or not kind.proposal or verb is None:
        decide_changes(record, shape, accepted=word == "accept")
    elif kind.name == "memory":
        # not by the verb alone: a review also writes rejected.txt and the Event that it took place
        from kl_hooks.cli import memory

        click.get_current_context().invoke(getattr(memory, verb.name), id=record.id, shape=shape)
    else:
        print_record(ws, apply_verb(ws, record.id, verb.name, {}), shape)


def _decides(kind: Kind, verb: Verb, word: str) -> bool:
    """True for the verb that takes a proposal of this kind on, or refuses it."""
    return kind.proposal in verb.of and (verb.to in kind.live) == (word == "accept")


@click.command(epilog="Example: kl knowledge accept OBJ-0001")
@click.argument("id")
@format_option()
def accept(id: str, shape: str) -> None:
    """Accept a proposed record, or the changes that are proposed for it. For people."""
    _decide_proposal(id, "accept", shape)


@click.command(epilog="Example: kl knowledge reject OBJ-0001")
@click.argument("id")
@format_option()
def reject(id: str, shape: str) -> None:
    """Reject a proposed record, or the changes that are proposed for it. For people."""
    _decide_proposal(id, "reject", shape)


_WHOLE = "full-doc"
_DOCUMENT_TYPES = ("adr", "feature-spec", "project-overview", "project-doc", _WHOLE)
_MOST_DOCUMENTS = 1000


@click.command(epilog="Example: kl knowledge add docs/features --type feature-spec")
@click.argument("path", type=click.Path())
@click.option(
    "--type",
    "sort",
    type=click.Choice(_DOCUMENT_TYPES),
    help="What it is; else derived from its name and content.",
)
@click.option("--pattern", default="**/*.md", show_default=True, help="Of a folder: these files.")
@click.option("--force", is_flag=True, help="Write over what was edited or deleted by hand, too.")
@click.option("--dry-run", is_flag=True, help="Show what would be done; write nothing.")
@format_option()
@click.pass_context
def add(
    context: click.Context,
    path: str,
    sort: str | None,
    pattern: str,
    force: bool,
    dry_run: bool,
    shape: str,
) -> int | None:
    """Make records of the document at PATH, or of every document in a folder.

    adr: a decision, as `kl decision import` reads it. feature-spec: a feature. project-overview:
    facts and guides, as of a README. project-doc: rules and guides, as of AGENTS.md. full-doc: its
    passages, as by `kl document add`. Without --type, the ID in the front matter, the name, the
    title or the sections of a file decide. A second import changes only what changed.
    """
    if sort == _WHOLE:
        from kl_hooks.cli.document import add as add_documents

        if dry_run or force:
            raise click.UsageError(
                f"--type {_WHOLE} makes passages, no records: without --dry-run and --force."
            )
        places = tuple(str(one) for one in _documents(Path(path), pattern))
        return int(context.invoke(add_documents, places=places, shape=shape))
    from kl_hooks.kinds.seeds import type_of_file
    from kl_hooks.records.seeding import plan_seeding, seed_records

    ws = workspace()
    files = list(_documents(Path(path), pattern))
    for file in files:
        command_access().require_shown_file(_name_from_root(ws, file))
    sorts = {file: sort or type_of_file(_name_from_root(ws, file), file) for file in files}
    seeds = [
        seed for file in files if sorts[file] != "adr" for seed in _seeds(ws, file, sorts[file])
    ]
    read = {_name_from_root(ws, file) for file in files}
    # of seeds with one key the first counts: a dict stores the last value, so it is filled from the
    # end
    unique = list({seed.key: seed for seed in reversed(seeds)}.values())[::-1]
    if dry_run:
        done = plan_seeding(ws, unique, force=force, paths=read)
    else:
        done = seed_records(ws, unique, f"add:{path}", force=force, paths=read)
    decisions = [file for file in files if sorts[file] == "adr"]
    print_steps([*done, *_decisions(ws, decisions, dry_run)], "documents", dry_run, shape)
    return None


def _decisions(ws: Workspace, files: list[Path], dry_run: bool) -> list[Step]:
    """What is done with the decisions in these files, as steps."""
    from kl_hooks.evidence.provenance import agent
    from kl_hooks.kinds.decision.importer import import_decisions
    from kl_hooks.records.seeding import Seed, Step
    from kl_hooks.records.sync import sync

    if not files:
        return []
    done = import_decisions(ws, files, dry_run=dry_run, agent=agent(ws.environ) or "")
    for remark in done.remarks:
        warn(remark)
    sync(ws)
    there = {one.id: one for one in get_records(ws, [i for i, *_ in (*done.made, *done.existing)])}
    made = [
        Step("created", Seed("decision", i, {"title": t}, path, ""), "", there.get(i))
        for i, t, path in done.made
    ]
    known = [
        Step(
            "skipped",
            Seed("decision", i, {"title": there[i].title}, path, ""),
            "is here already",
            there[i],
        )
        for i, path in done.existing
        if i in there
    ]
    return [*made, *known]


def _documents(path: Path, pattern: str) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    if ".." in Path(pattern).parts or Path(pattern).is_absolute():
        raise UsageProblem(
            "must stay inside the folder.", place="--pattern", hint="Such as **/*.md"
        )
    # bounded: else `**/*` above an installed environment is walked to its end, only to be refused
    found = [
        one
        for one in islice(path.glob(pattern), _MOST_DOCUMENTS * 20)
        if one.is_file() and not one.is_symlink()
    ]
    if len(found) > _MOST_DOCUMENTS:
        raise UsageProblem(
            f"{len(found)} documents; at most {_MOST_DOCUMENTS} are read.",
            place=str(path),
            hint="Narrow --pattern.",
        )
    yield from sorted(found)


def _name_from_root(ws: Workspace, file: Path) -> str:
    """The path from the root, or the name alone of a file outside."""
    real = file.resolve()
    return real.relative_to(ws.root).as_posix() if real.is_relative_to(ws.root) else file.name


def _seeds(ws: Workspace, file: Path, sort: str) -> list[Seed]:
    from kl_hooks.kinds.seeds import seeds_of_file

    found, remark = seeds_of_file(ws.root, _name_from_root(ws, file), file, sort)
    if remark:
        warn(remark)
    return found


@click.command(
    "import",
    epilog="Example: kl knowledge import --kind objective .fuseraft/knowledge/objectives/*.yaml",
)
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@click.option("--kind", "name", required=True, help="The kind of the records, such as objective.")
@format_option()
def import_(files: tuple[Path, ...], name: str, shape: str) -> None:
    """Import records from JSON or YAML FILES, one or a list in each. Fields are read by every name
    that a kind has for them.

    An ID stays where it fits and is free; an existing one is skipped. What matches no field goes
    into the body. If anything is wrong in one of the files, nothing is imported.

    Three kinds have an import of their own: kl decision import, kl memory import, kl finding
    import.
    """
    from kl_hooks.records.interchange import parse_records, plan_import
    from kl_hooks.records.write import create_records

    ws = initialized_workspace()
    kind = _importable_kind(ws, name)
    found, problems = [], []
    for path in files:
        given, wrong = parse_records(kind, str(path), _read_file(path))
        found += given
        problems += wrong
    if problems:
        raise Problems(problems)

    some = plan_import(ws, kind, found, lambda values: sign_record(ws, values))
    asked, bodies = [one.id for one in some.new], [one.body for one in some.new]
    raws = [one.raw for one in some.new]
    made = create_records(ws, kind, raws, asked=asked, bodies=bodies, by=some.by) if raws else []
    plain = {
        "schema": "kl.knowledge.import/1",
        "made": [one.id for one in made],
        "there_already": list(some.existing),
    }
    print_answer(shape, plain, map(record_line, made))
    if some.existing and shape == "text":
        warn(f"there already, and passed over: {', '.join(some.existing[:20])}")


def _importable_kind(ws: Workspace, name: str) -> Kind:
    from kl_hooks.cli.main import OWN_COMMANDS

    operations.require_kinds(ws, (name,))
    if "import" in OWN_COMMANDS.get(name, {}):
        raise UsageProblem(
            "has an import of its own.", place=name, hint=f"Use: kl {name} import FILE…"
        )
    return ws.kinds[name]


def _read_file(path: Path) -> bytes:
    data = read_small(path, most=16 * 1024 * 1024)
    if data is None:
        raise UsageProblem("is not there.", place=str(path), hint="Give a file of JSON or YAML.")
    return data


@click.command(
    epilog="Example: kl knowledge export --kind objective --format yaml -o objectives.yaml"
)
@click.argument("ids", nargs=-1, metavar="[ID...]")
@click.option(
    "--kind", "name", default="", help="All records of this kind, ended and archived ones too."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["json", "yaml"]),
    default="json",
    show_default=True,
    help="Form.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file instead.",
)
def export(ids: tuple[str, ...], name: str, form: str, output: Path | None) -> None:
    """Write records as JSON or YAML, an object or a list of them. `kl knowledge import` takes them
    back.

    Three kinds have an import of their own: kl decision import, kl memory import, kl finding
    import.
    """
    from kl_hooks.model.actors import agent
    from kl_hooks.records.interchange import format_records
    from kl_hooks.records.liveness import quarantines

    ws = workspace()
    operations.require_kinds(ws, (name,) if name else ())
    if not ids and not name:
        raise UsageProblem(
            "no records selected: give IDs, or --kind.",
            place="kl knowledge export",
            hint="See: kl knowledge list",
        )
    found = exported(
        [command_access().record(get_record(ws, one, name)) for one in ids]
        or list_records(ws, RecordFilter((name,), archived=True, expired=True))
    )
    if agent(ws.environ) is not None and (hidden := quarantines(ws, found)):
        found = [record for record in found if ids or record.id not in hidden]
        what = f"{counted(len(hidden), 'quarantined record')}, which no person has read"
        warn(f"{'exported' if ids else 'omitted'}: {what}")
    # a terminal that is not UTF-8 gets escapes (\u00e9), so that what is read back is the same
    narrow = output is None and (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    text = format_records(ws.kinds, found, form, ascii_only=narrow) if found else ("[]\n")
    if output is None:
        write(text)
        return
    write_file(output, text, "replace")
    warn(f"{counted(len(found), 'record')} written to {output}")


@click.command(epilog="Example: kl knowledge clear --system-only --dry-run")
@click.option(
    "--system-only", "only", flag_value="system", help="Only what `kl seed --system` made."
)
@click.option(
    "--project-only",
    "only",
    flag_value="project",
    help="Only what was made of this project's documents.",
)
@click.option("--force", is_flag=True, help="What was edited by hand since, too.")
@click.option("--dry-run", is_flag=True, help="Show what would be taken away; change nothing.")
@click.option("--yes", "--confirm", "sure", is_flag=True, help="Do not ask.")
@format_option()
def clear(only: str | None, force: bool, dry_run: bool, sure: bool, shape: str) -> None:
    """Take away what `kl seed` and `kl knowledge add` made. What people wrote is never touched.

    Committed files stay in git's history; seeding makes the records again.
    """
    from kl_hooks.records.seeding import SEED_SCOPES, seeded_records
    from kl_hooks.records.seeding import clear_seeded as take_away

    ws = workspace()
    found = seeded_records(ws, (only,) if only else SEED_SCOPES)
    going = [record for record, edited in found if force or not edited]
    left = [record for record, edited in found if edited and not force]
    if shape == "text":
        echo_lines(
            f"{'would remove' if dry_run else 'remove':<12}  {record.id}  {record.title}"
            for record in going
        )
        echo_lines(
            f"{'edited':<12}  {one.id}  {one.title}   (edited by hand; --force takes it too)"
            for one in left
        )
    if going and not dry_run:
        if not sure:
            confirm(f"take away {counted(len(going), 'record')}?")
        take_away(ws, going)
    plain = {
        "schema": "kl.knowledge.clear/2",
        "dry_run": dry_run,
        "removed": [one.id for one in going],
        "edited": [one.id for one in left],
    }
    print_answer(shape, plain, [] if found else ["nothing here was made by seeding."])


def _is_too_low(health: upkeep.KnowledgeHealth, request: upkeep.HealthRequest) -> bool:
    return request.least_score is not None and health.score < request.least_score


def _health_code(health: upkeep.KnowledgeHealth, request: upkeep.HealthRequest) -> int:
    return FINDINGS if _is_too_low(health, request) else CLEAN


@operation_command(upkeep.HEALTH, exit_code=_health_code)
def health(checked: upkeep.KnowledgeHealth, request: upkeep.HealthRequest) -> None:
    for sort, issues in checked.issues.items():
        echo_lines([f"{sort}: {checked.counts[sort]}"] if issues.total else [])
        echo_lines(f"  {issue.id}  {one_line(issue.reason, 200)}" for issue in issues.shown)
        if omitted := issues.total - len(issues.shown):
            echo(f"  … and {omitted} more: --top {issues.total}")
    records = counted(checked.records, "live record")
    echo(f"{checked.healthy} of {records} healthy ({checked.score} %).")
    if _is_too_low(checked, request):
        warn(f"fewer than {request.least_score} % are healthy.")


def _gc_code(made: upkeep.Upkeep, _request: upkeep.GcRequest) -> int:
    return ENVIRONMENT_ERROR if any(part.trouble for part in made.policies) else CLEAN


@operation_command(upkeep.GC, exit_code=_gc_code)
def gc(made: upkeep.Upkeep, request: upkeep.GcRequest) -> None:
    echo_lines(_gc_lines(made, request))


def _gc_lines(made: upkeep.Upkeep, request: upkeep.GcRequest) -> Iterator[str]:
    for part in made.policies:
        if part.changes:
            yield f"{part.policy}: {part.description}"
        for change in part.changes:
            way = f"{change.old} → {change.new or 'removed'}" if change.old else change.new
            yield f"  {change.what:<8} {change.id}   {one_line(way, 120)}".rstrip()
            yield f"           {one_line(change.reason, 200)}"
        if part.changes:
            yield ""
    if not made.total:
        yield "Nothing to do."
    elif request.is_applied:
        number = sum(len(part.changes) for part in made.policies if part.is_applied)
        yield f"{counted(number, 'change')} made."
    else:
        changes = counted(made.total, "change")
        yield f"{changes}, none of them made. Make them with: kl knowledge gc --apply"


@click.command(epilog="Example: kl knowledge verify --seal ADR-0007")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option(
    "--seal", is_flag=True, help="Seal what is not valid: you have read it, and it is right."
)
@format_option()
def verify(ids: tuple[str, ...], seal: bool, shape: str) -> int:
    """Check authored files against their seals: valid, tampered (edited since, other than through
    kl) or unsealed.

    Writing a record with kl as a person seals its file, in this clone. Exit code 1 where one was
    tampered with.
    """
    from kl_hooks.records.knowledge_check import STATES, seal_records, verify_seals
    from kl_hooks.records.liveness import LiveRecords

    ws = initialized_workspace() if seal else workspace()
    found = seal_records(ws, ids) if seal else verify_seals(ws, ids)
    records = LiveRecords(ws)
    found = [one._replace(path=records.path(one.id, one.path)) for one in found]
    counts = Counter(one.state for one in found)
    plain = {
        "schema": "kl.knowledge.seals/1",
        "records": [one._asdict() for one in found],
        "counts": {state: counts[state] for state in STATES},
    }
    since = {"tampered": ", edited since it was sealed on {}"}
    rows = [
        f"{one.id:<14} {one.state:<9} {one.path}{since.get(one.state, '').format(one.at[:10])}"
        for one in found
        if seal or ids or one.state != STATES[0]
    ]
    total = ", ".join(f"{counts[state]} {state}" for state in STATES)
    print_answer(shape, plain, [*rows, total])
    return FINDINGS if counts["tampered"] else CLEAN
