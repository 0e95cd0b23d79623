"""A check as SARIF, GitHub annotations, a GitLab report, a Mermaid flowchart or JSON."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kl_hooks.arch.content import load_content
from kl_hooks.arch.import_survey import survey_imports
from kl_hooks.arch.layer_check import INDIRECT_METHOD, Verdict
from kl_hooks.arch.layers import edges
from kl_hooks.arch.report import _breach_to_dict, problems_to_list, violation_to_dict
from kl_hooks.model.canonical import digest
from kl_hooks.model.contract import Breach
from kl_hooks.model.diagnostic import Diagnostic, Report, Rule, numbered
from kl_hooks.model.manifest import MANIFEST, Violation
from kl_hooks.model.problem import Problem
from kl_hooks.model.report_formats.rendering import render
from kl_hooks.model.text import counted, one_line
from kl_hooks.workspace import Workspace

CheckedContent = tuple[str, Verdict | None]
"""What was looked at (`worktree`, `staged`, a revision), and what was found; None: it has no
manifest.
"""


_UNJUDGED: Final = Rule(
    "arch/not-judged",
    "A governed file could not be judged",
    "Every file of a layer must parse and, where the manifest is exhaustive, every file must belong"
    " to a layer: what can't be judged must not pass.",
)
_INVALID: Final = Rule(
    "arch/invalid-rules",
    "The manifest or the baseline is invalid",
    "Nothing is checked until .kl/architecture.yaml and .kl/baseline.json can be read.",
)
_EMPTIED: Final = Rule(
    "arch/layer-emptied",
    "A layer lost its files",
    "A path of a layer matched files before and matches none now, so its rule forbids "
    "nothing. Where the folder was moved: kl arch mv OLD NEW. Where the files were removed, "
    "remove the path from .kl/architecture.yaml.",
)
_LOOSENED: Final = Rule(
    "arch/loosened",
    "The rules were loosened",
    "The commits that are checked also change the manifest or the baseline so that more is allowed"
    " than before. Review that change by itself; with --trust-ref REV the check fails.",
)
_LIST_UNASSIGNED: Final = "kl arch check --list-unassigned"
_UNASSIGNED: Final = Rule(
    "arch/unassigned",
    "Files in no layer",
    f"No rule governs them. List them: {_LIST_UNASSIGNED}",
)
_FIX: Final = (
    "Fix the import, or allow it for a while: kl arch allow FROM TO --until 30d --reason TEXT"
)


def findings(verdict: Verdict) -> list[Diagnostic]:
    """Everything that was found: what blocks first, then what the baseline accepts."""
    rules: dict[tuple[str, str], Rule] = {}

    def of(violation: Violation, accepted: bool) -> Diagnostic:
        pair = (violation.source_layer, violation.target_layer)
        if pair not in rules:
            rules[pair] = _rule(violation, verdict)
        return _violation(violation, rules[pair], accepted)

    if verdict.invalid:
        problem_rule = _INVALID
    else:
        problem_rule = _UNJUDGED
    level = "error" if verdict.trusted else "warning"
    return numbered(
        [
            *(_problem(problem, problem_rule) for problem in verdict.problems),
            *(_problem(problem, _EMPTIED) for problem in verdict.emptied),
            *(_problem(problem, _LOOSENED, level) for problem in verdict.loosened),
            *(of(violation, False) for violation in verdict.violations),
            *(_breach(breach, verdict) for breach in verdict.contracts),
            *(of(violation, True) for violation in verdict.accepted),
        ]
    )


def _decided(decision: str, verdict: Verdict) -> str:
    """`ADR-0004 "Domain stays pure"`; empty for a rule without a decision."""
    title = verdict.titles.get(decision, "")
    if decision and title:
        return f'{decision} "{title}"'
    return decision


def _rule(violation: Violation, verdict: Verdict) -> Rule:
    allowed = ", ".join(violation.allowed) or "nothing"
    behind = _decided(violation.decision, verdict)
    text = (
        f"{violation.source_layer} may import: {allowed}. Rule: {violation.rule}"
        + (f", {behind}. " if behind else ". ")
        + (_FIX if _excusable(violation, verdict) else "Fix one import of the chain.")
    )
    title = f"{violation.source_layer} must not import {violation.target_layer}"
    return Rule(
        f"layers/{violation.source_layer}/{violation.target_layer}",
        one_line(title),
        one_line(text, 1000),
    )


def _excusable(violation: Violation, verdict: Verdict) -> bool:
    """True where an import leads directly from layer to layer: an exception excuses no chain."""
    pair = (violation.source_layer, violation.target_layer)
    violations = (*verdict.violations, *verdict.accepted)
    return any(
        (other.source_layer, other.target_layer) == pair and other.method != INDIRECT_METHOD
        for other in violations
    )


def _violation(violation: Violation, rule: Rule, accepted: bool) -> Diagnostic:
    if violation.method in ("", "import"):
        method = ""
    else:
        method = f" ({violation.method})"
    if violation.decision:
        decision = f", {violation.decision}"
    else:
        decision = ""
    return Diagnostic(
        rule,
        violation.path,
        violation.line,
        f"{violation.statement}{method}: {rule.title} (layer rule, {violation.rule}{decision}).",
        violation.fingerprint,
        violation.suggested_fix,
        accepted=accepted,
        minor=violation.method == "type-checking import",  # nothing of it runs
    )


def _breach(breach: Breach, verdict: Verdict) -> Diagnostic:
    """A broken contract, at the first import of the chain; where there is none, at the contract
    itself.
    """
    decision = _decided(breach.decision, verdict)
    text = f"A contract of import-linter ({breach.type}). It is defined at {breach.rule}" + (
        f", decided in {decision}." if decision else "."
    )
    rule = Rule(
        f"contract/{breach.contract}",
        one_line(f"contract broken: {breach.contract}"),
        one_line(text, 1000),
    )
    chain = " -> ".join(
        [step.importer for step in breach.chain[:1]] + [step.imported for step in breach.chain]
    )
    path, _, line = breach.rule.rpartition(":")
    if breach.chain and breach.chain[0].path:
        first = breach.chain[0]
        path = first.path
        line = str(first.lines[0] if first.lines else 0)
    message = f"{rule.title}: {breach.message or chain} ({breach.rule})"
    return Diagnostic(rule, path, int(line), message, breach.fingerprint)


def _problem(problem: Problem, rule: Rule, level: str = "error") -> Diagnostic:
    fingerprint = digest("problem/1", [problem.path, problem.message])[:16]
    return Diagnostic(
        rule,
        problem.path,
        problem.line,
        problem.message,
        fingerprint,
        problem.hint,
        problem.column,
        level,
    )


def reports(contents: Sequence[CheckedContent]) -> list[Report]:
    """The findings of each content; none where there is no manifest."""
    alone = len(contents) == 1
    remarks = tuple(_unassigned(contents))
    return [
        Report(
            "kl/arch/" if alone else f"kl/arch/{source}/",
            findings(verdict) if verdict else (),
            not (verdict and verdict.invalid),
            {
                "source": source,
                "manifest": verdict.manifest.path if verdict else None,
                "unassigned": len(verdict.unassigned) if verdict else 0,
            },
            remarks,
            _worst_first,
        )
        for source, verdict in contents
    ]


def _unassigned_files(contents: Sequence[CheckedContent]) -> list[str]:
    """The files that belong to no layer, in any of the contents."""
    return sorted({path for _, verdict in contents if verdict for path in verdict.unassigned})


def _unassigned(contents: Sequence[CheckedContent]) -> Iterator[Diagnostic]:
    """One for all files in no layer, under a fingerprint that does not change with their number."""
    if number := len(_unassigned_files(contents)):
        message = f"{counted(number, 'file')} in no layer. List them: {_LIST_UNASSIGNED}"
        fingerprint = digest("unassigned/1", [MANIFEST])[:16]
        yield Diagnostic(_UNASSIGNED, MANIFEST, 1, message, fingerprint, level="note")


def _worst_first(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """What could not be judged, then every broken rule once before any twice; what runs before what
    is only typed.
    """
    counts: Counter[str] = Counter()
    ranked = []
    for entry in sorted(diagnostics, key=lambda entry: (entry.minor, entry.path, entry.line)):
        counts[entry.rule.id] += 1
        rank = (
            entry.level == "warning",
            not entry.rule.id.startswith("arch/"),
            counts[entry.rule.id],
            entry.minor,
        )
        ranked.append(((*rank, entry.path, entry.line), entry))
    return [entry for _, entry in sorted(ranked, key=lambda pair: pair[0])]


_Flows = Mapping[tuple[str, str], int]
"""(layer, layer) → how many imports cross from one to the other."""
_RED, _ORANGE, _GREY = "#cc0000", "#cc7700", "#888888"
_MOST_PLACES: Final = 2


def mermaid(checked: Sequence[CheckedContent], flows: _Flows) -> list[str]:
    """The lines of the diagram; of several contents, everything that was found in any of them.

    `flows` count all imports between layers, forbidden ones too. Without a manifest: a diagram with
    nothing in it.
    """
    verdicts = [verdict for _, verdict in checked if verdict]
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
    remarks = [
        *invalid,
        *(problem for verdict in verdicts for problem in (*verdict.emptied, *verdict.loosened)),
    ]
    lines += [f"    %% {one_line(str(one), 200)}" for one in remarks]
    outside = len(_unassigned_files(checked))
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


def _places(violations: Sequence[Violation]) -> str:
    """`3 new, order.py:3, price.py:4 ...`, each file with its first line."""
    places = list(
        dict.fromkeys(
            f"{violation.path.rpartition('/')[2]}:{violation.line}" for violation in violations
        )
    )
    ellipsis = " ..." if len(places) > _MOST_PLACES else ""
    return f"{len(violations)} new, {', '.join(places[:_MOST_PLACES])}{ellipsis}"


def _by_pair(violations: Iterable[Violation]) -> defaultdict[tuple[str, str], list[Violation]]:
    pairs: defaultdict[tuple[str, str], list[Violation]] = defaultdict(list)
    seen_counts: Counter[tuple[str, str, int]] = Counter()
    for violation in violations:
        key = (violation.fingerprint, violation.path, violation.line)
        if not seen_counts[key]:
            pairs[violation.source_layer, violation.target_layer].append(violation)
        seen_counts[key] += 1
    return pairs


def _numbers(styles: Sequence[str]) -> dict[str, list[str]]:
    """Colour → numbers of the arrows that have it."""
    numbers_by_colour: dict[str, list[str]] = {}
    for number, colour in enumerate(styles):
        if colour:
            numbers_by_colour.setdefault(colour, []).append(str(number))
    return numbers_by_colour


def _layer_flows(ws: Workspace, checked: Sequence[CheckedContent]) -> dict[tuple[str, str], int]:
    """(layer, layer) → number of imports, allowed or not; of several contents the most that any
    has.
    """
    most: Counter[tuple[str, str]] = Counter()
    for source, verdict in checked:
        if verdict is not None:
            survey = survey_imports(ws, load_content(ws, source), verdict.manifest)
            crossing = edges(verdict.manifest, survey.links_under(verdict.manifest), survey.modules)
            # `|` of two Counters is the larger of each count; `+` would count an import once for
            # each content
            most |= Counter((edge.source.name, edge.target.name) for edge in crossing)
    return dict(most)


def report_text(shape: str, checked: Sequence[CheckedContent]) -> str:
    """The whole output as one of `report_formats`; empty where there is nothing to report."""
    return render(shape, reports(checked), "kl arch check", MANIFEST)


def mermaid_text(ws: Workspace, checked: Sequence[CheckedContent]) -> str:
    """The layers as a flowchart of Mermaid."""
    return "".join(f"{line}\n" for line in mermaid(checked, _layer_flows(ws, checked)))


def checks_to_dict(checked: Sequence[CheckedContent], *, lists: bool = False) -> dict[str, Any]:
    """The checks as JSON has them. `lists`: it names the files in no layer."""
    values = [_plain(source, verdict) for source, verdict in checked]
    for value, (_, verdict) in zip(values, checked, strict=True) if lists else ():
        value["unassigned_files"] = list(verdict.unassigned) if verdict else []
    if len(values) == 1:
        return values[0]
    clean = all(value["clean"] for value in values)
    return {"schema": SCHEMA, "clean": clean, "checks": values}


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
    none |= {"unassigned": 0, "trusted": None, "invalid": False, "loosened": [], "emptied": []}
    return {"schema": SCHEMA, "clean": True, "source": source, **none, **empty}


SCHEMA: Final = "kl.arch.check/3"


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
        "emptied": problems_to_list(verdict.emptied),
        "loosened": problems_to_list(verdict.loosened),
        "trusted": verdict.trusted or None,
        "invalid": verdict.invalid,
        "layers": len(verdict.manifest.layers),
        "manifest": verdict.manifest.path,
        "source": verdict.source,
    }
