"""Build: a workspace, a request and a budget in; a context package out.

`assemble` is pure: the same input gives the same package, its ID included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kl_hooks.config.settings import POLICY_FILE
from kl_hooks.context.access import find_policy
from kl_hooks.context.fuse import fuse, sift
from kl_hooks.context.gather import Gathered, add_utility, all_retrievers, code_of, gather, near_code
from kl_hooks.context.page import (
    NOTHING,
    QUARTERS,
    STYLES,
    UNKNOWN_ID,
    Chosen,
    Code,
    Fitted,
    Style,
    fit,
    grouped,
    read_budget,
    write_budget,
)
from kl_hooks.context.signals import read_signals
from kl_hooks.errors import UsageProblem
from kl_hooks.hookspecs import Retriever
from kl_hooks.model.canonical import digest
from kl_hooks.model.claim import Tier
from kl_hooks.model.package import Item, Omission, Package, Query, Request, Signals, Task
from kl_hooks.model.text import counted

if TYPE_CHECKING:
    from kl_hooks.context.policy import Policy
    from kl_hooks.workspace import Workspace

NO_WORDS: Final = "The task holds no word to search by: name a symbol, a file or an error."


def build(ws: Workspace, request: Request, given: Collection[str] = (), actor: str = "") -> Package:
    """Return the package for a task: ranked, cited, and never larger than its budget when rendered.

    The same request and knowledge give the same package, its ID included. Retrievers that fail are named in
    `coverage`. `given`: IDs of what the reader has already; they are not considered. `actor`: whom the policy is
    evaluated for (empty: whoever runs this). Raises UsageProblem for a task without text, a wrong budget, a wrong
    policy or a pin that names nothing, EnvironmentProblem where kl has not been set up.
    """
    from kl_hooks.context.ranking import ROWS, find_code
    from kl_hooks.context.related import add_related
    from kl_hooks.git.repository import head
    from kl_hooks.store.redaction import redact
    from kl_hooks.workspace import require_setup

    read_budget(request.budget)
    if not request.task.strip():
        raise UsageProblem("the task is empty.", place="kl context", hint='Describe the work: kl context "…"')
    require_setup(ws)
    policy = find_policy(ws, actor)
    task = Task(request.task, read_signals(request.task))
    retrievers, failed = all_retrievers(ws.plugins)
    # no hook: code is ranked in this package, and a hook's own module would be one more that every package runs
    retrievers = sorted([*retrievers, Retriever("code", 100, find_code, ROWS)], key=lambda one: one.name)
    if request.weight == "none":
        retrievers, failed = [], {}
    elif task.signals == Signals():  # no words to search by: only what applies to every task
        retrievers, failed = [one for one in retrievers if one.name == "standing"], {}
    found = gather(retrievers, ws, task, redact)
    found = replace(found, coverage=dict(sorted({**found.coverage, **failed}.items())))
    queries = [
        Query(name, len(found.lists.get(name, ())), how, found.times.get(name, 0))
        for name, how in found.coverage.items()
    ]
    found = replace(found, lists=add_utility(ws, found.lists))
    found = add_related(ws, request, task, found, redact, policy)
    commit, _, tree = head(ws.repo) if ws.repo else (None, None, "")
    made = assemble(task, found, request, tree, given, policy)
    return replace(made, queries=tuple(queries), commit=commit or "")


def assemble(
    task: Task, found: Gathered, request: Request, tree: str = "", given: Collection[str] = (),
    policy: Policy | None = None,
) -> Package:  # fmt: skip
    """Return the package of what was found for a content tree. KeyError for a style or a profile that is not known."""
    style, budget = STYLES[request.style], read_budget(request.budget)
    ranked, code = fuse(found.lists, found.weights, request.profile), code_of(found.lists)
    denied: list[Omission] = []
    decision = None
    if policy:
        from kl_hooks.context.policy import conceal, govern

        governed = govern(policy, ranked, code, found.lists)
        ranked, code, denied, decision = governed.ranked, governed.code, governed.omissions, governed.decision
    relevant, irrelevant = sift(ranked, task.signals)
    code, far = near_code(code)
    omissions = [*denied, *irrelevant, *far]
    if request.weight == "low":
        unproven = [one for one in relevant if one.candidate.tier in (Tier.GUESSED, Tier.ASSUMED)]
        omissions += [Omission(one.candidate.id, "not proven: the weight is low") for one in unproven]
        relevant = [one for one in relevant if one not in unproven]
    if policy:  # not before: the text decides what is relevant
        relevant = [replace(one, candidate=conceal(one.candidate)) for one in relevant]
    if given:  # not before: the best that is left would set what is relevant
        relevant = [one for one in relevant if one.candidate.id not in given]
        code = _without(code, given)
    if request.max_sources:
        files = code.files[: max(request.max_sources - len(relevant), request.max_sources // 2)]
        rest = relevant[request.max_sources - len(files) :]
        omissions += [Omission(one.candidate.id, f"over {counted(request.max_sources, 'source')}") for one in rest]
        relevant = relevant[: request.max_sources - len(files)]
        code = Code(files, code.symbols)
    notes = _notes(task, found, request)
    nothing = f"Nothing to show: {POLICY_FILE} denies {len(denied)} of the items found." if denied else NOTHING
    if request.weight == "none" or task.signals == Signals():
        nothing = ""  # a note has the reason
    fitted = fit(relevant, budget, style, code=code, notes=notes, omissions=omissions, nothing=nothing)
    items = tuple(_item(chosen) for chosen in (*fitted.chosen, *fitted.code))
    config = {"budget": write_budget(budget), "style": request.style, "weights": dict(found.weights)}
    facts = {
        "task": task.text,
        "tree": tree,
        "config": {**config, **request.options()},
        "coverage": dict(found.coverage),
    }
    if decision:
        facts["policy"] = decision.id
    package_id = _id(fitted, style, facts)
    text, sizes = fitted.page(style, package_id), _characters_by_kind(fitted, style)
    return Package(package_id, task.text, fitted.budget, items, fitted.omissions, found.coverage, text, sizes, decision)


def _without(code: Code, given: Collection[str]) -> Code:
    """The code without what was given; a file stays where one of its symbols does."""
    symbols = tuple(one for one in code.symbols if one.candidate.id not in given)
    paths = {one.candidate.path for one in symbols}
    files = (one for one in code.files if one.candidate.id not in given or one.candidate.path in paths)
    return Code(tuple(files), symbols)


def _notes(task: Task, found: Gathered, request: Request) -> list[str]:
    """Return what a reader must know before taking the package for complete."""
    if request.weight == "none":
        return ["Nothing was searched: the weight is none."]
    failed = [name for name, how in found.coverage.items() if how.startswith("failed")]
    notes = [NO_WORDS] if task.signals == Signals() else []
    return [*notes, f"Not searched: {', '.join(failed)}. See: kl doctor"] if failed else notes


def _item(chosen: Chosen) -> Item:
    ranked = chosen.ranked
    size = chosen.block or f"{ranked.candidate.title}:{ranked.candidate.line} {chosen.text}"
    return Item(ranked.candidate, chosen.form, chosen.text, QUARTERS.count(size), ranked.score, ranked.parts)


def _characters_by_kind(fitted: Fitted, style: Style) -> dict[str, int]:
    sizes: Counter[str] = Counter()
    for chosen in fitted.chosen:
        sizes[chosen.ranked.candidate.kind] += len(chosen.block)
    for file, symbols in grouped(fitted.code):
        sizes["code"] += len(style.file(file.ranked.candidate, symbols))
    return dict(sorted(sizes.items()))


def _id(fitted: Fitted, style: Style, facts: Mapping[str, object]) -> str:
    """Return a digest of everything but time and caller; the text is hashed with a placeholder for the ID."""
    chosen = (*fitted.chosen, *fitted.code)
    items = [[c.ranked.candidate.id, c.form, c.ranked.score, list(c.ranked.candidate.reasons)] for c in chosen]
    whole = digest("package/1", {**facts, "items": items, "text": fitted.page(style)})
    return "cp-" + whole[: len(UNKNOWN_ID) - len("cp-")]
