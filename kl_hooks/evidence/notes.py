"""Evidence in git notes: what one clone recorded, on the content trees that it is about, for all other clones.

Each clone writes one ref, `refs/notes/kl/receipts/<writer>`. Its notes are JSON lines, one receipt a line, attached to
trees and not to commits: a squash, a rebase or a cherry-pick makes other commits of the same tree. Refs are moved with
compare-and-swap, since `git notes add` in two processes loses writes without a word (of 32 parallel ones 1 to 4
survived). Two refs of one writer (a copied clone) are merged as `git notes merge -s cat_sort_uniq` does.

Only facts travel: outcomes, versions, contents. Messages, output, command lines and durations stay. The lines are
plain text, so git's own compression makes a second run of the same tests cost nearly nothing.
"""

from __future__ import annotations

import json
import re
import secrets
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.attestation import add_receipts, import_flaw, receipt_of, sign_receipt, signed_receipt
from kl_hooks.evidence.integrity import ledger_writer
from kl_hooks.evidence.ledger import recent
from kl_hooks.evidence.trust import IMPORTED, NOTES, ran_no_test
from kl_hooks.git.objects import read_blobs
from kl_hooks.git.repository import Repository, git_in, head
from kl_hooks.git.run import GitFailed
from kl_hooks.model.canonical import canonical, replace_surrogates
from kl_hooks.model.receipt import HEADER_KEYS, Evidence, Receipt, SignedReceipt, receipt_id
from kl_hooks.model.text import counted, one_line
from kl_hooks.store.database import Database
from kl_hooks.store.redaction import redact_value
from kl_hooks.workspace import Workspace, require_setup

OWN: Final = "refs/notes/kl/receipts/"
"""The refs of this repository: one for each writer that it has written as."""
FETCHED: Final = "refs/notes/kl-remote/"
"""Where refs of a remote are fetched to: `<remote>/receipts/<writer>`."""
NOTE_SCHEMA: Final = "kl.note/1"
_SOURCES: Final = ("pytest", "junit", "arch")
_ENVIRONMENT: Final = ("python", "implementation", "platform", "pytest", "plugins", "way", "local_plugins", "rootdir")
"""Of a run's environment: what decides whether two runs are independent, and whether one counts at all."""
_DETAILS: Final = ("path", "line", "by")
_RUNS: Final = 200
"""The newest runs that a push looks at."""
_TRIES: Final = 8
_SHOWN: Final = 10
_MOST_BYTES: Final = 64 * 1024 * 1024
"""Of one ref that is read: a hostile one must not fill the memory."""
_MOST_LINES: Final = 20_000
_WRITER: Final = re.compile(r"[a-z0-9][a-z0-9-]{3,39}")
_REMOTE: Final = re.compile(r"[^-\s\0][^\s\0]*")
_TIMEOUT: Final = 120.0


def public_form(receipt: Receipt) -> Receipt:
    """The receipt as it travels, with an ID of its own: facts alone, its tests in the order of their names."""
    evidence = tuple(
        replace(
            one, duration_us=0, executed=None,
            detail={key: one.detail[key] for key in _DETAILS if one.detail.get(key) not in (None, "")},
        )
        for one in sorted(receipt.evidence, key=lambda one: (one.outcome, one.subject))
    )  # fmt: skip
    environment = {key: receipt.environment[key] for key in _ENVIRONMENT if key in receipt.environment}
    # reasons may name paths of this machine, so they stay
    result = {
        key: receipt.result[key] for key in ("exit", "complete", "how", "verdict", "counts") if key in receipt.result
    }
    if receipt.result.get("verdict") != "passed":
        result["reasons"] = [f"recorded by its writer as {receipt.result.get('verdict') or 'unknown'}"]
    selection = {key: value for key, value in receipt.selection.items() if key not in ("args", "addopts")}
    plain = redact_value({"environment": environment, "result": result, "selection": selection})
    return replace(receipt, evidence=evidence, parent=None, **plain)


def note_line(signed: SignedReceipt) -> str:
    """A receipt in its public form as one line: its tests grouped by outcome and file."""
    receipt = signed.receipt
    groups: dict[str, dict[str, list[str]]] = {}
    rest: list[dict[str, Any]] = []
    for one in receipt.evidence:
        if one.kind == "TestResult" and one.subject.startswith("test:") and not one.detail and "::" in one.subject:
            path, _, name = one.subject.removeprefix("test:").partition("::")
            groups.setdefault(one.outcome, {}).setdefault(path, []).append(name)
        else:
            rest.append(one.to_dict())
    plain = {
        "schema": NOTE_SCHEMA, "header": receipt.header(), "tests": groups, "rest": rest,
        "signatures": [b64encode(blob).decode() for _, blob in signed.signatures],
    }  # fmt: skip
    return canonical(plain).decode()


def read_note_line(line: bytes) -> SignedReceipt | str:
    """The inverse, all hashes computed again and signatures checked; or why it is refused, in a few words."""
    try:
        plain = replace_surrogates(json.loads(line))
        if plain.get("schema") != NOTE_SCHEMA:
            return f"schema {one_line(repr(plain.get('schema')), 60)} is not {NOTE_SCHEMA!r}"
        evidence = [Evidence.from_dict(one) for one in plain["rest"]]
        for outcome, files in plain["tests"].items():
            evidence += [
                Evidence("TestResult", f"test:{path}::{name}", outcome)
                for path, names in files.items()
                for name in names
            ]
        ordered = sorted(evidence, key=lambda one: (one.outcome, one.subject))
        header = {key: plain["header"][key] for key in HEADER_KEYS}
        found = receipt_of(header | {"id": receipt_id(header), "evidence": [one.to_dict() for one in ordered]})
        if isinstance(found, str):
            return found
        if flaw := import_flaw(found):
            return flaw
        return signed_receipt(found, plain.get("signatures", ()))
    except (KeyError, TypeError, AttributeError, RecursionError):
        return "not a receipt"
    except ValueError as problem:
        return f"not a receipt ({one_line(str(problem), 120)})"


@dataclass(frozen=True, slots=True)
class Shared:
    """What one synchronization did, or (dry run) would do."""

    writer: str = ""
    remote: str = ""
    added: tuple[Receipt, ...] = ()
    """Receipts that were written to this clone's notes."""
    signed: bool = False
    pushed: bool = False
    """Whether there was something to push, and the remote took it."""
    imported: int = 0
    """New receipts of others."""
    writers: tuple[str, ...] = ()
    """The others whose notes were fetched."""
    refused: tuple[str, ...] = ()
    """Lines of others that were refused, and why; at most ten."""
    refusals: int = 0
    remarks: tuple[str, ...] = ()
    """What was not done, and why: no network, a refused push."""

    def to_dict(self) -> dict[str, Any]:
        """`kl.sync/1`."""
        runs = [
            {"run": one.run, "source": one.source, "tree": one.tree, "tests": len(one.evidence),
             "verdict": one.result.get("verdict"), "at": one.ended} for one in self.added
        ]  # fmt: skip
        return {
            "schema": "kl.sync/1", "writer": self.writer, "remote": self.remote, "added": runs, "signed": self.signed,
            "pushed": self.pushed, "imported": self.imported, "writers": list(self.writers),
            "refused": list(self.refused), "refusals": self.refusals, "remarks": list(self.remarks),
        }  # fmt: skip


def share(
    ws: Workspace, remote: str, *, push: bool = True, pull: bool = True, dry_run: bool = False,
    key: Path | None = None, receipts: Sequence[Receipt] | None = None,
) -> Shared:  # fmt: skip
    """Write what this store has recorded to this clone's notes, push them, fetch and import those of others.

    `receipts`: written instead of the store's own, as far as they are about the commit that is checked out: a job
    that has the key publishes what a job that ran foreign code has recorded. `key`: signs what is written. A remote
    that can't be reached is a remark: nothing is lost, and nobody is stopped. UsageProblem outside git or for an
    unknown remote.
    """
    require_setup(ws)
    repo = ws.repo
    if repo is None:
        raise UsageProblem("evidence is shared by git notes.", place=str(ws.root), hint="Run it in a git repository.")
    if not _REMOTE.fullmatch(remote):
        raise UsageProblem("that is no remote.", place=f"--remote {remote}", hint="See: git remote -v")
    writer = _writer(repo, create=not dry_run)
    remarks: list[str] = []
    # fetched first: then it is known whether there is anything to push
    fetched = not dry_run and _fetch(repo, remote, remarks)
    done = import_notes(ws) if pull and fetched else Shared()
    done = replace(done, writer=writer, remote=remote, writers=tuple(one for one in done.writers if one != writer))
    if push:
        if receipts is None:
            receipts = _recorded_here(ws)
        else:
            here = head(repo)[2]
            receipts = [one for one in receipts if one.tree == here and _is_shared(one)]
        forms = [public_form(one) for one in receipts]
        sound = [one for one in forms if not import_flaw(one)]
        if len(sound) < len(forms):
            remarks.append(
                f"{counted(len(forms) - len(sound), 'run')} not written: others would refuse what they hold."
            )
        added = _write_notes(repo, writer, sound, key, dry_run)
        pushed = fetched and _push(repo, remote, writer, remarks)
        done = replace(done, added=tuple(added), signed=bool(key and added), pushed=pushed)
    return replace(done, remarks=(*remarks, *done.remarks))


def _writer(repo: Repository, *, create: bool) -> str:
    """The name of this clone's ref, from `kl.writer` in its git configuration; a random one where it has none."""
    named = git_in(repo, "config", "--get", "kl.writer", ok=(0, 1)).decode("utf-8", "replace").strip()
    if not named:
        # random, not the host's name: two containers of one image would write the same ref
        named = secrets.token_hex(8)
        if create:
            git_in(repo, "config", "--local", "kl.writer", named)
    if not _WRITER.fullmatch(named):
        raise UsageProblem("use small letters, digits and `-`, at least 4.", place=f"git config kl.writer {named}")
    return named


# -- writing


def _recorded_here(ws: Workspace) -> list[Receipt]:
    """What this store recorded itself, oldest first."""
    with ws.store.reading() as db:
        entries = [one for source in _SOURCES for one in recent(db, _RUNS, source)] if db else []
        # a run of edited files is of no use to others, unless they were committed as they were
        trees = {tree for (tree,) in db.rows("SELECT tree FROM commit_log")} if db else set()
    own = (one for one in sorted(entries, key=lambda one: one.seq) if not one.folded)
    ours = (one.receipt for one in own if not one.origin.startswith(IMPORTED) and _is_shared(one.receipt))
    return [one for one in ours if not one.dirty or one.tree in trees]


def _is_shared(receipt: Receipt) -> bool:
    """Runs that ran something, on a content that is known."""
    known = bool(receipt.tree) and not receipt.moved and receipt.source in _SOURCES
    return known and bool(receipt.evidence) and not ran_no_test(receipt.selection, receipt.result)


def _write_notes(
    repo: Repository, writer: str, receipts: Sequence[Receipt], key: Path | None, dry_run: bool
) -> list[Receipt]:
    """Add the receipts, in their public form, that the notes do not have; those that were added (dry run: would be)."""
    ref = OWN + writer
    # with a key, what was written unsigned is written again: somebody who signs from today on wants it to count
    known = {
        run for some in _lines_of(repo, ref).values() for one in some if (run := _run_of(one, signed=key is not None))
    }
    new = [one for one in receipts if one.run not in known]
    if dry_run or not new:
        return new
    runs = {one.run for one in new}
    lines = [(str(one.tree), note_line(SignedReceipt(one, (sign_receipt(one, key),) if key else ()))) for one in new]
    _change_notes(repo, ref, lambda notes: _with_lines(_without(notes, runs), lines))
    return new


def _without(notes: Mapping[str, list[bytes]], runs: Collection[str]) -> dict[str, list[bytes]]:
    """The notes without the lines of these runs."""
    return {tree: [one for one in some if _run_of(one) not in runs] for tree, some in notes.items()}


def _with_lines(notes: Mapping[str, list[bytes]], lines: Iterable[tuple[str, str]]) -> dict[str, list[bytes]]:
    """The notes with these lines. Sorted and unique, so that any order of merges gives the same bytes."""
    found = {tree: set(some) for tree, some in notes.items()}
    for tree, line in lines:
        found.setdefault(tree, set()).add(line.encode())
    return {tree: sorted(some) for tree, some in found.items()}


def _change_notes(
    repo: Repository, ref: str, change: Callable[[Mapping[str, list[bytes]]], dict[str, list[bytes]]], other: str = ""
) -> None:
    """Move a ref to a commit of the changed notes, if nobody else moved it meanwhile; else again. GitFailed at the end.

    `other`: a commit that is merged, the second parent.
    """
    for attempt in range(_TRIES):
        old = _tip(repo, ref)
        before = _lines_of(repo, ref)
        after = change(before)
        if after == before and not other and old:
            return
        tree = _write_tree(repo, ref, before, after)
        parents = [arg for parent in (old, other) if parent for arg in ("-p", parent)]
        who = [("user.name", "kl"), ("user.email", "kl@localhost"), ("commit.gpgSign", "false")]
        message = b"kl: receipts\n"
        commit = git_in(repo, "commit-tree", tree, *parents, stdin=message, config=who).decode().strip()
        try:
            # all zeros: the ref must not exist (git-update-ref)
            git_in(repo, "update-ref", ref, commit, old or "0" * len(commit))
            return
        except GitFailed:
            if attempt == _TRIES - 1:
                raise


def _write_tree(repo: Repository, ref: str, before: Mapping[str, list[bytes]], after: Mapping[str, list[bytes]]) -> str:
    blobs = _blobs_of(repo, ref)
    rows = []
    for tree, lines in sorted(after.items()):
        blob = blobs.get(tree)
        if blob is None or before.get(tree) != lines:
            content = b"".join(line + b"\n" for line in lines)
            blob = git_in(repo, "hash-object", "-w", "--no-filters", "--stdin", stdin=content).decode().strip()
        rows.append(f"100644 blob {blob}\t{tree}\n")
    return git_in(repo, "mktree", stdin="".join(rows).encode()).decode().strip()


def _tip(repo: Repository, ref: str) -> str:
    out = git_in(repo, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", ok=(0, 1, 128))
    return out.decode("ascii", "replace").strip()


def _blobs_of(repo: Repository, ref: str) -> dict[str, str]:
    """Content tree → blob of its note. Other tools fan notes out in folders: their names are put together."""
    if not _tip(repo, ref):
        return {}
    found = {}
    for row in git_in(repo, "ls-tree", "-r", "-z", "--full-tree", ref).decode("utf-8", "replace").split("\0"):
        kind, tab, path = row.partition("\t")
        name = path.replace("/", "")
        if tab and kind.split()[1] == "blob" and re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", name):
            found[name] = kind.split()[2]
    return found


def _lines_of(repo: Repository, ref: str, remarks: list[str] | None = None) -> dict[str, list[bytes]]:
    """Content tree → lines of its note, up to `_MOST_BYTES` and `_MOST_LINES`."""
    blobs = _blobs_of(repo, ref)
    found: dict[str, list[bytes]] = {}
    size = number = 0
    for tree, content in zip(blobs, read_blobs(repo, list(blobs.values())), strict=False):
        size += len(content or b"")
        lines = [line for line in (content or b"").splitlines() if line.strip()]
        number += len(lines)
        if content is None or size > _MOST_BYTES or number > _MOST_LINES:
            if remarks is not None:
                remarks.append(f"{ref}: not all of it was read: it is larger than any we write.")
            break
        found[tree] = lines
    return found


def _run_of(line: bytes, *, signed: bool = False) -> str:
    """The run that a line of ours states; empty for a line that is none (`signed`: or has no signature)."""
    try:
        plain = json.loads(line)
        return str(plain["header"]["run"]) if plain["signatures"] or not signed else ""
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


# -- travelling


def _push(repo: Repository, remote: str, writer: str, remarks: list[str]) -> bool:
    """Push this clone's notes, where the remote does not have them; whether it took them."""
    ref = OWN + writer
    if _tip(repo, ref) in ("", _tip(repo, f"{FETCHED}{_folder(remote)}/receipts/{writer}")):
        return False
    for _ in range(_TRIES):
        try:
            git_in(repo, "push", "--quiet", "--no-verify", remote, f"{ref}:{ref}", timeout=_TIMEOUT, network=True)
            return True
        except GitFailed as problem:
            there = f"{FETCHED}{_folder(remote)}/receipts/{writer}"
            # a copied clone writes the same ref: its lines are merged, and the push is tried again
            if "fetch first" not in problem.stderr and "non-fast-forward" not in problem.stderr:
                remarks.append(f"not pushed: {one_line(str(problem), 200)} Nothing is lost: run kl sync again.")
                return False
            if not _fetch(repo, remote, remarks):
                return False
            theirs = _lines_of(repo, there)
            lines = [(tree, line.decode("utf-8", "replace")) for tree, some in theirs.items() for line in some]
            _change_notes(repo, ref, partial(_with_lines, lines=lines), _tip(repo, there))
    remarks.append("not pushed: the remote's notes moved each time. Run kl sync again.")
    return False


def _fetch(repo: Repository, remote: str, remarks: list[str]) -> bool:
    try:
        # no tags, no FETCH_HEAD: a sync must not change what the next `git merge` merges
        args = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", remote)
        git_in(repo, *args, _refspec(remote), timeout=_TIMEOUT, network=True)
        return True
    except GitFailed as problem:
        remarks.append(f"not fetched: {one_line(str(problem), 200)}")
        return False


def _folder(remote: str) -> str:
    """A name for the refs of a remote that may be a path or an address."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", remote).strip("-") or "remote"


def fetch_with(repo: Repository, remote: str) -> None:
    """Let `git fetch REMOTE` bring notes too, and commands import them. UsageProblem for an unknown remote."""
    if remote not in git_in(repo, "remote").decode("utf-8", "replace").split():
        raise UsageProblem("there is no such remote.", place=f"--sync {remote}", hint="See: git remote -v")
    key, spec = f"remote.{remote}.fetch", _refspec(remote)
    if spec not in git_in(repo, "config", "--get-all", key, ok=(0, 1)).decode("utf-8", "replace").splitlines():
        git_in(repo, "config", "--local", "--add", key, spec)
    git_in(repo, "config", "--local", "kl.sync", "true")


def _refspec(remote: str) -> str:
    """What `git fetch` must fetch so that evidence comes with the commits."""
    return f"+{OWN}*:{FETCHED}{_folder(remote)}/receipts/*"


# -- reading


def import_notes(ws: Workspace) -> Shared:
    """Import what fetched notes have that the store does not; refs that did not move are not read again.

    Raises as `ledger_writer`, and GitFailed.
    """
    repo = ws.repo
    assert repo is not None
    with ws.store.reading() as db:
        seen = _cursors(db)
    tips = {}
    for row in git_in(repo, "for-each-ref", "--format=%(objectname) %(refname)", FETCHED, OWN).decode().splitlines():
        commit, _, ref = row.partition(" ")
        tips[ref] = commit
    moved = {ref: commit for ref, commit in tips.items() if seen.get(ref) != commit}
    with ws.store.reading() as db:
        known = _known(db) if moved else frozenset()
    remarks: list[str] = []
    receipts: list[SignedReceipt] = []
    refused: list[str] = []
    for ref in sorted(moved):
        for one in _read_ref(repo, ref, known, remarks):
            if isinstance(one, str):
                refused.append(f"{ref.rpartition('/')[2]}: {one}")
            else:
                receipts.append(one)
    new = add_receipts(ws, receipts, NOTES)
    if moved:
        with ledger_writer(ws) as db:
            for ref, commit in moved.items():
                db.execute(
                    "INSERT INTO evidence_cursor (name, value) VALUES (?, ?)"
                    " ON CONFLICT (name) DO UPDATE SET value = excluded.value", (f"notes:{ref}", commit),
                )  # fmt: skip
    writers = tuple(sorted({ref.rpartition("/")[2] for ref in tips if ref.startswith(FETCHED)}))
    shown = tuple(refused[:_SHOWN])
    return Shared(imported=new, writers=writers, refused=shown, refusals=len(refused), remarks=tuple(remarks))


def _read_ref(
    repo: Repository, ref: str, known: frozenset[tuple[str, int]], remarks: list[str]
) -> Iterator[SignedReceipt | str]:
    """The receipts of a ref that are not known; for a line that is refused, why."""
    for tree, lines in _lines_of(repo, ref, remarks).items():
        for line in lines:
            if not known.isdisjoint(_names_of(line)):
                continue
            one = read_note_line(line)
            moved = isinstance(one, SignedReceipt) and one.receipt.tree != tree
            yield "it is attached to another content than its own" if moved else one


def _known(db: Database | None) -> frozenset[tuple[str, int]]:
    """What need not be read again, since each signature costs a process: runs of this store, and stored receipts.

    (run, 0), or (ID of the receipt, number of its signatures).
    """
    if db is None:
        return frozenset()
    own = db.rows(f"SELECT run, 0 FROM receipt WHERE origin NOT LIKE '{IMPORTED}%'")
    theirs = db.rows(
        "SELECT id, (SELECT COUNT(*) FROM attestation a WHERE a.receipt = r.id) FROM receipt r"
        f" WHERE origin LIKE '{IMPORTED}%'"
    )
    return frozenset((str(name), int(number)) for name, number in (*own, *theirs))


def _names_of(line: bytes) -> tuple[tuple[str, int], ...]:
    """The names by which `_known` knows this line; the ID is computed, not what the line states."""
    try:
        plain = json.loads(line)
        header = {key: plain["header"][key] for key in HEADER_KEYS}
        return (str(header["run"]), 0), (receipt_id(header), len(plain["signatures"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()


def _cursors(db: Database | None) -> dict[str, str]:
    rows = db.rows("SELECT name, value FROM evidence_cursor WHERE name LIKE 'notes:%'") if db else []
    return {str(name).removeprefix("notes:"): str(value) for name, value in rows}
