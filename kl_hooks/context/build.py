"""Build: a workspace, a request and a budget in; a context package out.

Every text of the task is searched by itself, in rounds; `page.assemble` makes the package of what
was found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kl_hooks.context.access import find_policy
from kl_hooks.context.fuse import fuse
from kl_hooks.context.gather import Gathered, all_retrievers, code_of, gather
from kl_hooks.context.page import assemble, read_budget
from kl_hooks.context.signals import read_signals, without_secrets
from kl_hooks.errors import KlError, UsageProblem
from kl_hooks.hookspecs import Retriever
from kl_hooks.index.index import split_all, stem
from kl_hooks.model.package import CODE, Candidate, Package, Query, Search, Signals, Task
from kl_hooks.model.request import BRIEF, QUOTA, QUOTA_FIELDS, Request
from kl_hooks.model.symbol import split_id
from kl_hooks.model.text import counted

if TYPE_CHECKING:
    from kl_hooks.context.page import Shortening
    from kl_hooks.context.policy import Policy
    from kl_hooks.context.related import Changes
    from kl_hooks.context.veil import Veil
    from kl_hooks.workspace import Workspace

_ROUND_PERCENT: Final = 50
"""What a further round counts, of the first one."""
_BEST: Final = 5
"""Records, and symbols, whose words the next round asks for …"""
_NEW_WORDS: Final = 8
"""… so many of them, and so many that nothing found has."""


def build(
    ws: Workspace,
    request: Request,
    excluded: Collection[str] = (),
    actor: str = "",
) -> Package:
    """Return the package for a task: ranked, cited, and never larger than its budget when rendered.

    The same request and knowledge give the same package, its ID included. Retrievers that fail are
    named in `coverage`. `excluded`: IDs of what the reader has already; they are not considered.
    `actor`: whom the policy is evaluated for (empty: whoever runs this). Raises UsageProblem for a
    task without text, a wrong budget, a wrong policy, or a pin, range, revision or role that names
    nothing, EnvironmentProblem where kl has not been set up.
    """
    from kl_hooks.workspace import require_setup, workspace_at

    request = without_secrets(request)
    _require_answerable(request)
    require_setup(ws)
    # today's, also for an older revision: what it denies now is denied there too
    policy = find_policy(ws, actor)
    if not request.at:
        with ws.store.reusing():
            return _build(ws, request, excluded, policy)
    from kl_hooks.arch.content import require_repository
    from kl_hooks.git.repository import resolve_commit

    with (
        workspace_at(ws, resolve_commit(require_repository(ws), request.at)) as past,
        past.store.reusing(),
    ):
        return _build(past, request, excluded, policy)


def _require_answerable(request: Request) -> None:
    """Raise UsageProblem for a request that can't be answered."""
    if request.budget:
        read_budget(request.budget)
    unused = [name for name in QUOTA_FIELDS if getattr(request, name)]
    if request.profile != QUOTA and unused:
        raise UsageProblem(
            f"has no effect with the profile {request.profile}.",
            place=f"--{unused[0]}",
            hint=f"Use --profile {QUOTA}, or omit --profile.",
        )
    if not request.changed and not "".join((request.task, *request.queries)).strip():
        raise UsageProblem(
            "the task is empty.", place="kl context", hint='Describe the work: kl context "…"'
        )


def _build(
    ws: Workspace,
    request: Request,
    excluded: Collection[str],
    policy: Policy | None,
) -> Package:
    from kl_hooks.git.repository import head
    from kl_hooks.store.redaction import redact

    changes = quota = None
    if request.changed:
        from kl_hooks.context.related import find_changes

        changes = find_changes(ws, request.changed)
    texts = [text for text in (request.task, *request.queries) if text.strip()]
    if not texts and changes:
        texts = [changes.text]
    task = _task(texts, changes)
    extra = []
    if request.profile == QUOTA:
        from kl_hooks.context.quota import actor_items, plan_quota

        quota = plan_quota(ws, request, task.text)
        extra = actor_items(ws, quota.traits)
    gathered, searches = _search(ws, request, texts, changes)
    queries = [
        Query(
            name,
            sum(
                len(rows)
                for list_name, rows in gathered.lists.items()
                if list_name.partition(", ")[0] == name
            ),
            state,
            gathered.times.get(name, 0),
        )
        for name, state in gathered.coverage.items()
    ]
    if extra:
        gathered = replace(gathered, lists={**gathered.lists, "actor": tuple(extra)})
    from kl_hooks.context.related import add_related

    gathered = replace(gathered, lists=_add_utility(ws, gathered.lists))
    gathered = add_related(ws, request, task, gathered, redact, policy, changes)
    commit, _, tree = head(ws.repo) if ws.repo else (None, None, "")
    if not request.budget:
        request = request._replace(
            budget=f"{quota.tokens}tok" if quota else str(ws.settings.budget)
        )
    veil = _veil(ws, policy)
    shortening = _shortening(request)
    package = assemble(task, gathered, request, tree, excluded, policy, quota, veil, shortening)
    return replace(package, searches=tuple(searches), queries=tuple(queries), commit=commit or "")


def _veil(ws: Workspace, policy: Policy | None) -> Veil | None:
    if policy is None or not policy.concerns_actor:
        return None
    from kl_hooks.context.veil import HiddenKnowledge

    return HiddenKnowledge(ws, policy).veil


def _shortening(request: Request) -> Shortening | None:
    if request.profile != BRIEF:
        return None
    from kl_hooks.context.brief import SHORTENING

    return SHORTENING


def _add_utility(
    ws: Workspace, lists: Mapping[str, tuple[Candidate, ...]]
) -> dict[str, tuple[Candidate, ...]]:
    """Return the lists with how often each record helped. A store that can't be read changes
    nothing.
    """
    ids = sorted(
        {
            candidate.id
            for rows in lists.values()
            for candidate in rows
            if candidate.kind in ws.kinds
        }
    )
    from kl_hooks.records.events import events_by_record

    try:
        if ids:
            outcomes_by_record = events_by_record(ws, ids, ("outcome",))
        else:
            outcomes_by_record = {}
    except (KlError, OSError):  # the retrievers of records have reported it
        outcomes_by_record = {}
    results = {
        record_id: [event.body.get("result") for event in events]
        for record_id, events in outcomes_by_record.items()
    }
    helped = {
        record_id: some.count("positive") - some.count("negative")
        for record_id, some in results.items()
    }
    return {
        name: tuple(_with_utility(candidate, helped.get(candidate.id, 0)) for candidate in rows)
        for name, rows in lists.items()
    }


def _with_utility(candidate: Candidate, helped: int) -> Candidate:
    if helped <= 0:
        return candidate
    return candidate._replace(
        helped=helped,
        reasons=(*candidate.reasons, f"helped in {counted(helped, 'task')}"),
    )


def _task(texts: Sequence[str], changes: Changes | None = None) -> Task:
    """Return the task of these texts: its signals are those of all."""
    signals = [read_signals(one) for one in texts]
    parts = {
        name: tuple(dict.fromkeys(word for read in signals for word in getattr(read, name)))
        for name in Signals._fields
    }
    names, paths = (changes.names, changes.paths) if changes else ((), ())
    return Task(
        "\n".join(texts), Signals(**parts), tuple(one.rpartition(":")[2] for one in names), paths
    )


def _search(
    ws: Workspace,
    request: Request,
    texts: Sequence[str],
    changes: Changes | None,
) -> tuple[Gathered, list[Search]]:
    """Return what is found for these texts, each searched by itself, and what each search added.

    A further round asks for the words of the task that nothing found has, with words of the best
    items of before.
    """
    from kl_hooks.context.ranking import ROWS, find_code
    from kl_hooks.store.redaction import redact

    retrievers, failed = all_retrievers(ws.plugins)
    source_weights = ws.settings.source_weights
    # no hook: code is ranked in this package, and a hook's own module would be one more that every
    # package runs
    retrievers = sorted(
        [*retrievers, Retriever("code", 100, find_code, ROWS)], key=lambda one: one.name
    )
    retrievers = [
        retriever._replace(weight=retriever.weight * source_weights.get(retriever.name, 100) // 100)
        for retriever in retrievers
    ]
    asked = [("query 1", 100, one) for one in texts[:1]]
    asked += [(f"query {number}", 100, one) for number, one in enumerate(texts[1:], 2)]
    answers: list[tuple[str, int, Gathered]] = []
    searches: list[Search] = []
    keys_seen: set[tuple[str, str]] = set()
    while asked:
        name, percent, text = asked.pop(0)
        task = _task([text], changes)
        chosen, broken = retrievers, failed
        if request.weight == "none":
            chosen = []
            broken = {}
        elif task.signals == Signals():  # no words to search by: only what applies to every task
            chosen = [one for one in retrievers if one.name == "standing"]
            broken = {}
        gathered_now = _weighed(gather(chosen, ws, task, redact), source_weights)
        answers.append(
            (name, percent, replace(gathered_now, coverage={**gathered_now.coverage, **broken}))
        )
        here = {(row.id, row.path) for rows in gathered_now.lists.values() for row in rows}
        searches.append(Search(name, text, len(here - keys_seen)))
        keys_seen |= here
        rounds = 1 + len(answers) - max(len(texts), 1)
        if not asked and rounds < request.rounds and searches[-1].found:
            words = _next_words(texts, combine(answers), [one.text for one in searches])
            if words:
                asked = [(f"round {rounds + 1}", _ROUND_PERCENT, words)]
            else:
                asked = []
    whole = combine(answers)
    whole = replace(whole, coverage=dict(sorted(whole.coverage.items())))
    return whole, searches if len(searches) > 1 else []


def combine(answers: Sequence[tuple[str, int, Gathered]]) -> Gathered:
    """Return the answers to several searches as one. `answers`: (name of the search, percent that
    it counts, answer).

    Lists are fused with each other as those of several retrievers are; every candidate states which
    search found it. Rankings of code become one: the sum of their scores, each divided by the best
    of its ranking.
    """
    if len(answers) == 1:
        return answers[0][2]
    lists: dict[str, tuple[Candidate, ...]] = {}
    weights: dict[str, int] = {}
    coverage: dict[str, str] = {}
    times: dict[str, int] = {}
    rankings: dict[str, list[tuple[str, int, Sequence[Candidate]]]] = {}
    for number, (search, percent, one) in enumerate(answers):
        for name, rows in one.lists.items():
            if any(row.score for row in rows):
                rankings.setdefault(name, []).append((search, percent, rows))
                continue
            own = f"{name}, {search}" if number else name
            lists[own] = tuple(
                row._replace(reasons=(*row.reasons, f"found by {search}")) for row in rows
            )
            weights[own] = one.weights.get(name, 100) * percent // 100
        for name, spent in one.times.items():
            times[name] = times.get(name, 0) + spent
        for name, state in one.coverage.items():
            coverage[name] = max(coverage.get(name, state), state, key=_severity)
    for name, ranking in rankings.items():
        lists[name] = _merged(ranking)
        weights[name] = next(one.weights[name] for _, _, one in answers if name in one.weights)
    return Gathered(lists, weights, dict(sorted(coverage.items())), times=times)


def _merged(rankings: Sequence[tuple[str, int, Sequence[Candidate]]]) -> tuple[Candidate, ...]:
    """Return rankings of code as one: files, then symbols, each by the sum of score / maximum
    (ADR-0028).
    """
    scores: dict[tuple[str, str], dict[str, int]] = {}
    first: dict[tuple[str, str], Candidate] = {}
    searches: dict[tuple[str, str], list[str]] = {}
    for search, percent, rows in rankings:
        for is_file in (True, False):
            sorted_rows = [row for row in rows if (row.kind == "file") is is_file]
            best = least = max((row.score for row in sorted_rows), default=0) or 1
            for row in sorted_rows:
                # tests come after source whatever their score is (`ranking.merge`), so the place
                # bounds it
                least = min(least, row.score)
                key = (row.id, row.path)
                if key not in first or (
                    first[key].beyond and not row.beyond
                ):  # near to one of them is near
                    first[key] = row
                scores.setdefault(key, {})[search] = least * percent * 10_000 // best
                searches.setdefault(key, []).append(search)
    merged = [
        first[key]._replace(
            score=sum(parts.values()),
            parts=tuple(parts.items()),
            reasons=(*first[key].reasons, f"found by {', '.join(searches[key])}"),
        )
        for key, parts in scores.items()
    ]
    return tuple(sorted(merged, key=lambda row: (row.kind != "file", -row.score, row.id, row.path)))


def _severity(state: str) -> tuple[bool, bool]:
    return state.startswith(
        "failed"
    ), state == "ok"  # a retriever that failed once did not find all


def _weighed(gathered: Gathered, source_weights: Mapping[str, int]) -> Gathered:
    """Return what was gathered; candidates state where the settings change the weight of their
    list.
    """
    lists = {
        name: tuple(
            one._replace(reasons=(*one.reasons, f"{name} weighs {source_weights[name]} % here"))
            for one in rows
        )
        for name, rows in gathered.lists.items()
        if source_weights.get(name, 100) != 100
    }
    if not lists:
        return gathered
    return replace(gathered, lists={**gathered.lists, **lists})


def _next_words(texts: Sequence[str], gathered: Gathered, asked: Sequence[str]) -> str:
    """Return what the next round asks for; empty where nothing new is left to ask.

    The words of the task that no item holds, and those that the names and titles of the best items
    have in common.
    """
    words_asked = {stem(word) for text in asked for word in split_all(text).lower().split()}
    records = [one.candidate for one in fuse(gathered.lists, gathered.weights)[:_BEST]]
    best = [*(one.candidate for one in code_of(gathered.lists).symbols[:_BEST]), *records]
    texts_found = [f"{one.id} {one.title} {one.summary} {one.text}".lower() for one in best]
    missing = [
        w
        for text in texts
        for w in read_signals(text).keywords
        if not any(stem(w) in t for t in texts_found)
    ]
    counts: Counter[str] = Counter()
    for one in best:
        if one.kind in CODE:
            name = split_id(one.id)[1].rpartition(".")[2]
        else:
            name = one.title
        words = [
            word
            for word in read_signals(split_all(name)).keywords
            if word.isalpha() and stem(word) not in words_asked
        ]
        counts.update(dict.fromkeys(words, 1))
    # most_common() is stable: of equally frequent words those of the best items come first
    common = [word for word, _ in counts.most_common(_NEW_WORDS)]
    if not common:
        return ""
    return " ".join(dict.fromkeys([*missing[:_NEW_WORDS], *common]))
