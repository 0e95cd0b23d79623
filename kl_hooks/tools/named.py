"""Tools that are more than one record of one kind: supersede a decision, link a task, memory, context, verify."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.memory.kind import KIND as MEMORY
from kl_hooks.tools.arguments import flag, line, several
from kl_hooks.tools.kinds import changes, tools_of, whole
from kl_hooks.tools.tool import Arguments, Tool
from kl_hooks.tools.who import by

if TYPE_CHECKING:
    from kl_hooks.workspace.open import Workspace


_TOP = {"type": "integer", "minimum": 1, "maximum": 100,
        "description": "Most memories; else as configured, and 20 where there are no hints."}  # fmt: skip


def tools() -> Iterator[Tool]:
    """All of them."""
    yield Tool(
        "decision_supersede", "Let one decision take the place of another; both say so. The new one must be accepted.",
        {"id": line("The one that goes."), "new_id": line("The one that takes its place.")}, _supersede,
        ("id", "new_id"), True,
    )  # fmt: skip
    yield Tool(
        "objective_link_task", "Put a task on an objective's list of what remains, or mark it done.",
        {
            "id": line("The objective, such as OBJ-0001."), "task": line("The task, in its words."),
            "done": flag("It is done."), "session": line("The session that worked on it."),
        },
        _link_task, ("id", "task"), True, {"completed": "done", "session_id": "session"},
    )  # fmt: skip
    yield Tool(
        "memory_create", "Tell what was learned. It waits for a person to approve it; told again it is confirmed.",
        {
            "content": line("What was learned, in a sentence or a few."), "source": line("Where it comes from."),
            "tags": several("Short words to find it by."), "ttl_days": {
                "type": "integer", "description": "Days until it ends.", "minimum": 0, "maximum": 36_500},
        },
        _remember, ("content",), True, {"pattern": "content", "text": "content", "ttlDays": "ttl_days"},
    )  # fmt: skip
    yield from (replace(tool, call=_revise) for tool in tools_of(MEMORY) if tool.name == "memory_update")
    yield Tool(
        "memory_inject", "The section `Project Knowledge`: what is approved, holds, and fits; each time is counted.",
        {"hints": several("Words of the task."), "top_k": _TOP}, _inject,
        also={"contextHints": "hints", "topK": "top_k"},
    )  # fmt: skip
    yield Tool(
        "context", "A small, ranked, cited package of what is known for a task.",
        {"task": line("What is to be done, in plain words."),
         "budget": line("Characters, or tokens with `tok`: 6000, 1500tok.")}, _context, ("task",),
    )  # fmt: skip
    yield Tool("verify", "Is there complete, passing test evidence for exactly this tree?", {}, _verify)


def _supersede(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.records.ask import find
    from kl_hooks.records.verbs import supersede
    from kl_hooks.records.write import refuse_unset

    refuse_unset(ws)
    old, new = find(ws, given["id"], "decision"), find(ws, given["new_id"], "decision")
    if old.status == "accepted" and new.status != "accepted":
        hint = f"A person accepts it with: kl decision accept {new.id}"
        raise UsageProblem(f"is {new.status}: it can't take the place of one that holds.", place=new.id, hint=hint)
    first, second = supersede(ws, old.id, new.id, by=by(ws))
    return {"old": whole(ws, first), "new": whole(ws, second)}


def _link_task(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.kinds.objective.linking import link_task
    from kl_hooks.kinds.objective.progress import progress_of
    from kl_hooks.records.write import refuse_unset

    refuse_unset(ws)
    session = (given.get("session") or "").strip()
    record = link_task(ws, given["id"], given["task"], done=given["done"], session=session, by=by(ws))
    return whole(ws, record) | {"percent": progress_of(record).percent}


def _remember(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.kinds.memory.telling import tell

    more = {"source": given["source"]} if given.get("source") else {}
    ttl = given.get("ttl_days")
    record, done = tell(ws, given["content"], authority="agent", ttl_days=ttl, tags=given.get("tags", ()), more=more)
    return whole(ws, record) | {"done": done}


def _revise(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.kinds.memory.telling import revise
    from kl_hooks.records.ask import find
    from kl_hooks.records.guard import refuse_agent
    from kl_hooks.records.write import refuse_unset

    refuse_unset(ws)
    record, raw = find(ws, given["id"], "memory"), changes(given)
    refuse_agent(MEMORY, record, "edit", raw)
    return whole(ws, revise(ws, record, raw, None, by=by(ws)) if raw else record)


def _inject(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.kinds.memory.giving import give, most_of

    hints = given.get("hints", ())
    found = give(ws, hints, given.get("top_k") or most_of(ws, hints))
    return {"text": found.text, "ids": list(found.ids), "brief": list(found.brief)}


def _context(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.context.deliver import Request, deliver

    made = deliver(ws, Request(given["task"], given.get("budget") or str(ws.settings.budget)))
    shown = made.document
    kept = ("package_id", "budget", "coverage", "excluded")
    return {"text": made.text, **{name: shown[name] for name in kept if name in shown}}


def _verify(ws: Workspace, given: Arguments) -> Any:
    from kl_hooks.evidence.place import place_of
    from kl_hooks.proof.gate import judge
    from kl_hooks.proof.nearest import nearest
    from kl_hooks.proof.snapshot import snapshot

    trees = place_of(ws.repo).trees
    with snapshot(ws) as seen:
        _, found = judge(ws, seen, trees)
        near = nearest(ws, seen, trees, None) if found.run is None else None
    return {
        "tree": trees[0] if trees else None, "tier": found.tier.word, "proven": found.run is not None,
        "run": found.run, "reasons": list(found.notes if found.run else found.reasons),
        "assessed": bool(trees) and not seen.gaps, **seen.to_dict(),
        "nearest": near.to_dict() if near else None,
    }  # fmt: skip
