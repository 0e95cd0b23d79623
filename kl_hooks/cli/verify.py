"""`kl verify`: the gate before a push."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from kl_hooks.cli.common import format_option, say, say_json, short, workspace
from kl_hooks.cli.reading import ledger_open
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.git.ranges import commit_of
from kl_hooks.git.repository import Repository
from kl_hooks.model.tier import Tier
from kl_hooks.proof.gate import Proof, with_untracked
from kl_hooks.workspace.open import Workspace


@click.command(epilog="Example: kl verify --require verified")
@click.option("--at", "rev", help="A commit instead of the files as they are now. Default at pre-push: what is pushed.")
@click.option(
    "--require",
    type=click.Choice([Tier.INFERRED.word, Tier.VERIFIED.word]),
    default=Tier.INFERRED.word,
    show_default=True,
    help="The tier. inferred: one complete, passing run; verified: two independent ones.",
)
@click.option(
    "--trust-ref",
    metavar="REF",
    help="Read verify.exclude from this commit (such as origin/main), not from the content that is judged.",
)
@format_option()
def verify(rev: str | None, require: str, trust_ref: str | None, shape: str) -> int:
    """Is there complete, passing test evidence for exactly this tree? Exit 0 for yes, 1 for no."""
    from kl_hooks.proof.gate import judge

    ws = workspace()
    if ws.repo is None:
        hint = "Evidence is held against a git tree: run it inside one, or give --root."
        raise EnvironmentProblem("not a git repository.", place=str(ws.root), hint=hint)
    if not ws.initialised:
        say("no .kl/ in this repository: nothing to verify. Set it up with: kl init")
        return 0
    rev = rev or os.environ.get("PRE_COMMIT_TO_REF")
    trees = trees_at(ws, rev)
    trusted = commit_of(ws.repo, trust_ref) if trust_ref else ""
    base = known_commit(ws.repo, ws.environ.get("PRE_COMMIT_FROM_REF", "")) if rev else ""
    with ledger_open(ws) as db:
        entries, found = judge(ws, db, trees, rev is not None, rev=rev or "", trust_ref=trusted, base=base)
    beside = with_untracked(entries, found.run, trees[0])
    enough = found.tier >= Tier[require.upper()]
    if shape == "json":
        say_json(
            {
                "schema": "kl.verify/1", "tree": trees[0], "tier": found.tier.word, "required": require,
                "proven": enough, "run": found.run, "reasons": list(found.reasons),
                "untracked": beside, "missing": [one._asdict() for one in found.missing],
                "not_assessed": list(found.not_assessed), "notes": list(found.notes), "runs": list(found.runs),
            }
        )  # fmt: skip
    else:
        _say(found, trees[0], require, enough, beside)
    return 0 if enough else 1


def trees_at(ws: Workspace, rev: str | None) -> tuple[str, ...]:
    """The tree ids that evidence may carry: of a commit, or of the content now.

    UsageProblem for a commit that is none, EnvironmentProblem for a content that can't be told.
    """
    from kl_hooks.evidence.place import place_of
    from kl_hooks.git.trees import tree_of

    if rev is None or ws.repo is None:
        trees = place_of(ws.repo).trees
    else:
        trees = tuple(tree for tree in [tree_of(ws.repo, rev)] if tree)
    if not trees and rev is not None:
        raise UsageProblem(f"{rev!r} is not a revision of this repository.", hint="See: git log --oneline")
    if not trees:
        what = "the tree of this content can't be told (no git?)."
        raise EnvironmentProblem(what, place=str(ws.root), hint="See: kl doctor")
    return trees


def known_commit(repo: Repository, rev: str) -> str:
    """The commit that a revision means; empty where there is none, as for the first push of a branch."""
    try:
        return commit_of(repo, rev)
    except UsageProblem:
        return ""


def named(names: Sequence[str], most: int = 3) -> str:
    """The first of these names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _say(found: Proof, tree: str, require: str, enough: bool, beside: bool) -> None:
    say(f"tree {short(tree)}: {'proven' if enough else 'not proven'} ({found.tier.word}, {require} is required)")
    for reason in found.reasons:
        say(f"  {reason}")
    for note in found.notes:
        say(f"  note: {note}")
    if found.not_assessed:
        say(f"  note: not assessed: {named(found.not_assessed)}")
    if enough:
        what = "this content, with untracked files beside it" if beside else "exactly this content"
        which = f"run {short(found.run, 8)} passed"
        if found.together:
            which = f"runs {named([one[:8] for one in found.runs])} passed together"
        say(f"  {which} on {what}: kl evidence show {short(found.run, 8)}")
        if beside:
            say("  No commit holds those. If the tests need them: git add, then pytest")
    elif found.tier >= Tier.INFERRED:
        say("  It passed in one way. hint: run it under another interpreter, or in another way: pytest -n 2")
    elif found.failed:
        what = (
            "The newest run of this content failed."
            if found.failed == "newest"
            else "What failed has not passed since."
        )
        say(f"  {what} Mend it, then run: pytest")
    elif found.missing:
        say("  hint: run the missing tests; files that are no tests: verify.exclude in .kl/config.yaml")
    else:
        say("  No complete, passing run of exactly this content is on record. Run: pytest")
