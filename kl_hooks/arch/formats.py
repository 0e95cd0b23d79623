"""A check as SARIF, GitHub annotations, a GitLab report, a Mermaid flowchart or JSON."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote

from kl_hooks import __version__
from kl_hooks.arch.content import load_content
from kl_hooks.arch.import_survey import survey_imports
from kl_hooks.arch.layer_check import INDIRECT_METHOD, Verdict
from kl_hooks.arch.layers import edges
from kl_hooks.arch.report import _breach_to_dict, problems_to_list, violation_to_dict
from kl_hooks.model.canonical import digest
from kl_hooks.model.contract import Breach
from kl_hooks.model.manifest import MANIFEST, Violation
from kl_hooks.model.problem import Problem
from kl_hooks.model.text import counted, one_line, safe_text
from kl_hooks.workspace import Workspace

CheckedContent = tuple[str, Verdict | None]
"""What was looked at (`worktree`, `staged`, a revision), and what was found; None: it has no
manifest.
"""


@dataclass(frozen=True, slots=True)
class _Rule:
    """What a finding breaks."""

    id: str
    """`layers/core/web`, stable."""
    title: str
    """`core may not depend on web`"""
    help: str
    """The place of the rule, what is allowed instead, and the decision behind it."""


_UNJUDGED: Final = _Rule(
    "arch/not-judged",
    "A governed file could not be judged",
    "Every file of a layer must parse and, where the manifest is exhaustive, every file must belong"
    " to a layer: what can't be judged must not pass.",
)
_INVALID: Final = _Rule(
    "arch/invalid-rules",
    "The manifest or the baseline is invalid",
    "Nothing is checked until .kl/architecture.yaml and .kl/baseline.json can be read.",
)
_LOOSENED: Final = _Rule(
    "arch/loosened",
    "The rules were loosened",
    "The commits that are checked also change the manifest or the baseline so that more is allowed"
    " than before. Review that change by itself; with --trust-ref REV the check fails.",
)
_FIX: Final = (
    "Fix the import, or allow it for a while: kl arch allow FROM TO --until 30d --reason TEXT"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem at one place."""

    rule: _Rule
    path: str
    line: int
    """From 1; 0: the file as a whole."""
    column: int
    """From 1; 0: not known."""
    message: str
    """One line, safe for a terminal."""
    fingerprint: str
    """Without line numbers; several findings may share it."""
    number: int = 1
    """Which of those that share the fingerprint it is, from 1 in the order of lines."""
    accepted: bool = False
    """The baseline accepts it."""
    weak: bool = False
    """Only a type checker sees the import."""
    level: str = "error"
    """`error` or `warning`; what is accepted is neither, see `accepted`."""


def findings(verdict: Verdict) -> list[Finding]:
    """Everything that was found: what blocks first, then what the baseline accepts."""
    rules: dict[tuple[str, str], _Rule] = {}

    def of(violation: Violation, accepted: bool) -> Finding:
        pair = (violation.source_layer, violation.target_layer)
        if pair not in rules:
            rules[pair] = _rule(violation, verdict)
        return _finding(violation, rules[pair], accepted)

    found = [_problem(one, _INVALID if verdict.invalid else _UNJUDGED) for one in verdict.problems]
    level = "error" if verdict.trusted else "warning"
    found += [replace(_problem(one, _LOOSENED), level=level) for one in verdict.loosened]
    found += [of(one, False) for one in verdict.violations]
    found += [_breach(one, verdict) for one in verdict.contracts]
    return _numbered([*found, *(of(one, True) for one in verdict.accepted)])


def _decided(decision: str, verdict: Verdict) -> str:
    """`ADR-0004 "Domain stays pure"`; empty for a rule without a decision."""
    title = verdict.titles.get(decision, "")
    return f'{decision} "{title}"' if decision and title else decision


def _rule(one: Violation, verdict: Verdict) -> _Rule:
    allowed = ", ".join(one.allowed) or "nothing"
    behind = _decided(one.decision, verdict)
    text = (
        f"{one.source_layer} may import: {allowed}. Rule: {one.rule}"
        + (f", {behind}. " if behind else ". ")
        + (_FIX if _excusable(one, verdict) else "Fix one import of the chain.")
    )
    title = f"{one.source_layer} must not import {one.target_layer}"
    return _Rule(
        f"layers/{one.source_layer}/{one.target_layer}", one_line(title), one_line(text, 1000)
    )


def _excusable(one: Violation, verdict: Verdict) -> bool:
    """True where an import leads directly from layer to layer: an exception excuses no chain."""
    pair = (one.source_layer, one.target_layer)
    found = (*verdict.violations, *verdict.accepted)
    return any(
        (each.source_layer, each.target_layer) == pair and each.method != INDIRECT_METHOD
        for each in found
    )


def _finding(one: Violation, rule: _Rule, accepted: bool) -> Finding:
    how = "" if one.method in ("", "import") else f" ({one.method})"
    hint = f" hint: {one.suggested_fix}" if one.suggested_fix else ""
    rests = f"layer rule, {one.rule}{', ' + one.decision if one.decision else ''}"
    message = f"{one.statement}{how}: {rule.title} ({rests}).{hint}"
    weak = one.method == "type-checking import"
    return Finding(
        rule,
        one.path,
        one.line,
        0,
        one_line(message, 1000),
        one.fingerprint,
        accepted=accepted,
        weak=weak,
    )


def _breach(one: Breach, verdict: Verdict) -> Finding:
    """A broken contract, at the first import of the chain; where there is none, at the contract
    itself.
    """
    behind = _decided(one.decision, verdict)
    text = f"A contract of import-linter ({one.type}). It is defined at {one.rule}" + (
        f", decided in {behind}." if behind else "."
    )
    rule = _Rule(
        f"contract/{one.contract}",
        one_line(f"contract broken: {one.contract}"),
        one_line(text, 1000),
    )
    way = " -> ".join(
        [step.importer for step in one.chain[:1]] + [step.imported for step in one.chain]
    )
    path, _, line = one.rule.rpartition(":")
    if one.chain and one.chain[0].path:
        path, line = one.chain[0].path, str(one.chain[0].lines[0] if one.chain[0].lines else 0)
    message = f"{rule.title}: {one.message or way} ({one.rule})"
    return Finding(rule, path, int(line), 0, one_line(message, 1000), one.fingerprint)


def _problem(one: Problem, rule: _Rule) -> Finding:
    mark = digest("problem/1", [one.path, one.message])[:16]
    return Finding(
        rule, one.path, one.line, one.column, one_line(f"{one.message} {one.hint}", 1000), mark
    )


def _numbered(found: Iterable[Finding]) -> list[Finding]:
    """Each with its number among those of its fingerprint, by line."""
    listed = list(found)
    seen: Counter[str] = Counter()
    numbers = {}
    for place in sorted(range(len(listed)), key=lambda n: (listed[n].path, listed[n].line, n)):
        seen[listed[place].fingerprint] += 1
        numbers[place] = seen[listed[place].fingerprint]
    return [replace(one, number=numbers[place]) for place, one in enumerate(listed)]


def _merged_findings(found: Sequence[CheckedContent]) -> list[Finding]:
    """The findings of several contents, each once."""
    merged: dict[tuple[str, int, str], Finding] = {}
    for _, verdict in found:
        for one in findings(verdict) if verdict else ():
            # no line in the key: of two pushed commits each may have the same import on another
            # line
            merged.setdefault((one.fingerprint, one.number, one.path), one)
    return list(merged.values())


def _unassigned_files(found: Sequence[CheckedContent]) -> list[str]:
    """The files that belong to no layer, in any of the contents."""
    return sorted({path for _, verdict in found if verdict for path in verdict.unassigned})


def _shown_path(path: str) -> str:
    """A path as text that any encoding can hold."""
    return safe_text(path).replace("\n", "\\x0a").replace("\t", "\\x09")


MAX_ANNOTATIONS: Final = 9
"""GitHub shows ten annotations of a step and drops the others silently: nine, and how many there
are.
"""


def github(found: Sequence[CheckedContent]) -> list[str]:
    """The commands, worst first, none for what the baseline accepts; files in no layer are one
    notice.
    """
    new = _worst_first([one for one in _merged_findings(found) if not one.accepted])
    lines = [_command(one) for one in new[:MAX_ANNOTATIONS]]
    if len(new) > MAX_ANNOTATIONS:
        files = counted(len({one.path for one in new}), "file")
        message = (
            f"{len(new)} findings in {files}; {MAX_ANNOTATIONS} are shown here. All of them: kl"
            " arch check"
        )
        lines.append(f"::error title=kl arch check::{_data(message)}")
    if outside := len(_unassigned_files(found)):
        message = (
            f"{outside} file{'s' * (outside > 1)} in no layer. List them: kl arch check"
            " --list-unassigned"
        )
        lines.append(f"::notice file={MANIFEST},line=1,title=kl arch check::{_data(message)}")
    return lines


def _worst_first(found: list[Finding]) -> list[Finding]:
    """What could not be judged, then every broken rule once before any twice; what runs before what
    is only typed.
    """
    seen: Counter[str] = Counter()
    ranked = []
    for one in sorted(found, key=lambda x: (x.weak, x.path, x.line)):
        seen[one.rule.id] += 1
        rank = (
            one.level == "warning",
            not one.rule.id.startswith("arch/"),
            seen[one.rule.id],
            one.weak,
        )
        ranked.append(((*rank, one.path, one.line), one))
    return [one for _, one in sorted(ranked, key=lambda pair: pair[0])]


def _command(one: Finding) -> str:
    place = f"file={_property(_shown_path(one.path))},line={max(one.line, 1)}"
    column = f",col={one.column}" if one.column else ""
    return (
        f"::{one.level}"
        f" {place}{column},title={_property(one_line(one.rule.title))}::{_data(one.message)}"
    )


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    # as GitHub's own toolkit escapes: `:` and `,` would end the property
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def gitlab(found: Sequence[CheckedContent]) -> list[dict[str, Any]]:
    """A list of degradations; what the baseline accepts is of severity `info`. Empty where there is
    no manifest.
    """
    rows = [_row(one) for one in _merged_findings(found)]
    outside = len(_unassigned_files(found))
    return rows + ([_unassigned(outside)] if outside else [])


def _unassigned(number: int) -> dict[str, Any]:
    """One row for all files in no layer, under a fingerprint that does not change with their
    number.
    """
    return {
        "description": (
            f"{number} file{'s' * (number > 1)} in no layer. List them: kl arch check"
            " --list-unassigned"
        ),
        "check_name": "arch/unassigned",
        "fingerprint": digest("unassigned/1", [MANIFEST])[:16],
        "severity": "info",
        "location": {"path": MANIFEST, "lines": {"begin": 1}},
    }


def _row(one: Finding) -> dict[str, Any]:
    return {
        "description": one.message,
        "check_name": one.rule.id,
        "fingerprint": _unique(one),
        "severity": "info" if one.accepted else "minor" if one.level == "warning" else "major",
        "location": {"path": _shown_path(one.path), "lines": {"begin": max(one.line, 1)}},
    }


def _unique(one: Finding) -> str:
    """GitLab keeps one finding of a fingerprint: further ones get their own, still without a line
    number.
    """
    same = one.number == 1
    return one.fingerprint if same else digest("occurrence/1", [one.fingerprint, one.number])[:16]


_ROOT: Final = "%SRCROOT%"
_SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def sarif(found: Sequence[CheckedContent], version: str) -> dict[str, Any]:
    """A log with a run for each content looked at; `version` is ours. An empty run where there is
    no manifest.
    """
    alone = len(found) == 1
    # up to its last slash the ID is GitHub's category, by which it separates the analyses of one
    # commit
    runs = [_run(one, version, "kl/arch/" if alone else f"kl/arch/{one[0]}/") for one in found]
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": runs}


def _run(checked: CheckedContent, version: str, category: str) -> dict[str, Any]:
    source, verdict = checked
    found = findings(verdict) if verdict else []
    rules = list({one.rule.id: one.rule for one in found}.values())
    place = {rule.id: number for number, rule in enumerate(rules)}
    driver = {
        "name": "kl",
        "version": version,
        "rules": [
            {
                "id": rule.id,
                "name": rule.title,
                "shortDescription": {"text": rule.title},
                "fullDescription": {"text": rule.help},
                "help": {"text": rule.help},
                "defaultConfiguration": {"level": "error"},
            }
            for rule in rules
        ],
    }
    return {
        "tool": {"driver": driver},
        "automationDetails": {"id": category},
        "originalUriBaseIds": {
            _ROOT: {"description": {"text": "The top folder of the repository."}}
        },
        "invocations": [{"executionSuccessful": not (verdict and verdict.invalid)}],
        "columnKind": "unicodeCodePoints",
        "properties": {
            "source": source,
            "manifest": verdict.manifest.path if verdict else None,
            "unassigned": len(verdict.unassigned) if verdict else 0,
        },
        "results": [_result(one, place[one.rule.id]) for one in found],
    }


def _result(one: Finding, rule: int) -> dict[str, Any]:
    uri = quote(
        os.fsencode(one.path), safe="/"
    )  # undecodable bytes are surrogates in a path (PEP 383)
    place: dict[str, Any] = {"artifactLocation": {"uri": uri, "uriBaseId": _ROOT}}
    if one.line:
        place["region"] = {"startLine": one.line} | (
            {"startColumn": one.column} if one.column else {}
        )
    # GitHub's code scanning compares the first one only, to match the alerts of two uploads
    marks = {
        "primaryLocationLineHash": f"{one.fingerprint}:{one.number}",
        "klFinding/v1": one.fingerprint,
    }
    result = {
        "ruleId": one.rule.id,
        "ruleIndex": rule,
        "level": "note" if one.accepted else one.level,
        "baselineState": "unchanged" if one.accepted else "new",
        "message": {"text": one.message},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": marks,
    }
    if one.accepted:
        why = "accepted in .kl/baseline.json"
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": why}]
    return result


Flows = Mapping[tuple[str, str], int]
"""(layer, layer) → how many imports cross from one to the other."""
_RED, _ORANGE, _GREY = "#cc0000", "#cc7700", "#888888"
_MOST_PLACES: Final = 2


def mermaid(found: Sequence[CheckedContent], flows: Flows) -> list[str]:
    """The lines of the diagram; of several contents, everything that was found in any of them.

    `flows` count all imports between layers, forbidden ones too. Without a manifest: a diagram with
    nothing in it.
    """
    verdicts = [verdict for _, verdict in found if verdict]
    if not verdicts:
        return ["flowchart TD", "    %% no .kl/architecture.yaml"]
    names = list(
        dict.fromkeys(
            layer.name for verdict in verdicts for layer in reversed(verdict.manifest.layers)
        )
    )
    # numbered: a layer may be named `end`, a word that breaks a flowchart of Mermaid
    ids = {name: f"l{number}" for number, name in enumerate(names)}
    new = _by_pair(one for verdict in verdicts for one in verdict.violations)
    accepted = _by_pair(one for verdict in verdicts for one in verdict.accepted)
    allowed = {
        (layer.name, to)
        for verdict in verdicts
        for layer in verdict.manifest.layers
        for to in layer.may_depend_on
    }
    lines = ["flowchart TD", *(f'    {ids[name]}["{label(name)}"]' for name in names)]
    styles: list[str] = []

    def arrow(pair: tuple[str, str], text: str, colour: str) -> None:
        source, target = (ids[name] for name in pair)
        lines.append(f'    {source} {"-.->" if colour else "-->"}|"{label(text)}"| {target}')
        styles.append(colour)

    for pair in sorted(
        {*flows, *new, *accepted}, key=lambda pair: [names.index(name) for name in pair]
    ):
        count = flows.get(pair, 0)
        left = count - len(new[pair]) - len(accepted[pair])
        if pair in allowed and count:
            arrow(pair, str(count), "")
        elif left > 0:
            arrow(pair, f"{left} excepted", _GREY)
        if accepted[pair]:
            arrow(pair, f"{len(accepted[pair])} accepted", _ORANGE)
        if new[pair]:
            arrow(pair, _places(new[pair]), _RED)
    for colour, numbers in _numbers(styles).items():
        lines.append(f"    linkStyle {','.join(numbers)} stroke:{colour},color:{colour}")
    invalid = [one for verdict in verdicts if verdict.invalid for one in verdict.problems]
    remarks = [*invalid, *(one for verdict in verdicts for one in verdict.loosened)]
    lines += [f"    %% {one_line(str(one), 200)}" for one in remarks]
    outside = len(_unassigned_files(found))
    return [
        *lines,
        *([f"    %% {outside} file{'s' * (outside > 1)} in no layer"] if outside else []),
    ]


def label(text: str) -> str:
    """Text inside the quotes of a label: whatever Mermaid or HTML could take for a sign of its own
    as its number.
    """
    return "".join(
        sign if sign.isalnum() or sign in " _-." else f"#{ord(sign)};"
        for sign in one_line(text, 80)
    )


def _places(found: Sequence[Violation]) -> str:
    """`3 new, order.py:3, price.py:4 ...`, each file with its first line."""
    places = list(dict.fromkeys(f"{one.path.rpartition('/')[2]}:{one.line}" for one in found))
    more = " ..." if len(places) > _MOST_PLACES else ""
    return f"{len(found)} new, {', '.join(places[:_MOST_PLACES])}{more}"


def _by_pair(found: Iterable[Violation]) -> defaultdict[tuple[str, str], list[Violation]]:
    pairs: defaultdict[tuple[str, str], list[Violation]] = defaultdict(list)
    seen: Counter[tuple[str, str, int]] = Counter()
    for one in found:
        key = (one.fingerprint, one.path, one.line)
        if not seen[key]:
            pairs[one.source_layer, one.target_layer].append(one)
        seen[key] += 1
    return pairs


def _numbers(styles: Sequence[str]) -> dict[str, list[str]]:
    """Colour → numbers of the arrows that have it."""
    found: dict[str, list[str]] = {}
    for number, colour in enumerate(styles):
        if colour:
            found.setdefault(colour, []).append(str(number))
    return found


def _layer_flows(ws: Workspace, found: Sequence[CheckedContent]) -> dict[tuple[str, str], int]:
    """(layer, layer) → number of imports, allowed or not; of several contents the most that any
    has.
    """
    most: Counter[tuple[str, str]] = Counter()
    for source, verdict in found:
        if verdict is not None:
            seen = survey_imports(ws, load_content(ws, source))
            crossing = edges(verdict.manifest, seen.links_under(verdict.manifest), seen.modules)
            # `|` of two Counters is the larger of each count; `+` would count an import once for
            # each content
            most |= Counter((edge.source.name, edge.target.name) for edge in crossing)
    return dict(most)


_FORMATS: Final = ("json", "sarif", "github", "gitlab", "mermaid")


def render_document(
    ws: Workspace, shape: str, found: Sequence[CheckedContent], lists: bool = False
) -> str:
    """The whole output in one of `_FORMATS`, a newline at its end (empty where there is nothing to
    report).

    `lists`: JSON names the files in no layer.
    """
    if shape == "github":
        return _lines(github(found))
    if shape == "mermaid":
        return _lines(mermaid(found, _layer_flows(ws, found)))
    if shape == "gitlab":
        return _json(gitlab(found))
    if shape == "sarif":
        return _json(sarif(found, __version__))
    values = [_plain(source, verdict) for source, verdict in found]
    for value, (_, verdict) in zip(values, found, strict=True) if lists else ():
        value["unassigned_files"] = list(verdict.unassigned) if verdict else []
    clean = all(value["clean"] for value in values)
    return _json(
        values[0] if len(values) == 1 else {"schema": SCHEMA, "clean": clean, "checks": values}
    )


def _plain(source: str, verdict: Any) -> dict[str, Any]:
    if verdict is not None:
        return verdict_to_dict(verdict)
    empty: dict[str, Any] = {
        key: [] for key in ("violations", "accepted", "contracts", "problems", "warnings")
    }
    none: dict[str, Any] = {
        "manifest": None,
        "baseline": None,
        "decisions": {},
        "files": 0,
        "layers": 0,
        "unjudged": 0,
    }
    none |= {"unassigned": 0, "trusted": None, "invalid": False, "loosened": []}
    return {"schema": SCHEMA, "clean": True, "source": source, **none, **empty}


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


SCHEMA: Final = "kl.arch.check/2"


def verdict_to_dict(verdict: Verdict) -> dict[str, Any]:
    """As `--format json` prints it."""

    return {
        "schema": SCHEMA,
        "clean": verdict.clean,
        "violations": [violation_to_dict(one) for one in verdict.violations],
        "accepted": [violation_to_dict(one) for one in verdict.accepted],
        "baseline": verdict.baseline or None,
        "decisions": dict(verdict.titles),
        "contracts": [_breach_to_dict(one) for one in verdict.contracts],
        "problems": problems_to_list(verdict.problems),
        "warnings": problems_to_list(verdict.warnings),
        "files": verdict.files,
        "unjudged": verdict.unjudged,
        "unassigned": len(verdict.unassigned),
        "loosened": problems_to_list(verdict.loosened),
        "trusted": verdict.trusted or None,
        "invalid": verdict.invalid,
        "layers": len(verdict.manifest.layers),
        "manifest": verdict.manifest.path,
        "source": verdict.source,
    }
