"""`kl claim add · list · search · show`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from kl_hooks.cli.options import ABOUT, format_option, top_option
from kl_hooks.cli.output import (
    path_from_root,
    print_answer,
    print_list,
    progress,
    short,
    warn,
    workspace,
)
from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.claims import claim_to_dict
from kl_hooks.evidence.trust import origin_meaning
from kl_hooks.model.claim import OLDER_TREE, Claim, Tier, tier_words
from kl_hooks.model.symbol import ID_PREFIXES, RECORD_ID, full_record_id, is_hex, split_id
from kl_hooks.model.text import one_line
from kl_hooks.proof.claims import claims_now, record_claim, search_claims


def _checked_id(given: str) -> str:
    """Return the ID that `--about` means: as given, or that of a file or test. UsageProblem for anything else."""
    prefix, name = split_id(given)
    if (prefix and name) or RECORD_ID.fullmatch(given):
        return given
    if RECORD_ID.fullmatch(full_record_id(given)):
        return full_record_id(given)
    path, colons, test = given.partition("::")
    if path and Path(path).exists():
        path = path_from_root(workspace().root, path)
        return f"test:{path}::{test}" if colons else f"file:{path}"
    if colons:
        hint = f"Did you mean {f'test:{given}'!r}?"
    else:
        hint = f"It begins with one of: {', '.join(f'{p}:' for p in ID_PREFIXES)}"
    raise UsageProblem(f"{given!r} is not an ID.", place="--about", hint=hint)


@click.group()
def claim() -> None:
    """Claims, their tier and the reasons."""


@claim.command(epilog='Example: kl claim add "parses UTF-8 names" --about file:src/names.py --expires 30d')
@click.argument("text")
@click.option(
    "--about", required=True, metavar=ABOUT, help="What it is about: src/a.py, tests/test_a.py::test_b, ADR-0007 …"
)
@click.option("--expires", help="When it ends: 30d, 12h, or a date such as 2027-01-31.")
@click.option(
    "--support", "cited", multiple=True, metavar="ADR-7|MEM-…|COMMIT|TEST", help="What it rests on. May be repeated."
)
@format_option()
def add(text: str, about: str, expires: str | None, cited: tuple[str, ...], shape: str) -> None:
    """Assert something. An assertion alone is *assumed*, whoever makes it; what it cites counts while that is valid.

    It is stale when the code changes that it is about, that its text names in backticks, or that a cited test executes.
    """
    from kl_hooks.code.query.session import SYMBOL_KINDS

    made = record_claim(workspace(), text, _checked_id(about), cited, expires)
    if not made.rests_on and split_id(made.about)[0] in ("file", "test", *SYMBOL_KINDS):
        warn(f"{made.about} is not in the files here: no change of code makes this claim stale.")
    print_answer(shape, claim_to_dict(made), [f"claim {made.id}  {made.tier.word}  {made.text}"])


@claim.command("list", epilog="Example: kl claim list --tier verified")
@click.option("--about", metavar=ABOUT, help="Only claims about this file, test, symbol or record.")
@click.option("--tier", type=click.Choice([t.word for t in reversed(Tier)]), help="Only claims of this tier.")
@click.option("--stale", is_flag=True, help="Only those under which something changed.")
@click.option("--all", "everything", is_flag=True, help="Expired ones too.")
@top_option(50)
@format_option()
def list_(about: str | None, tier: str | None, stale: bool, everything: bool, limit: int, shape: str) -> None:
    """List claims: derived from evidence or asserted manually."""
    about = _checked_id(about) if about else None
    with progress("Importing captured runs and commits"):
        claims = list(claims_now(workspace(), warn, about))
    found = [c for c in claims if (everything or c.freshness != "expired") and tier in (None, c.tier.word)]
    found = [c for c in found if not stale or c.freshness == OLDER_TREE]
    none = "no such claim. See: kl claim list" if about or tier else "no claim is stale." if stale else _NO_CLAIMS
    _print_claims(found[:limit], len(found), none, shape)


_NO_CLAIMS = "no claims yet. A passing test makes one: run pytest."


def _print_claims(found: Sequence[Claim], total: int, none: str, shape: str) -> None:
    rows = []
    for one in found:
        tier = f"{one.tier.word:<8}  {one.freshness:<12}"
        tier = tier_words(one.tier.word, one.freshness)[0] if one.freshness == OLDER_TREE else tier
        rows.append(f"{one.id}  {tier}  {one.text}")
        # of a claim that somebody made: why, and what makes it current again
        rows += [f"{'':<18}{one.reasons[-1]}"] if one.freshness == OLDER_TREE and one.author != "auto" else []
    plain = {"schema": "kl.claim.list/1", "claims": [claim_to_dict(one) for one in found], "total": total}
    print_list(shape, plain, rows, total, none)


@claim.command(epilog="Example: kl claim search utf-8 names")
@click.argument("words", nargs=-1, required=True)
@top_option(20, 1000)
@format_option()
def search(words: tuple[str, ...], limit: int, shape: str) -> None:
    """Find asserted claims that match any of the WORDS and have not expired, best first."""
    found, total = search_claims(workspace(), list(words), limit)
    _print_claims(found, total, f"no matches for: {one_line(' '.join(words))}", shape)


@claim.command(epilog="Example: kl claim show 3f9a1c2b")
@click.argument("id")
@format_option()
def show(id: str, shape: str) -> None:
    """One claim with every reason for its tier."""
    digits = is_hex(id.lower())
    found = [c for c in claims_now(workspace(), warn) if c.id.startswith(id.lower())] if digits else []
    if len(found) != 1:
        several = "several claims begin like this; give more digits." if found else "no claim has this id."
        reason = several if digits else "an id is at least 4 hexadecimal digits."
        raise UsageProblem(reason, place=id or "''", hint="See: kl claim list")
    print_answer(shape, claim_to_dict(found[0]), _reason_lines(found[0]))


def _origin_lines(claim: Claim) -> Iterator[str]:
    """Where its evidence comes from: each origin once, with what that proves and what it does not."""
    for origin in dict.fromkeys(one.origin for one in claim.support if one.origin):
        meaning = origin_meaning(origin)
        kind, _, name = origin.partition("; ")[0].partition(":")
        key = f": {name}" if kind in ("ci", "signed") else ""
        why = f" ({reason})" if (reason := origin.partition("; ")[2]) else ""
        yield f"origin     {meaning.name}{key}{why}"
        yield f"           proves: {meaning.proves}"
        yield f"           does not prove: {meaning.not_proven}"


def _reason_lines(claim: Claim) -> list[str]:
    """The claim and the reasons for its tier, one line each."""
    lines = [f"claim      {claim.id}", f"text       {claim.text}", f"about      {claim.about}"]
    lines += [f"made by    {claim.author} on {claim.made_at}"]
    stale = claim.freshness == OLDER_TREE
    lines += (
        [f"status     {tier_words(claim.tier.word, claim.freshness)[0]}"]
        if stale
        else [f"tier       {claim.tier.word}"]
    )
    lines += [f"cites      {', '.join(claim.cites)}"] if claim.cites else []
    lines += [] if stale else [f"freshness  {claim.freshness}"]
    lines += [f"           {reason}" for reason in claim.reasons]
    for s in claim.support:
        weight = "hard" if s.observation.hard else f"not hard: {s.observation.why_not}"
        where = f"   tree {short(s.tree, 7)}" if s.tree else ""
        lines.append(
            f"{s.speaks:<10} {s.observation.kind} {s.outcome}, seen by {s.observation.observer}{where}   {weight}"
        )
        if s.receipt:
            lines.append(f"           run {short(s.observation.run, 8)}, {s.observation.producer}, {s.at}")
    lines += _origin_lines(claim)
    if claim.tier < Tier.VERIFIED:
        lines.append(
            "verified needs two executions: under another interpreter, or in another way (pytest -n 2, a random order)."
        )
    return lines
