"""Executed symbols in git: what the tests of a run executed travels beside its receipt, as parts
that runs share.

The ref `refs/notes/kl/executed/<writer>` has a folder for each of the newest runs, `<end of the
run>-<digest>`, with a blob for each part: a source file with its symbols, or a test file with the
sets of its tests. Git stores a part once, so a further run adds what changed since. Parts have
names of symbols and no numbers of a run: a new function changes the part of its own file, and those
of the tests that execute it.

A receipt vouches for its sets by their digest, and a trusted key for the receipt. So they are read
only for a receipt that counts, and whatever does not have its digest is as if it were not there:
nothing of it is stored.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from kl_hooks.evidence.executed import (
    EXECUTED_SCHEMA,
    NEWEST_SHARED,
    Executed,
    executed_from_dict,
    executed_to_dict,
    vouched_digest,
)
from kl_hooks.git.notes import (
    commits_with,
    move_ref,
    own_ref,
    refs_of,
    rows_of,
    write_blobs,
    write_tree,
)
from kl_hooks.git.objects import read_blobs
from kl_hooks.git.repository import Repository
from kl_hooks.model.canonical import canonical, replace_surrogates
from kl_hooks.model.definitions import lazy_pattern
from kl_hooks.model.receipt import Receipt
from kl_hooks.store.redaction import shows_secret

_SORT: Final = "executed"
"""Of the refs."""
_MOST_PACKED: Final = 2 * 1024 * 1024
"""Compressed bytes of the sets of one run that travel (a run of 20,000 tests has about 600,000)."""
_MOST_TEXT: Final = 64 * 1024 * 1024
_MOST_PARTS: Final = 50_000
_MOST_COPIES: Final = 20
"""Different folders that claim to be the sets of one run, of which all but one are forged."""
_WHOLE: Final = (
    *("opened", "incomplete", "runtime"),
    *("reads", "distributions", "absent", "listed"),
)
"""What is a part as it is: it has no numbers of symbols."""
_ENTRY: Final = lazy_pattern(r"\d{14}-[0-9a-f]{64}")


def share_executed(
    repo: Repository, writer: str, receipts: Sequence[Receipt], sets: Mapping[str, Executed | None]
) -> list[str]:
    """Add the sets of these runs (by run) to the ref of this clone; a remark for those that are
    withheld. GitFailed.
    """
    shared = _known(repo, writer)
    sets_to_share = []
    remarks = []
    for receipt in receipts:
        executed = sets.get(receipt.run)
        if executed is None or vouched_digest(receipt.environment) in shared:
            continue
        if why := _withheld(executed, receipt):
            remarks.append(f"run {receipt.run[:8]}: its executed symbols are not shared: {why}.")
        else:
            sets_to_share.append((receipt, executed))
    if sets_to_share:
        _write(repo, writer, sets_to_share)
    return remarks


def _withheld(executed: Executed, receipt: Receipt) -> str:
    """Why the sets of a run do not travel, in a few words; empty: they do."""
    text = canonical(executed_to_dict(executed))
    if sha256(text).hexdigest() != vouched_digest(receipt.environment):
        return "they are not those that it was recorded with"
    if sum(len(zlib.compress(part)) for part in _parts(json.loads(text))) > _MOST_PACKED:
        return f"they have more than {_MOST_PACKED:,} bytes, compressed"
    if shows_secret(text.decode()):
        return "they hold what looks like a secret"
    return ""


def _write(repo: Repository, writer: str, runs: Sequence[tuple[Receipt, Executed]]) -> None:
    """Add the sets of these runs to the ref of this clone; those of the newest `NEWEST_SHARED`
    stay. GitFailed.
    """
    new = {_entry(receipt): _parts(executed_to_dict(executed)) for receipt, executed in runs}
    ids = iter(write_blobs(repo, (part for parts in new.values() for part in parts)))
    folders = {
        name: write_tree(repo, {f"{n:05}": ("blob", next(ids)) for n in range(len(parts))})
        for name, parts in new.items()
    }

    def make_tree(old: str) -> str:
        rows = _folders(repo, old) | {name: ("tree", one) for name, one in folders.items()}
        return write_tree(repo, {name: rows[name] for name in sorted(rows)[-NEWEST_SHARED:]})

    move_ref(repo, own_ref(_SORT, writer), make_tree)


def _known(repo: Repository, writer: str) -> frozenset[str]:
    """The digests of the sets that this clone's ref has."""
    return frozenset(name.partition("-")[2] for name in _folders(repo, own_ref(_SORT, writer)))


def _folders(repo: Repository, commit: str) -> dict[str, tuple[str, str]]:
    rows = rows_of(repo, commit)
    return {name: one for name, one in rows.items() if one[0] == "tree" and _ENTRY.fullmatch(name)}


def _entry(receipt: Receipt) -> str:
    """The folder of a run: names in the order of time, so that the oldest can be removed."""
    moment = re.sub(r"\D", "", receipt.ended)[:14].ljust(14, "0")
    return f"{moment}-{vouched_digest(receipt.environment)}"


def read_shared(repo: Repository, receipt: Receipt) -> Executed | None:
    """What the tests of a run executed, out of any writer's ref; None where nobody has just what
    the receipt names.
    """
    digest = vouched_digest(receipt.environment)
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        return None
    commits = {ref.tree: ref.commit for ref in refs_of(repo, _SORT)}
    holders = commits_with(repo, list(commits.values()), _entry(receipt))
    for commit in holders[:_MOST_COPIES]:
        executed = _read_folder(repo, commit, _entry(receipt), digest)
        # the digest covers the name of its run: a receipt that names the digest of another run's
        # sets has none
        if executed is not None and executed.run == receipt.run:
            return executed
    return None


def _read_folder(repo: Repository, commit: str, folder: str, digest: str) -> Executed | None:
    blobs = [one for kind, one in rows_of(repo, commit, folder=folder).values() if kind == "blob"][
        :_MOST_PARTS
    ]
    parts = []
    size = 0
    for content in read_blobs(repo, blobs):
        size += len(content or b"")
        if content is None or size > _MOST_TEXT:
            return None
        parts.append(content)
    try:
        plain = _plain([replace_surrogates(json.loads(part)) for part in parts])
        if sha256(canonical(plain)).hexdigest() != digest:
            return None
        return executed_from_dict(plain)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return None


def _parts(plain: Mapping[str, Any]) -> list[bytes]:
    """The parts of the sets (`executed_to_dict`), in the order of their paths."""
    names = [name for name, _, _ in plain["symbols"]]
    own: dict[str, list[list[str]]] = {}
    for name, value, path in plain["symbols"]:
        own.setdefault(path, []).append([name, value])
    parts: list[list[Any]] = [["run", plain["run"], plain["recorder"]]]
    for path in sorted({*own, *plain["files"]}):
        # no more where the run has no row for the file: what is put together again must have its
        # digest
        if path in plain["files"]:
            rows = [plain["files"][path]]
        else:
            rows = []
        file_rows = [[[names[at] for at in some], imports, why] for some, imports, why in rows]
        parts.append(["file", path, own.get(path, []), *file_rows])
    parts += [
        ["tests", path, [names[at] for at in some], rows]
        for path, (some, rows) in sorted(plain["tests"].items())
    ]
    if values := plain.get("values"):
        parts.append(
            ["values", sorted([names[at], [names[one] for one in some]] for at, some in values)]
        )
    parts += [[sort, plain[sort]] for sort in _WHOLE if plain.get(sort)]
    return [canonical(one) for one in parts]


def _plain(parts: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """The inverse. Raises whatever a forged part makes it raise."""
    [(_, run, recorder)] = _of(parts, "run")
    symbols = sorted(
        [name, value, path] for _, path, entry, *_ in _of(parts, "file") for name, value in entry
    )
    number_of = {name: number for number, (name, _, _) in enumerate(symbols)}
    whole_parts = {sort: value for sort in _WHOLE for _, value in _of(parts, sort)}
    for _, entry in _of(parts, "values"):
        whole_parts["values"] = sorted(
            [number_of[name], sorted(number_of[one] for one in computed)]
            for name, computed in entry
        )
    return {
        "schema": EXECUTED_SCHEMA,
        "run": run,
        "recorder": recorder,
        "symbols": symbols,
        "files": {
            path: [sorted(number_of[name] for name in row[0][0]), *row[0][1:]]
            for _, path, _, *row in _of(parts, "file")
            if row
        },
        "tests": {
            path: [[number_of[name] for name in entry], rows]
            for _, path, entry, rows in _of(parts, "tests")
        },
        "opened": {},
        "incomplete": {},
        **whole_parts,
    }


def _of(parts: Sequence[Sequence[Any]], sort: str) -> Iterator[Sequence[Any]]:
    return (one for one in parts if one[0] == sort)
