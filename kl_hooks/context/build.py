"""Build: a workspace, a request and a budget in; a context package out.

`assemble` is pure: the same input gives the same package, its ID included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Final

from kl_hooks.config.settings import POLICY_FILE
from kl_hooks.context.access import find_policy
from kl_hooks.context.fuse import Ranked, fuse, relevance, sift
from kl_hooks.context.gather import Gathered, add_utility, all_retrievers, code_of, combine, gather, near_code
from kl_hooks.context.page import (
    HALVES,
    NOTHING,
    QUARTERS,
    STYLES,
    SUMMARY,
    UNKNOWN_ID,
    Chosen,
    Code,
    Fitted,
    Shares,
    Style,
    budget_characters,
    estimator_of,
    fit,
    grouped,
    read_budget,
    unfitted_pins,
    write_budget,
)
from kl_hooks.context.signals import read_signals
from kl_hooks.errors import UsageProblem
from kl_hooks.hookspecs import Retriever
from kl_hooks.index.index import split_all, stem
from kl_hooks.model.canonical import digest
from kl_hooks.model.claim import Tier
from kl_hooks.model.package import (
    CODE,
    QUOTA,
    WORK,
    Budget,
    Candidate,
    Item,
    Omission,
    Package,
    Query,
    Request,
    Search,
    Signals,
    Task,
)
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import counted, one_line

if TYPE_CHECKING:
    from kl_hooks.context.policy import Policy
    from kl_hooks.context.quota import Quota
    from kl_hooks.context.related import Changes
    from kl_hooks.workspace import Workspace

ROUND_PERCENT: Final = 50
"""What a further round counts, of the first one."""
_BEST: Final = 5
"""Records, and symbols, whose words the next round asks for …"""
_NONE: Final[Mapping[str, int]] = {}
_NEW_WORDS: Final = 8
"""… so many of them, and so many that nothing found has."""
NOTHING_NEW: Final = "Nothing new: what fits this task was given before."
NO_WORDS: Final = "The task holds no word to search by: name a symbol, a file or an error."


def build(
    ws: Workspace, request: Request, given: Collection[str] = (), actor: str = "", learned: Mapping[str, int] = _NONE
) -> Package:  # fmt: skip
    """Return the package for a task: ranked, cited, and never larger than its budget when rendered.

    The same request and knowledge give the same package, its ID included. Retrievers that fail are named in
    `coverage`. `given`: IDs of what the reader has already; they are not considered. `actor`: whom the policy is
    evaluated for (empty: whoever runs this). `learned`: retriever → percent of its weight. Raises UsageProblem for a
    task without text, a wrong budget, a wrong policy, or a pin, range, revision or role that names nothing,
    EnvironmentProblem where kl has not been set up.
    """
    from kl_hooks.workspace import require_setup, workspace_at

    _check(request)
    require_setup(ws)
    policy = find_policy(ws, actor)  # today's, also for an older revision: what it denies now is denied there too
    if not request.at:
        with ws.store.reusing():
            return _build(ws, request, given, policy, learned)
    from kl_hooks.arch.content import require_repository
    from kl_hooks.git.repository import resolve_commit

    with workspace_at(ws, resolve_commit(require_repository(ws), request.at)) as past, past.store.reusing():
        return _build(past, request, given, policy, learned)


def _check(request: Request) -> None:
    """Raise UsageProblem for a request that can't be answered."""
    if request.budget:
        read_budget(request.budget)
    if request.profile != QUOTA and any(getattr(request, name) for name in WORK):
        name = next(name for name in WORK if getattr(request, name))
        raise UsageProblem(f"has no effect with the profile {request.profile}.", place=f"--{name}",
                           hint=f"Use --profile {QUOTA}, or omit --profile.")  # fmt: skip
    if not request.changed and not "".join((request.task, *request.queries)).strip():
        raise UsageProblem("the task is empty.", place="kl context", hint='Describe the work: kl context "…"')


def _build(
    ws: Workspace, request: Request, given: Collection[str], policy: Policy | None, learned: Mapping[str, int]
) -> Package:  # fmt: skip
    from kl_hooks.git.repository import head
    from kl_hooks.store.redaction import redact

    changes = quota = None
    if request.changed:
        from kl_hooks.context.related import find_changes

        changes = find_changes(ws, request.changed)
    texts = [one for one in (request.task, *request.queries) if one.strip()]
    if not texts and changes:
        texts = [changes.text]
    task = _task(texts, changes)
    extra = []
    if request.profile == QUOTA:
        from kl_hooks.context.quota import actor_items, plan_quota

        quota = plan_quota(ws, request, task.text)
        extra = actor_items(ws, quota.traits)
    found, searches = _search(ws, request, texts, changes, learned)
    queries = [
        Query(name, sum(len(rows) for one, rows in found.lists.items() if one.partition(", ")[0] == name), how,
              found.times.get(name, 0))
        for name, how in found.coverage.items()
    ]  # fmt: skip
    if extra:
        found = replace(found, lists={**found.lists, "actor": tuple(extra)})
    from kl_hooks.context.related import add_related

    found = replace(found, lists=add_utility(ws, found.lists))
    found = add_related(ws, request, task, found, redact, policy, changes)
    commit, _, tree = head(ws.repo) if ws.repo else (None, None, "")
    if not request.budget:
        request = replace(request, budget=f"{quota.tokens}tok" if quota else str(ws.settings.budget))
    made = assemble(task, found, request, tree, given, policy, quota)
    return replace(made, searches=tuple(searches), queries=tuple(queries), commit=commit or "")


def _task(texts: Sequence[str], changes: Changes | None = None) -> Task:
    """Return the task of these texts: its signals are those of all."""
    signals = [read_signals(one) for one in texts]
    parts = {one.name: tuple(dict.fromkeys(x for some in signals for x in getattr(some, one.name)))
             for one in fields(Signals)}  # fmt: skip
    names, paths = (changes.names, changes.paths) if changes else ((), ())
    return Task("\n".join(texts), Signals(**parts), tuple(one.rpartition(":")[2] for one in names), paths)


def _search(
    ws: Workspace, request: Request, texts: Sequence[str], changes: Changes | None, learned: Mapping[str, int]
) -> tuple[Gathered, list[Search]]:  # fmt: skip
    """Return what is found for these texts, each searched by itself, and what each search added.

    A further round asks for the words of the task that nothing found has, with words of the best items of before.
    """
    from kl_hooks.context.ranking import ROWS, find_code
    from kl_hooks.store.redaction import redact

    retrievers, failed = all_retrievers(ws.plugins)
    # no hook: code is ranked in this package, and a hook's own module would be one more that every package runs
    retrievers = sorted([*retrievers, Retriever("code", 100, find_code, ROWS)], key=lambda one: one.name)
    retrievers = [one._replace(weight=one.weight * learned.get(one.name, 100) // 100) for one in retrievers]
    asked = [("query 1", 100, one) for one in texts[:1]]
    asked += [(f"query {number}", 100, one) for number, one in enumerate(texts[1:], 2)]
    answers: list[tuple[str, int, Gathered]] = []
    searches: list[Search] = []
    seen: set[tuple[str, str]] = set()
    while asked:
        name, percent, text = asked.pop(0)
        task = _task([text], changes)
        some, broken = retrievers, failed
        if request.weight == "none":
            some, broken = [], {}
        elif task.signals == Signals():  # no words to search by: only what applies to every task
            some, broken = [one for one in retrievers if one.name == "standing"], {}
        found = _weighed(gather(some, ws, task, redact), learned)
        answers.append((name, percent, replace(found, coverage={**found.coverage, **broken})))
        here = {(row.id, row.path) for rows in found.lists.values() for row in rows}
        searches.append(Search(name, text, len(here - seen)))
        seen |= here
        rounds = 1 + len(answers) - max(len(texts), 1)
        if not asked and rounds < request.rounds and searches[-1].found:
            words = next_words(texts, combine(answers), [one.text for one in searches])
            asked = [(f"round {rounds + 1}", ROUND_PERCENT, words)] if words else []
    whole = combine(answers)
    whole = replace(whole, coverage=dict(sorted(whole.coverage.items())))
    return whole, searches if len(searches) > 1 else []


def _weighed(found: Gathered, learned: Mapping[str, int]) -> Gathered:
    """Return what was gathered; candidates state where recall changed the weight of their list."""
    lists = {
        name: tuple(replace(one, reasons=(*one.reasons, f"{name} weighs {learned[name]} % by recall")) for one in rows)
        for name, rows in found.lists.items() if learned.get(name, 100) != 100
    }  # fmt: skip
    return replace(found, lists={**found.lists, **lists}) if lists else found


def next_words(texts: Sequence[str], found: Gathered, asked: Sequence[str]) -> str:
    """Return what the next round asks for; empty where nothing new is left to ask.

    The words of the task that no item holds, and those that the names and titles of the best items have in common.
    """
    known = {stem(word) for text in asked for word in split_all(text).lower().split()}
    records = [one.candidate for one in fuse(found.lists, found.weights)[:_BEST]]
    best = [*(one.candidate for one in code_of(found.lists).symbols[:_BEST]), *records]
    texts_found = [f"{one.id} {one.title} {one.summary} {one.text}".lower() for one in best]
    missing = [w for text in texts for w in read_signals(text).keywords if not any(stem(w) in t for t in texts_found)]
    counts: Counter[str] = Counter()
    for one in best:
        name = split_id(one.id)[1].rpartition(".")[2] if one.kind in CODE else one.title
        words = [word for word in read_signals(split_all(name)).keywords if word.isalpha() and stem(word) not in known]
        counts.update(dict.fromkeys(words, 1))
    # most_common() is stable: of equally frequent words those of the best items come first
    common = [word for word, _ in counts.most_common(_NEW_WORDS)]
    return " ".join(dict.fromkeys([*missing[:_NEW_WORDS], *common])) if common else ""


def assemble(
    task: Task, found: Gathered, request: Request, tree: str = "", given: Collection[str] = (),
    policy: Policy | None = None, quota: Quota | None = None,
) -> Package:  # fmt: skip
    """Return the package of what was found for a content tree. KeyError for a style or a profile that is not known."""
    style, budget = STYLES[request.style], read_budget(request.budget, HALVES if quota else QUARTERS)
    ranked, code = fuse(found.lists, found.weights, request.profile), code_of(found.lists)
    denied: list[Omission] = []
    decision = None
    if policy:
        from kl_hooks.context.policy import conceal, govern

        governed = govern(policy, ranked, code, found.lists)
        ranked, code, denied, decision = governed.ranked, governed.code, governed.omissions, governed.decision
    relevant, irrelevant = sift(ranked, task.signals, quota.threshold if quota else 0)
    code, far = near_code(code, budget_characters(budget))
    omissions = [*denied, *irrelevant, *far]
    if request.weight == "low":
        unproven = [one for one in relevant if one.candidate.tier in (Tier.GUESSED, Tier.ASSUMED)]
        omissions += [Omission(one.candidate.id, "not proven: the weight is low") for one in unproven]
        relevant = [one for one in relevant if one not in unproven]
    if policy:  # not before: the text decides what is relevant
        relevant = [replace(one, candidate=conceal(one.candidate)) for one in relevant]
    nothing = f"Nothing to show: {POLICY_FILE} denies {len(denied)} of the items found." if denied else NOTHING
    if given:  # not before: the best that is left would set what is relevant
        before = bool(relevant or code.files or code.symbols)
        relevant = [one for one in relevant if one.candidate.id not in given]
        code = _without(code, given)
        if before and not relevant and not code.files:
            nothing = NOTHING_NEW
    if request.max_sources:
        files = code.files[: max(request.max_sources - len(relevant), request.max_sources // 2)]
        rest = relevant[request.max_sources - len(files) :]
        omissions += [Omission(one.candidate.id, f"over {counted(request.max_sources, 'source')}") for one in rest]
        relevant = relevant[: request.max_sources - len(files)]
        code = Code(files, code.symbols)
    notes = _notes(task, found, request)
    if request.weight == "none" or task.signals == Signals():
        nothing = ""  # a note has the reason
    shares = _shares(quota, budget) if quota else None
    fitted = fit(relevant, budget, style, code=code, notes=notes, omissions=omissions, nothing=nothing, shares=shares)
    if not request.max_sources:
        _require_pins(unfitted_pins(fitted, relevant, code), budget, style)
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
    divided = _divided(quota, ranked, code, fitted, style, task.signals) if quota else {}
    return Package(
        package_id, task.text, fitted.budget, items, fitted.omissions, found.coverage, text, sizes, decision,
        quota=divided,
    )  # fmt: skip


def _require_pins(missing: Sequence[Candidate], budget: Budget, style: Style) -> None:
    """Raise UsageProblem where something is pinned and did not fit: a package without it is not what was asked for."""
    if missing:
        count = estimator_of(budget).count
        sizes = (f"{one.id} ({count(style.item(one, 'summary', one_line(one.summary or one.title, SUMMARY)))})"
                 for one in missing)  # fmt: skip
        raise UsageProblem(
            f"{', '.join(sizes)} can't be included: the pins are larger than {budget.total} {budget.unit}, each as a "
            "line.", place="--pin", hint="Pin less, or give more: --budget 6000",
        )  # fmt: skip


def _shares(quota: Quota, budget: Budget) -> Shares:
    from kl_hooks.context.quota import EARLY_END, HEADING

    allocations = {name: quota.allocation(name, budget.total) for name in quota.weights}
    return Shares(HEADING, allocations, quota.category, EARLY_END)


def _divided(
    quota: Quota, ranked: Sequence[Ranked], code: Code, fitted: Fitted, style: Style, signals: Signals
) -> dict[str, object]:  # fmt: skip
    """Return how the budget was divided and used, and the metrics of the retrieval."""
    from kl_hooks.context.quota import Measured, metrics

    shown = {(one.ranked.candidate.id, one.ranked.candidate.path) for one in (*fitted.chosen, *fitted.code)}
    best = max((one.score for one in code.files), default=0) or 1
    measured = []
    for one in (*ranked, *code.files):
        found = one.candidate
        # code of the ranking is above its own threshold (`gather.code_of`)
        value = min(one.score * 1000 // best, 1000) if found.kind in CODE else relevance(one, signals)
        above = found.kind in CODE or value >= quota.threshold
        measured.append(Measured(quota.category(found.kind), value, above, (found.id, found.path) in shown))
    plain = quota.to_dict(fitted.budget.total)
    count = estimator_of(fitted.budget).count
    for name, share in plain["shares"].items():
        blocks = [one.block for one in fitted.chosen if one.category == name]
        blocks += [style.file(f.ranked.candidate, inside) for f, inside in grouped(fitted.code) if f.category == name]
        share |= {"used": count("".join(blocks)) if blocks else 0, "items": len(blocks)}
    return {**plain, "metrics": metrics(measured, fitted.budget.used, fitted.budget.total)}


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
    tokens = QUARTERS.count(size)
    return Item(ranked.candidate, chosen.form, chosen.text, tokens, ranked.score, ranked.parts, chosen.category)


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
