"""`kl arch allow`: an exception with an end, added to the manifest with the decision behind it.

Every other byte of the manifest stays as it is.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any, Final

from kl_hooks.arch.content import DECISIONS, load_content, record_id, require_repository, utc_day
from kl_hooks.arch.import_survey import Survey, survey_imports
from kl_hooks.arch.layer_check import is_excepted
from kl_hooks.arch.layers import Edge, ManifestProblems, edges
from kl_hooks.arch.manifest_parser import read_manifest
from kl_hooks.arch.propose import yaml_quoted
from kl_hooks.code.modules import plain_name
from kl_hooks.config.yaml import snake_case
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.manifest import MANIFEST, Allowance, Manifest, plain_terms
from kl_hooks.model.symbol import RECORD_ID
from kl_hooks.model.text import one_line, safe_text, suggest_spelling
from kl_hooks.records.repository import used_numbers
from kl_hooks.store.files import folder_lock, read_small, write_atomic
from kl_hooks.store.redaction import redact
from kl_hooks.workspace import Workspace

_DAYS: Final = lazy_pattern(r"([1-9][0-9]{0,3})d")


def last_day(until: str, ws: Workspace) -> str:
    """`30d` or a day as `YYYY-MM-DD`.

    UsageProblem for anything else, and for a day that is over.
    """
    place = "kl arch allow --until"
    today = utc_day(ws)
    if days := _DAYS.fullmatch(until):
        return utc_day(ws, int(days[1]))
    try:
        # the pattern too: since Python 3.11 fromisoformat() reads `20260131` and `2026-W05-6` as
        # well
        if re.fullmatch(r"\d{4}-\d\d-\d\d", until, re.ASCII):
            day = date.fromisoformat(until).isoformat()
        else:
            day = ""
    except ValueError:
        day = ""
    if not day:
        raise UsageProblem(
            f"invalid date {until!r}.", place=place, hint="Write 30d, or YYYY-MM-DD."
        )
    # days as YYYY-MM-DD sort as text
    if day < today:
        raise UsageProblem(
            f"{day} is over (today is {today}, UTC).", place=place, hint="Give a day to come."
        )
    return day


def refuse_unknown(
    manifest: Manifest, crossing: Sequence[Edge], modules: Collection[str], source: str, target: str
) -> None:
    """UsageProblem unless both are layers or modules of `crossing` or `modules`, and not the
    same.
    """
    layers = {layer.name for layer in manifest.layers}
    names = (
        layers | set(modules) | {end for edge in crossing for end in (edge.importer, edge.imported)}
    )
    for name in (source, target):
        if name not in names:
            hint = suggest_spelling(name, names) or f"Layers: {', '.join(sorted(layers))}."
            raise UsageProblem(
                f'"{name}" is neither a layer nor a module here.', place="kl arch allow", hint=hint
            )
    if source == target:
        raise UsageProblem(
            "FROM and TO are the same.", place="kl arch allow", hint="A layer may import itself."
        )


def refuse_again(manifest: Manifest, source: str, target: str, until: str) -> None:
    """Raise UsageProblem where an exception allows this already, for as long or longer."""
    for exception in manifest.exceptions:
        if (exception.source, exception.target) == (source, target) and (
            not exception.until or exception.until >= until
        ):
            place = f"{manifest.path}:{exception.line}"
            message = (
                "this is allowed"
                f" already{f' until {exception.until}' if exception.until else ', without an end'}."
            )
            raise UsageProblem(message, place=place, hint="Nothing was written.")


def _refuse_idle(manifest: Manifest, fitting: Sequence[Edge], source: str, target: str) -> None:
    """UsageProblem where no import of today is among those that an exception would excuse."""
    if fitting:
        return
    hint = "Name the two ends of one that is. See: kl arch check"
    if manifest.indirect == "forbid":
        hint = "An exception excuses no chain: take one import out of the chain. See: kl arch check"
    message = (
        f"no import that is forbidden leads from {source} to {target}: nothing would be excused."
    )
    raise UsageProblem(message, place="kl arch allow", hint=hint)


def decision_id(decision: str, known_ids: Collection[str]) -> str:
    """Return the ID as it was given. UsageProblem for what is none; `known_ids` ones are
    suggested.
    """
    if not RECORD_ID.fullmatch(decision):
        hint = (
            suggest_spelling(decision, known_ids)
            or "Write it like ADR-0004, or leave it out: then a record is written."
        )
        raise UsageProblem(
            f"{decision!r} is no id of a decision.", place="kl arch allow --decision", hint=hint
        )
    return decision


# the line breaks of YAML 1.1 (section 5.4); an editor's `\n` alone would miss where PyYAML starts a
# new line
_BREAK: Final = lazy_pattern("\r\n|[\n\r\x85\u2028\u2029]")
_NOTHING: Final = lazy_pattern("[ \t]*(?:#.*)?(?=[\n\r\x85\u2028\u2029]|$)")
_KEY: Final = "exceptions"


def insert_exception(path_name: str, data: bytes, exception: Allowance) -> tuple[bytes, int] | None:
    """The text with the exception in it, and its line; None where no place was found that gives
    exactly that.

    The result reads as `data` does, and one exception more. Raises ManifestProblems for a manifest
    that is invalid.
    """
    before = _facts(read_manifest(path_name, data))
    mark = len(data) - len(data.removeprefix(b"\xef\xbb\xbf"))
    text = data.decode("utf-8-sig")
    for place, new_text in _candidates(text, _entry(exception)):
        # PyYAML's marks count characters, and the rest of the file has to stay the same bytes
        offset = mark + len(text[:place].encode())
        inserted = data[:offset] + new_text.encode() + data[offset:]
        try:
            read = read_manifest(path_name, inserted)
        except ManifestProblems:
            continue
        line = _added(before, read, exception)
        if line:
            return inserted, line
    return None


def _facts(part: Manifest | Allowance) -> Any:
    """Return the terms of a manifest or of an exception, without line numbers."""
    return plain_terms(part, ("line", "language_line"))


def _added(before: Any, after: Manifest, exception: Allowance) -> int:
    """The line of the exception, if it is the only difference; else 0."""
    facts = _facts(after)
    wanted = _facts(exception)
    for number, exception_facts in enumerate(facts["exceptions"]):
        without_it = facts | {
            "exceptions": facts["exceptions"][:number] + facts["exceptions"][number + 1 :]
        }
        if exception_facts == wanted and without_it == before:
            return after.exceptions[number].line
    return 0


def _entry(exception: Allowance) -> str:
    parts = [f"from: {yaml_quoted(exception.source)}", f"to: {yaml_quoted(exception.target)}"]
    if exception.until:
        parts += [f"until: {exception.until}"]
    if exception.decision:
        parts += [f"decision: {yaml_quoted(exception.decision)}"]
    return "{" + ", ".join(parts) + "}"


class _Positions(NamedTuple):
    """Positions that the parser found, as indexes into the text."""

    column: int
    """Of the keys of the manifest, from 0."""
    end: int
    """After the last text of the manifest."""
    brace: int
    """Of the `}` that ends it; -1: it is not written in braces."""
    kind: str
    """Of the list of exceptions: `flow`, `block`, or empty for none."""
    start: int = 0
    """Of the list: its `[`, or its first `-`."""
    last: int = 0
    """After the last text of the list."""
    empty: bool = True


def _candidates(text: str, entry: str) -> Iterator[tuple[int, str]]:
    """(index, text to insert there), the best place first."""
    position = _positions(text)
    newline = (_BREAK.search(text) or ["\n"])[0]
    indent = " " * position.column
    if position.kind == "flow":
        line = f"{indent}  {entry}{'' if position.empty else ','}"
        nothing = _NOTHING.match(text, position.start + 1)
        if nothing:
            after = _BREAK.match(text, nothing.end())
        else:
            after = None
        yield (
            (after.end(), line + newline)
            if after
            else (position.start + 1, f"{newline}{line}{newline}{indent}  ")
        )
    elif position.kind == "block":
        dash = text[_line_start(text, position.start) : position.start]
        yield _whole_line(text, position.last, f"{dash}- {entry}", newline)
    elif position.brace >= 0:
        for comma in (", ", " "):
            yield position.brace, f"{comma}{_KEY}: [{entry}]"
    else:
        block = f"{newline}{indent}{_KEY}:{newline}{indent}  - {entry}"
        yield _whole_line(text, len(text), block, newline)
        yield _whole_line(text, position.end, block, newline)


def _line_start(text: str, index: int) -> int:
    return max((found.end() for found in _BREAK.finditer(text, 0, index)), default=0)


def _whole_line(text: str, index: int, line: str, newline: str) -> tuple[int, str]:
    """Return where, and with which line breaks, `line` is inserted after the line of `index`."""
    if index and _BREAK.fullmatch(text[index - 1]):
        return index, f"{line}{newline}"
    end = _BREAK.search(text, index)
    if end:
        return (end.end(), f"{line}{newline}")
    return (len(text), f"{newline}{line}")


def _positions(text: str) -> _Positions:
    """Read the places out of the events of the parser; the text is that of a valid manifest."""
    import yaml

    depth = 0
    key = ""
    column = 0
    brace = -1
    end = 0
    kind = ""
    start = 0
    last = 0
    items = 0
    inside = awaited = False
    event: Any
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        name = type(event).__name__
        first = event.start_mark
        after = event.end_mark
        if depth == 0 and name == "MappingStartEvent":
            column = first.column
        if depth == 1 and name == "MappingEndEvent" and after.index > first.index:
            brace = first.index
        if depth == 1 and name == "ScalarEvent" and not awaited:
            key = snake_case(event.value)
            awaited = True
        elif depth == 1 and name != "MappingEndEvent":
            awaited = False
            if key == _KEY and name == "SequenceStartEvent":
                inside = True
                start = first.index
                if event.flow_style:
                    kind = "flow"
                else:
                    kind = "block"
        elif depth == 2 and inside and not name.endswith("EndEvent"):
            items += 1
        depth += name.endswith("StartEvent") and not name.startswith(("Stream", "Document"))
        depth -= name in ("SequenceEndEvent", "MappingEndEvent")
        if depth and after.index > first.index:
            end = max(end, after.index)
            if inside:
                last = after.index
        inside = inside and depth > 1
    return _Positions(column, end, brace, kind, start, last, not items)


class AddedException(NamedTuple):
    """What was written."""

    exception: Allowance
    """With its line in the manifest."""
    record: str
    """Path of the decision record that was written; empty where an existing one was named."""
    imports: int
    """How many imports of today it excuses."""
    remarks: tuple[str, ...] = ()


def add_exception(
    ws: Workspace,
    source: str,
    target: str,
    until: str,
    reason: str,
    decision: str = "",
    *,
    accept: bool = False,
) -> AddedException:
    """Add an exception from `source` to `target` (modules or layers), and its decision where none
    is named.

    `until`: `30d` or `YYYY-MM-DD`. UsageProblem for what can't be, ManifestProblems,
    EnvironmentProblem; then nothing was written.
    """
    top = require_repository(ws).top
    content = load_content(ws)
    if content.manifest is None:
        raise UsageProblem(
            "is not there, so nothing is forbidden.",
            place=MANIFEST,
            hint="Create one with: kl init",
        )
    manifest = read_manifest(MANIFEST, content.manifest)
    last = last_day(until, ws)
    why = _stated_reason(reason)
    survey = survey_imports(ws, content, manifest)
    excused = _excused_imports(manifest, survey, source, target, last)
    known_ids = _records(top)
    if decision:
        name = decision_id(decision, known_ids)
        record = ""
    else:
        # one more than the highest number ever used (requirement A22), not the first free one
        name = next_decision_id(known_ids | _named(manifest) | _ever(ws))
        record = DECISIONS + decision_file_name(name, source, target)
    wanted = Allowance(source, target, last, name)
    new_manifest, line = _with_exception(content.manifest, wanted)
    files = {path: text for path, text in survey.modules.items() if plain_name(text) == source}
    text = decision_text(
        name, wanted, why, utc_day(ws), manifest, excused, sorted(files), accepted=accept
    )
    _write(top, content.manifest, new_manifest, record, text)
    remarks = []
    if decision and decision not in known_ids:
        remarks.append(f"{decision} is not in {DECISIONS}: make sure that people find it.")
    return AddedException(
        Allowance(source, target, last, name, line), record, len(excused), tuple(remarks)
    )


def _stated_reason(reason: str) -> str:
    """The reason, redacted: it goes into a file that is committed. UsageProblem without a word."""
    why = redact(reason).strip()
    if not any(letter.isalpha() for letter in why):
        if why:
            what = "--reason has no word in it."
        else:
            what = "--reason is empty."
        raise UsageProblem(
            what, place="kl arch allow", hint="Give the reason, for whoever reads it later."
        )
    return why


def _excused_imports(
    manifest: Manifest, survey: Survey, source: str, target: str, last: str
) -> list[Edge]:
    """The forbidden imports of today that the exception excuses. UsageProblem for unknown names,
    for an exception that is there, and for one that excuses nothing.
    """
    crossing = list(edges(manifest, survey.links_under(manifest), survey.modules))
    refuse_unknown(
        manifest, crossing, {plain_name(name) for name in survey.modules.values()}, source, target
    )
    refuse_again(manifest, source, target, last)
    excused = [
        edge
        for edge in crossing
        if not edge.allowed and is_excepted(Allowance(source, target), edge)
    ]
    _refuse_idle(manifest, excused, source, target)
    return excused


def _with_exception(manifest: bytes, wanted: Allowance) -> tuple[bytes, int]:
    """The text of the manifest with the exception, and its line there."""
    inserted = insert_exception(MANIFEST, manifest, wanted)
    if inserted is None:
        entry = f"{{from: {wanted.source}, to: {wanted.target}, until: {wanted.until}}}"
        raise UsageProblem(
            "no place was found for the exception.", place=MANIFEST, hint=f"Add it by hand: {entry}"
        )
    return inserted


def _named(manifest: Manifest) -> set[str]:
    """The records that the manifest itself names, wherever they are stored: their numbers are
    used.
    """
    return {one.decision for one in manifest.layers} | {one.decision for one in manifest.exceptions}


def _ever(ws: Workspace) -> set[str]:
    """The id of the highest number that a decision ever had here: files, git's history and branches
    count.
    """
    numbers = used_numbers(ws, ws.kinds["decision"])
    if not numbers:
        return set()
    return {f"ADR-{max(numbers):04}"}


def _records(top: Path) -> set[str]:
    """Ids of the records on disk, those in `archive/` too."""
    return {record_id(path.name) for path in (top / DECISIONS).rglob("*.md")} - {""}


def _write(top: Path, before: bytes, after: bytes, record: str, text: str) -> None:
    """The record, then the manifest; neither, if one of them can't be written. No other `kl` writes
    meanwhile.
    """
    path = top / MANIFEST
    try:
        with folder_lock(path.parent):
            _compared_and_written(top, path, before, after, record, text)
    except OSError as error:
        raise EnvironmentProblem(
            f"can't be written: {error}.", place=MANIFEST, hint="Nothing was changed."
        ) from error


def _compared_and_written(
    top: Path, path: Path, before: bytes, after: bytes, record: str, text: str
) -> None:
    state = path.lstat()
    if not stat.S_ISREG(state.st_mode) or read_small(path, within=top) != before:
        raise EnvironmentProblem(
            "is a link, or changed under way.", place=MANIFEST, hint="Run this again."
        )
    # the manifest names the record, so it is written last: a crash leaves a record without a rule,
    # never the reverse
    if record:
        _folders(top, Path(record).parent)
        if os.path.lexists(top / record):
            raise EnvironmentProblem("is there already.", place=record, hint="Run this again.")
        write_atomic(top / record, text.encode("utf-8", "replace"), within=top)
    try:
        write_atomic(path, after, stat.S_IMODE(state.st_mode), within=top)
    except BaseException:
        if record:
            with suppress(OSError):
                (top / record).unlink()
        raise


def _folders(top: Path, folder: Path) -> None:
    """Make the folders of a record, none of them through a link."""
    for place in [*reversed(folder.parents), folder][1:]:
        if (top / place).is_symlink():
            raise EnvironmentProblem(
                "is a link.", place=str(place), hint="Put the folder itself here."
            )
        # one by one, not parents=True: that would follow a link on the way
        (top / place).mkdir(exist_ok=True)


_PLAIN_YAML: Final = lazy_pattern(r"[A-Za-z][A-Za-z0-9 ._/-]*")
_MAX_LISTED: Final = 10
"""Imports that are listed."""


def next_decision_id(known_ids: Collection[str]) -> str:
    """The first free id after all known ones: `ADR-0007`."""
    numbers = [
        int(identifier.removeprefix("ADR-"))
        for identifier in known_ids
        if re.fullmatch(r"ADR-[0-9]{4,9}", identifier)
    ]
    return f"ADR-{max(numbers, default=0) + 1:04}"


def decision_file_name(name: str, source: str, target: str) -> str:
    """`ADR-0007-shop-core-order-may-import-shop-web.md`: letters, digits and `-` only."""
    slug = re.sub(r"[^a-z0-9]+", "-", f"{source} may import {target}".lower()).strip("-")
    return f"{name}-{slug[:80].strip('-')}.md"


def decision_text(
    name: str,
    exception: Allowance,
    reason: str,
    today: str,
    manifest: Manifest,
    fitting: Sequence[Edge],
    files: Sequence[str],
    *,
    accepted: bool = False,
) -> str:
    """The record: what is allowed, why, and what it costs.

    `fitting`: the imports of today that it excuses; `files`: those of the module that may import,
    none for a layer. `accepted`: somebody asked for it to be; else it is proposed, like every other
    decision.
    """
    paths = [
        path for layer in manifest.layers if layer.name == exception.source for path in layer.paths
    ]
    title = one_line(
        f"{exception.source} may import {exception.target} until {exception.until}", 160
    )
    governs = "".join(f"  - {_yaml(path)}\n" for path in files or paths)
    context = [_context(manifest, edge) for edge in fitting[:_MAX_LISTED]]
    if len(fitting) > _MAX_LISTED:
        context.append(f"- and {len(fitting) - _MAX_LISTED} more")
    listed = (
        "\n".join(context)
        or f"- nothing of {exception.source} imports {exception.target} against the rules today"
    )
    return f"""\
---
id: {name}
title: {_yaml(title)}
status: {"accepted" if accepted else "proposed"}
date: {today}
{f"governs:{chr(10)}{governs}" if governs else ""}tags: [architecture, exception]
---

## Context

Imports that {manifest.path} forbids:

{listed}

## Decision

{_paragraphs(reason)}

`kl arch check` accepts imports of `{_code(exception.target)}` by `{_code(exception.source)}` through {exception.until}.

## Alternatives

- Fix the imports now: see the hints of `kl arch check`.

## Consequences

From the day after {exception.until} these imports block again. After a fix, remove the exception from {manifest.path}.
"""


def _context(manifest: Manifest, edge: Edge) -> str:
    place = one_line(f"{edge.link.path}:{edge.link.line}", 160)
    rule = f"{manifest.path}, {edge.source.name} -> {edge.target.name}"
    if edge.source.decision:
        behind = f", {edge.source.decision}"
    else:
        behind = ""
    return (
        f"- `{_code(place)}`: {one_line(edge.importer)} imports {one_line(edge.imported)}"
        f" ({one_line(rule + behind)})"
    )


def _paragraphs(reason: str) -> str:
    """A person's text, such that no line of it can end the front matter or start a section."""
    lines = [line.strip() for line in safe_text(reason).split("\n")]
    return "\n".join(
        f"\\{line}" if line.startswith(("#", "---", "===", "```")) else line for line in lines
    )


def _code(text: str) -> str:
    return one_line(text).replace("`", "'")


def _yaml(text: str) -> str:
    if _PLAIN_YAML.fullmatch(text) and text.rstrip() == text:
        return text
    return yaml_quoted(text)
