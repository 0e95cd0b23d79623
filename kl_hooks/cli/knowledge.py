"""`kl knowledge`: records of every kind, claims and pages, and their upkeep."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kl_hooks.cli.groups import LazyGroup
from kl_hooks.cli.kind_commands import print_shown, print_written
from kl_hooks.cli.output import (
    broken_kinds_are_shown,
    command_access,
    confirm,
    counted,
    echo,
    echo_lines,
    path_from_root,
    print_rows,
    warn,
    workspace,
    write,
    write_file,
)
from kl_hooks.cli.record_output import (
    print_record_list,
    record_line,
    record_rows,
    seeding_lines,
    waiting_lines,
)
from kl_hooks.cli.request_options import no_output_option, operation_command
from kl_hooks.errors import CLEAN, ENVIRONMENT_ERROR, FINDINGS, UsageProblem
from kl_hooks.model.claim import tier_words
from kl_hooks.model.record import Record
from kl_hooks.model.text import one_line
from kl_hooks.operations import interchange, pages
from kl_hooks.operations import knowledge as operations
from kl_hooks.operations import knowledge_record as record_operations
from kl_hooks.operations import knowledge_upkeep as upkeep
from kl_hooks.operations.claims import ShownClaim
from kl_hooks.operations.memory import Changed
from kl_hooks.operations.operation import perform
from kl_hooks.operations.seeding import Seeding
from kl_hooks.records.pages import PAGE_KIND

if TYPE_CHECKING:
    from kl_hooks.model.lifecycle import Change
    from kl_hooks.model.record import Record
    from kl_hooks.records.pages import PageLine


_COMMANDS = {
    "check": "Check that records are valid, and links lead somewhere.",
    "verify": "Check that files are as they were when a person sealed them.",
    "links": "List the links of a page.",
    "backlinks": "List the links to a page.",
    "mentions": "List pages that name a page and do not link to it.",
    "related": "List pages that are similar to a page.",
    "status": "How much is known, and what waits for a person.",
    "stats": "Count records by kind, status, topic and use.",
    "registry": "List skills, agents, pools, contexts, collections and kinds.",
    "list": "List records of every kind.",
    "show": "Show one record of any kind, by its ID.",
    "search": "Find records, claims and pages; with options of kl search code, too.",
    "proposals": "List what agents proposed and nobody has decided about.",
    "accept": "Accept what an agent proposed.",
    "reject": "Reject what an agent proposed.",
    "add": "Import a document: a feature's specification, an overview.",
    "import": "Import records of any kind from JSON or YAML.",
    "export": "Write records of any kind as JSON or YAML.",
    "clear": "Delete what seeding made.",
    "health": "Find unhealthy records: broken, stale, contradicted; can fail CI.",
    "gc": "Show what upkeep would change; with --apply, change it.",
}
"""Command → its line in the help."""


_PLACES = dict.fromkeys(_COMMANDS, "knowledge") | {"registry": "registry"}


_FORMER = ("search", "status")
"""`kl search` finds what the one does; `kl status` and `kl knowledge stats` have what the other
does.
"""


@click.group(
    cls=LazyGroup, module="kl_hooks.cli.{}", lines=_COMMANDS, places=_PLACES, former=_FORMER
)
def knowledge() -> None:
    """Records of every kind, and their upkeep."""


@operation_command(operations.LIST)
def list_(listed: operations.KnowledgeList, request: operations.ListRequest) -> None:
    record_list = listed.found
    is_narrowed = request._replace(limit=0, everything=False) != operations.ListRequest(limit=0)
    begin = "nothing is known yet. Begin with: kl seed, or kl decision new --edit"
    if is_narrowed:
        none = "nothing of that is known."
    else:
        none = begin
    print_record_list(record_list, none, of_kind=True)


@operation_command(record_operations.SHOW)
def show(shown: record_operations.Shown, _request: record_operations.ShowRequest) -> None:
    if isinstance(shown.shown, ShownClaim):
        from kl_hooks.cli.proof import print_claim

        print_claim(shown.shown)
        return
    print_shown(shown.shown)


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
            place = f"{hit.hit.path}:{hit.hit.line}"
            title = one_line(hit.hit.title, 120)
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
        if link.node:
            where = f"{link.node}  {link.title}".rstrip()
        else:
            where = "leads nowhere"
        if link.several:
            where = f"may mean {', '.join(link.several)}"
        if link.how == "wikilink":
            target = f"[[{link.target}]]"
        else:
            target = f"({link.target})"
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
    if line.percent:
        percent = f"{line.percent:>3} %  "
    else:
        percent = ""
    if line.text:
        text = f"  {one_line(line.text, 100)}"
    else:
        text = ""
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
    scope = f"{counted(len(result.files), 'file')}, {counted(result.links, 'link')}"
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


def _print_decided(
    decided: record_operations.Decided, request: record_operations.DecideRequest
) -> None:
    if isinstance(decided.change, Changed):
        from kl_hooks.cli.memory import print_changed

        print_changed(decided.change)
        return
    print_written(decided.change, request)


accept, reject = (
    operation_command(operation)(_print_decided)
    for operation in (record_operations.ACCEPT, record_operations.REJECT)
)


def _with_passages(request: interchange.AddRequest) -> interchange.AddRequest:
    """Return the request; a document that is passages is added, and the command ends."""
    if request.document_type != interchange.PASSAGES:
        return request
    from kl_hooks.cli.document import add as add_documents

    if request.is_dry_run or request.is_forced:
        raise click.UsageError(
            f"--type {interchange.PASSAGES} makes passages, no records: without --dry-run and"
            " --force."
        )
    context = click.get_current_context()
    files = interchange.documents_at(Path(request.place), request.pattern)
    shape = context.params["shape"]
    code = context.invoke(add_documents, places=tuple(map(str, files)), shape=shape)
    raise click.exceptions.Exit(int(code))


@operation_command(interchange.ADD, _with_passages)
def add(added: Seeding, _request: interchange.AddRequest) -> None:
    echo_lines(seeding_lines(added))


def _of_kind_without_import(request: interchange.ImportRequest) -> interchange.ImportRequest:
    from kl_hooks.cli.main import OWN_COMMANDS

    if "import" in OWN_COMMANDS.get(request.kind, {}):
        hint = f"Use: kl {request.kind} import FILE…"
        raise UsageProblem("has an import of its own.", place=request.kind, hint=hint)
    return request


@operation_command(interchange.IMPORT, _of_kind_without_import)
def import_(imported: interchange.ImportedRecords, _request: interchange.ImportRequest) -> None:
    echo_lines(record_line(written.record) for written in imported.records)
    if imported.existing:
        warn(f"there already, and passed over: {', '.join(imported.existing[:20])}")


@operation_command(interchange.EXPORT, output_option=no_output_option)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file instead.",
)
def export(
    exported: interchange.ExportedRecords, request: interchange.ExportRequest, output: Path | None
) -> None:
    from kl_hooks.records.interchange import format_records

    # a terminal that is not UTF-8 gets escapes (\u00e9), so that what is read back is the same
    is_narrow = output is None and (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    kinds = exported.kinds.by_name
    records = exported.records
    text = "[]\n"
    if records:
        text = format_records(kinds, records, request.form, ascii_only=is_narrow)
    if output is None:
        write(text)
        return
    write_file(output, text, "replace")
    warn(f"{counted(len(records), 'record')} written to {output}")


def _print_cleared(cleared: upkeep.Cleared) -> None:
    if cleared.is_dry_run:
        verb = "would remove"
    else:
        verb = "remove"
    echo_lines(f"{verb:<12}  {record.id}  {record.title}" for record in cleared.removed)
    echo_lines(
        f"{'edited':<12}  {record.id}  {record.title}   (edited by hand; --force takes it too)"
        for record in cleared.edited
    )
    if not cleared.removed and not cleared.edited:
        echo("nothing here was made by seeding.")


def _confirmed(request: upkeep.ClearRequest) -> upkeep.ClearRequest:
    """Print what is taken away, and ask."""
    if request.is_dry_run:
        return request
    preview = request._replace(is_dry_run=True)
    planned = perform(workspace(), upkeep.CLEAR, preview, command_access())
    if click.get_current_context().params["shape"] == "text":
        _print_cleared(planned._replace(is_dry_run=False))
    if planned.removed and not request.is_confirmed:
        confirm(f"take away {counted(len(planned.removed), 'record')}?")
    return request


@operation_command(upkeep.CLEAR, _confirmed)
def clear(cleared: upkeep.Cleared, request: upkeep.ClearRequest) -> None:
    if request.is_dry_run:
        _print_cleared(cleared)


def _is_too_low(health: upkeep.KnowledgeHealth, request: upkeep.HealthRequest) -> bool:
    return request.least_score is not None and health.score < request.least_score


def _health_code(health: upkeep.KnowledgeHealth, request: upkeep.HealthRequest) -> int:
    if _is_too_low(health, request):
        return FINDINGS
    return CLEAN


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
    if any(part.trouble for part in made.policies):
        return ENVIRONMENT_ERROR
    return CLEAN


@operation_command(upkeep.GC, exit_code=_gc_code)
def gc(made: upkeep.Upkeep, request: upkeep.GcRequest) -> None:
    echo_lines(_gc_lines(made, request))


def _way(change: Change, *, is_reported_only: bool) -> str:
    """From what to what a change leads."""
    if not change.old or (is_reported_only and not change.new):
        return change.new or change.old
    return f"{change.old} → {change.new or 'removed'}"


def _gc_lines(made: upkeep.Upkeep, request: upkeep.GcRequest) -> Iterator[str]:
    for part in made.policies:
        if part.changes:
            if part.is_reported_only:
                only = " Only reported: nothing of it is changed."
            else:
                only = ""
            yield f"{part.policy}: {part.description}{only}"
        for change in part.changes:
            way = one_line(_way(change, is_reported_only=part.is_reported_only), 120)
            yield f"  {change.what:<8} {change.id}   {way}".rstrip()
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


def _verify_code(checked: upkeep.Seals, _request: upkeep.SealsRequest) -> int:
    if checked.has_tampered:
        return FINDINGS
    return CLEAN


@operation_command(upkeep.VERIFY, exit_code=_verify_code)
def verify(checked: upkeep.Seals, request: upkeep.SealsRequest) -> None:
    for seal in checked.seals:
        if request.is_sealing or request.ids or seal.state != "valid":
            is_tampered = seal.state == "tampered"
            if is_tampered:
                since = f", edited since it was sealed on {seal.at[:10]}"
            else:
                since = ""
            echo(f"{seal.id:<14} {seal.state:<9} {seal.path}{since}")
    echo(", ".join(f"{number} {state}" for state, number in checked.counts.items()))
    if checked.has_tampered and not checked.counts["tampered"]:
        warn("a file that is hidden from you was edited since it was sealed.")
