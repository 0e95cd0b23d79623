"""How `kl evidence show` says what is known about a test, a file or a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kl_hooks.cli.common import say, say_json, short
from kl_hooks.model.claim import standing
from kl_hooks.model.text import one_line
from kl_hooks.workspace.open import Workspace

if TYPE_CHECKING:
    from kl_hooks.evidence.known import Known, Seen
    from kl_hooks.store.database import Database

SHOWN = 40
COMMITS = 10


def say_known(ws: Workspace, db: Database, given: str, shape: str) -> bool:
    """Prints what is known about a test, a file or a folder; False where nothing is."""
    from kl_hooks.evidence.known import known_about
    from kl_hooks.evidence.place import place_of

    about = from_root(ws.root, given)
    known = known_about(db, about, ws.clock.now())
    trees = place_of(ws.repo).trees
    if known and shape == "json":
        say_json(plain(about, known, trees))
    for text in lines(known, trees) if shape == "text" else ():
        say(text)
    return bool(known)


def from_root(root: Path, given: str) -> str:
    """A path below the current folder as it is called from the root of the repository; anything else as it is."""
    path, colons, rest = given.partition("::")
    here = Path(os.path.abspath(path))  # noqa: PTH100
    if here.exists() and here.is_relative_to(root):
        return here.relative_to(root).as_posix() + colons + rest
    return given


def plain(about: str, known: Known, trees: tuple[str, ...]) -> dict[str, Any]:
    """`kl.evidence.known/1`."""
    return {
        "schema": "kl.evidence.known/1",
        "about": about,
        "tests": [
            {
                "subject": one.evidence.subject, "outcome": one.evidence.outcome, "receipt": one.entry.id,
                "at": one.entry.receipt.ended, "tree": one.entry.receipt.tree, "current": _current(one, trees),
            }
            for one in known.tests
        ],
        "commits": [{"commit": c.sha, "at": c.at, "subject": c.subject} for c in known.commits[:COMMITS]],
        "total": {"tests": len(known.tests), "commits": len(known.commits), "claims": len(known.claims)},
        "claims": [{"id": c.id, "text": c.text, "tier": c.tier.word, "freshness": c.freshness} for c in known.claims],
    }  # fmt: skip


def lines(known: Known, trees: tuple[str, ...]) -> Iterator[str]:
    """For people: tests that do not pass first."""
    tests = sorted(known.tests, key=lambda one: one.evidence.outcome == "passed")
    for one in tests[:SHOWN]:
        when = one.entry.receipt.ended[:16].replace("T", " ")
        where = "this content" if _current(one, trees) else f"tree {short(one.entry.receipt.tree, 7)}"
        name = one_line(one.evidence.subject.removeprefix("test:"), 120)
        yield f"{one.evidence.outcome:<9} {name}   run {short(one.entry.receipt.run, 8)}  {when}  {where}"
    if len(tests) > SHOWN:
        yield f"… and {len(tests) - SHOWN} more: --format json shows all"
    for commit in known.commits[:COMMITS]:
        yield f"commit    {short(commit.sha)}  {commit.at[:10]}  {one_line(commit.subject, 120)}"
    if len(known.commits) > COMMITS:
        yield f"… and {len(known.commits) - COMMITS} more commits: git log -- PATH"
    for claim in known.claims:
        how = ", ".join(standing(claim.tier.word, claim.freshness))
        yield f"claim     {claim.id}  {how}: {one_line(claim.text, 120)}"


def _current(one: Seen, trees: tuple[str, ...]) -> bool:
    return bool({one.entry.receipt.tree, one.entry.receipt.tree_all} & set(trees))
