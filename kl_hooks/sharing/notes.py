"""Evidence in git notes: what one clone recorded, on the content trees that it is about, for all
other clones.

The ref of a clone is `refs/notes/kl/receipts/<writer>` (`git.notes`). Its notes are JSON lines, one
receipt a line, attached to trees and not to commits: a squash, a rebase or a cherry-pick makes
other commits of the same tree.

Only facts travel: outcomes, versions, contents. Messages, output, command lines and durations stay.
The lines are plain text, so git's own compression makes a second run of the same tests cost nearly
nothing.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.distributions import DISTRIBUTIONS, Distributions
from kl_hooks.evidence.executed import NEWEST_SHARED, Executed, executed_of_run, vouched_digest
from kl_hooks.evidence.high_water import ledger_writer
from kl_hooks.evidence.ledger import recent
from kl_hooks.evidence.sources.receipts import receipt_of
from kl_hooks.evidence.trust import IMPORTED, NOTES, ran_no_test
from kl_hooks.git.notes import (
    change_lines,
    fetch_notes,
    own_ref,
    push_notes,
    read_lines,
    refs_of,
    with_lines,
    writer_name,
)
from kl_hooks.git.repository import Repository, head
from kl_hooks.hookspecs import CommonEvent
from kl_hooks.model.canonical import canonical, replace_surrogates
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.receipt import HEADER_KEYS, Evidence, Receipt, SignedReceipt, receipt_id
from kl_hooks.model.text import counted, one_line
from kl_hooks.sharing.attestation import (
    add_receipts,
    import_flaw,
    sign_receipt,
    signed_receipt,
)
from kl_hooks.sharing.common_events import import_events, share_events
from kl_hooks.sharing.note_reading import Limits, NoteReading
from kl_hooks.sharing.shared_symbols import share_executed
from kl_hooks.store.database import Database
from kl_hooks.store.redaction import redact_value
from kl_hooks.workspace import Workspace, require_setup

_SORT: Final = "receipts"
"""Of the refs."""
_NOTE_SCHEMA: Final = "kl.note/1"
_SOURCES: Final = ("pytest", "junit", "arch")
_ENVIRONMENT: Final = (
    "python",
    "implementation",
    "platform",
    "pytest",
    "plugins",
    "way",
    "local_plugins",
    "rootdir",
    "facts",
)
"""Of a run's environment: what decides whether two runs are independent, whether one counts at all,
and which facts of it are known.
"""
_DETAILS: Final = ("path", "line", "by")
_RUNS: Final = 200
"""The newest runs that a push looks at."""
_SHOWN: Final = 10
_OF_A_SYNC: Final = Limits(200, 128 * 1024 * 1024, 2_000)
_NO_SETS: Final[Mapping[str, Executed]] = {}


def public_form(receipt: Receipt) -> Receipt:
    """The receipt as it travels, with an ID of its own: facts alone, its tests in the order of
    their names.
    """
    evidence = tuple(
        fact._replace(
            duration_us=0,
            executed=None,
            detail={
                key: fact.detail[key] for key in _DETAILS if fact.detail.get(key) not in (None, "")
            },
        )
        for fact in sorted(receipt.evidence, key=lambda fact: (fact.outcome, fact.subject))
    )
    environment = {
        key: receipt.environment[key] for key in _ENVIRONMENT if key in receipt.environment
    }
    if named := vouched_digest(receipt.environment):
        environment["executed"] = {"digest": named}
    if distributions := Distributions.of(receipt):
        environment[DISTRIBUTIONS] = distributions.public_dict()
    untracked = receipt.environment.get("untracked")
    if isinstance(untracked, Mapping) and untracked.get("files") == 0:
        environment["untracked"] = {
            "files": 0,
            "first": [],
        }  # else their names would have to travel
    # reasons may name paths of this machine, so they stay
    result = {
        key: receipt.result[key]
        for key in ("exit", "complete", "how", "verdict", "counts")
        if key in receipt.result
    }
    coverage = receipt.result.get("coverage")
    if isinstance(coverage, Mapping):  # without the measured folders, which may be of this machine
        result["coverage"] = {
            key: coverage[key] for key in ("hundredths", "least", "precision") if key in coverage
        }
    if receipt.result.get("verdict") != "passed":
        result["reasons"] = [
            f"recorded by its writer as {receipt.result.get('verdict') or 'unknown'}"
        ]
    selection = {
        key: value for key, value in receipt.selection.items() if key not in ("args", "addopts")
    }
    plain = redact_value({"environment": environment, "result": result, "selection": selection})
    return receipt._replace(evidence=evidence, parent=None, **plain)


def note_line(signed: SignedReceipt) -> str:
    """A receipt in its public form as one line: its tests grouped by outcome and file."""
    receipt = signed.receipt
    groups: dict[str, dict[str, list[str]]] = {}
    ungrouped: list[dict[str, Any]] = []
    for fact in receipt.evidence:
        path, colons, name = fact.subject.removeprefix("test:").partition("::")
        if (
            fact.kind == "TestResult"
            and fact.subject.startswith("test:")
            and not fact.detail
            and colons
        ):
            groups.setdefault(fact.outcome, {}).setdefault(path, []).append(name)
        else:
            ungrouped.append(fact.to_dict())
    plain = {
        "schema": _NOTE_SCHEMA,
        "header": receipt.header(),
        "tests": groups,
        "rest": ungrouped,
        "signatures": [b64encode(blob).decode() for _, blob in signed.signatures],
    }
    return canonical(plain).decode()


def read_note_line(line: bytes) -> SignedReceipt | str:
    """The inverse, all hashes computed again and signatures checked; or why it is refused, in a few
    words.
    """
    try:
        plain = replace_surrogates(json.loads(line))
        if plain.get("schema") != _NOTE_SCHEMA:
            return f"schema {one_line(repr(plain.get('schema')), 60)} is not {_NOTE_SCHEMA!r}"
        evidence = [Evidence.from_dict(fact) for fact in plain["rest"]]
        for outcome, files in plain["tests"].items():
            evidence += [
                Evidence("TestResult", f"test:{path}::{name}", outcome)
                for path, names in files.items()
                for name in names
            ]
        ordered = sorted(evidence, key=lambda fact: (fact.outcome, fact.subject))
        header = {key: plain["header"][key] for key in HEADER_KEYS}
        receipt = receipt_of(
            header | {"id": receipt_id(header), "evidence": [fact.to_dict() for fact in ordered]}
        )
        if isinstance(receipt, str):
            return receipt
        if flaw := import_flaw(receipt):
            return flaw
        return signed_receipt(receipt, plain.get("signatures", ()))
    except (KeyError, TypeError, AttributeError, RecursionError):
        return "not a receipt"
    except ValueError as problem:
        return f"not a receipt ({one_line(str(problem), 120)})"


class Shared(NamedTuple):
    """What one synchronization did, or (dry run) would do."""

    writer: str = ""
    """Of this clone's refs; empty in a dry run before the first push."""
    remote: str = ""
    added: tuple[Receipt, ...] = ()
    """Receipts that were written to this clone's notes."""
    signed: bool = False
    pushed: bool = False
    """Whether there was something to push, and the remote took it."""
    events: tuple[CommonEvent, ...] = ()
    """Claims, rejections, counts and the like of this clone that were written too."""
    imported: int = 0
    """New receipts of others."""
    imported_events: int = 0
    writers: tuple[str, ...] = ()
    """The others whose notes were fetched."""
    refused: tuple[str, ...] = ()
    """Lines of others that were refused, and why; at most ten."""
    refusals: int = 0
    remarks: tuple[str, ...] = ()
    """What was not done, and why: no network, a refused push."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as in `kl.sync/2`."""
        runs = [
            {
                "run": one.run,
                "source": one.source,
                "tree": one.tree,
                "tests": len(one.evidence),
                "verdict": one.result.get("verdict"),
                "at": one.ended,
            }
            for one in self.added
        ]
        events = [one._asdict() | {"body": dict(one.body)} for one in self.events]
        return {
            "events": events,
            "imported_events": self.imported_events,
            "writer": self.writer,
            "remote": self.remote,
            "added": runs,
            "signed": self.signed,
            "pushed": self.pushed,
            "imported": self.imported,
            "writers": list(self.writers),
            "refused": list(self.refused),
            "refusals": self.refusals,
            "remarks": list(self.remarks),
        }


def share(
    ws: Workspace,
    remote: str,
    *,
    push: bool = True,
    pull: bool = True,
    dry_run: bool = False,
    key: Path | None = None,
    receipts: Sequence[Receipt] | None = None,
    executed: Mapping[str, Executed] = _NO_SETS,
) -> Shared:
    """Write what this store has recorded to this clone's notes, push them, fetch and import those
    of others.

    `receipts`: written instead of the store's own, as far as they are about the commit that is
    checked out: a job that has the key publishes what a job that ran foreign code has recorded;
    `executed`: what their tests executed, by run. `key`: signs what is written. A remote that can't
    be reached is a remark: nothing is lost, and nobody is stopped. UsageProblem outside git or for
    an unknown remote.
    """
    require_setup(ws)
    repo = ws.repo
    if repo is None:
        raise UsageProblem(
            "evidence is shared by git notes.",
            place=str(ws.root),
            hint="Run it in a git repository.",
        )
    writer = writer_name(repo, remote, create=not dry_run)
    remarks: list[str] = []
    # fetched first: then it is known whether there is anything to push
    fetched = not dry_run and fetch_notes(repo, remote, remarks)
    if pull and fetched:
        done = import_notes(ws, _OF_A_SYNC)
    else:
        done = Shared()
    done = done._replace(
        writer=writer,
        remote=remote,
        writers=tuple(other for other in done.writers if other != writer),
    )
    if push:
        sound = _without_repeated_checks(_sound(_published(ws, repo, receipts), remarks))
        new = _new_receipts(repo, writer, sound, signed=key is not None)
        if not dry_run and new:
            if receipts is None:
                sets = _executed_here(ws, new)
            else:
                sets = {receipt.run: executed.get(receipt.run) for receipt in new}
            # before the receipts: these are written once, and vouch for the sets
            remarks += share_executed(repo, writer, new, sets)
            _write_receipts(repo, writer, new, key)
        if receipts is None:
            events = share_events(ws, repo, writer, key, dry_run=dry_run)
        else:
            events = []
        pushed = fetched and push_notes(repo, remote, writer, remarks)
        signed = key is not None and bool(new or events)
        done = done._replace(added=tuple(new), events=tuple(events), signed=signed, pushed=pushed)
    return done._replace(remarks=(*remarks, *done.remarks))


def _published(
    ws: Workspace, repo: Repository, receipts: Sequence[Receipt] | None
) -> Sequence[Receipt]:
    """Those of the given receipts that are about the commit that is checked out; else the
    store's.
    """
    if receipts is None:
        return _recorded_here(ws)
    here = head(repo)[2]
    return [receipt for receipt in receipts if receipt.tree == here and _is_shared(receipt)]


# -- writing


def _sound(receipts: Iterable[Receipt], remarks: list[str]) -> list[Receipt]:
    """The public forms of receipts, of those that others would import; how many are not is a
    remark.
    """
    forms = [public_form(receipt) for receipt in receipts]
    sound = [form for form in forms if not import_flaw(form)]
    if len(sound) < len(forms):
        refused = counted(len(forms) - len(sound), "run")
        remarks.append(f"{refused} not written: others would refuse what they hold.")
    return sound


def _without_repeated_checks(receipts: Sequence[Receipt]) -> list[Receipt]:
    """Without checks of which a newer one states just the same: a check executes no test, and a job
    of CI makes one for each format that it prints.
    """
    newest: dict[str, Receipt] = {}
    for receipt in sorted(receipts, key=lambda receipt: receipt.ended):
        is_check = all(evidence.kind == "Validator" for evidence in receipt.evidence)
        if is_check:
            statement = receipt._replace(run="", started="", ended="").id
        else:
            statement = receipt.run
        newest[statement] = receipt
    runs = {receipt.run for receipt in newest.values()}
    return [receipt for receipt in receipts if receipt.run in runs]


def _recorded_here(ws: Workspace) -> list[Receipt]:
    """What this store recorded itself, oldest first."""
    with ws.store.reading() as db:
        if db:
            entries = [entry for source in _SOURCES for entry in recent(db, _RUNS, source)]
        else:
            entries = []
        # a run of edited files is of no use to others, unless they were committed as they were
        if db:
            trees = {tree for (tree,) in db.rows("SELECT tree FROM commit_log")}
        else:
            trees = set()
    own = (entry for entry in sorted(entries, key=lambda entry: entry.seq) if not entry.folded)
    ours = (
        entry.receipt
        for entry in own
        if not entry.origin.startswith(IMPORTED) and _is_shared(entry.receipt)
    )
    return [receipt for receipt in ours if not receipt.dirty or receipt.tree in trees]


def _is_shared(receipt: Receipt) -> bool:
    """Runs that ran something, on a content that is known."""
    has_content = bool(receipt.tree) and not receipt.moved and receipt.source in _SOURCES
    return (
        has_content
        and bool(receipt.evidence)
        and not ran_no_test(receipt.selection, receipt.result)
    )


def _new_receipts(
    repo: Repository, writer: str, receipts: Sequence[Receipt], *, signed: bool
) -> list[Receipt]:
    """Those that the notes of this clone do not have; with a key, also those that they have
    unsigned.
    """
    # somebody who signs from today on wants what was written before to count
    lines = (line for some in read_lines(repo, own_ref(_SORT, writer)).values() for line in some)
    shared_runs = {run for line in lines if (run := _run_of(line, signed=signed))}
    return [receipt for receipt in receipts if receipt.run not in shared_runs]


def _write_receipts(
    repo: Repository, writer: str, receipts: Sequence[Receipt], key: Path | None
) -> None:
    """Add these to the notes, in place of unsigned lines of the same runs."""
    runs = {one.run for one in receipts}
    signed = ((one, (sign_receipt(one, key),) if key else ()) for one in receipts)
    lines = [
        (str(one.tree), note_line(SignedReceipt(one, signatures))) for one, signatures in signed
    ]
    change_lines(
        repo, own_ref(_SORT, writer), lambda notes: with_lines(_without(notes, runs), lines)
    )


def _executed_here(ws: Workspace, receipts: Sequence[Receipt]) -> dict[str, Executed | None]:
    """What the tests of the newest of these runs executed, by run."""
    with ws.store.reading() as db:
        if not db:
            return {}
        return {one.run: executed_of_run(db, one.run) for one in receipts[-NEWEST_SHARED:]}


def _without(notes: Mapping[str, list[bytes]], runs: Collection[str]) -> dict[str, list[bytes]]:
    """The notes without the lines of these runs."""
    return {tree: [one for one in some if _run_of(one) not in runs] for tree, some in notes.items()}


def _run_of(line: bytes, *, signed: bool = False) -> str:
    """The run that a line of ours states; empty for a line that is none (`signed`: or has no
    signature).
    """
    try:
        plain = json.loads(line)
        if plain["signatures"] or not signed:
            return str(plain["header"]["run"])
        return ""
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


# -- reading


def import_notes(ws: Workspace, limits: Limits | None = None) -> Shared:
    """Import what fetched notes have that the store does not, up to the limits; refs that did not
    move are not read again.

    Raises as `ledger_writer`, and GitFailed.
    """
    repo, limits = ws.repo, limits or Limits()
    assert repo is not None
    refs = refs_of(repo, _SORT)
    with ws.store.reading() as db:
        reading = NoteReading(refs, _SORT, _cursors(db), limits)
        if reading:
            known_lines = _KnownLines.of_store(db)
        else:
            known_lines = _KnownLines()
    remarks: list[str] = []
    receipts: list[SignedReceipt] = []
    refused: list[str] = []
    for writer, tree, line in reading.lines(repo, remarks):
        names = _names_of(line)
        if known_lines.has(tree, line, names) or not reading.allows(line, len(names.signatures)):
            continue
        known_lines.add(tree, line)
        signed = read_note_line(line)
        if isinstance(signed, str):
            refused.append(f"{writer}: {signed}")
        elif signed.receipt.tree != tree:
            refused.append(f"{writer}: it is attached to another content than its own")
        else:
            receipts.append(signed)
    new = add_receipts(ws, receipts, NOTES)
    if reading:
        with ledger_writer(ws) as db:
            reading.store_cursors(db, "notes")
    events, refused_events, remark = import_events(ws, repo, limits)
    refused += refused_events
    own = own_ref(_SORT, "")
    writers = {ref.name.rpartition("/")[2] for ref in refs if not ref.name.startswith(own)}
    # one sentence for both sorts: a writer has a ref of each
    unread = reading.remark() or remark
    return Shared(
        imported=new,
        imported_events=events,
        writers=tuple(sorted(writers)),
        refused=tuple(refused[:_SHOWN]),
        refusals=len(refused),
        remarks=(*remarks[:_SHOWN], *([unread] if unread else ())),
    )


class _KnownLines:
    """What need not be read again, since each signature costs a process."""

    def __init__(self) -> None:
        self._runs: set[str] = set()
        """Of this store, whatever they are called elsewhere."""
        self._signed: dict[str, set[str]] = {}
        """ID of an imported receipt → its signatures (base64)."""
        self._lines: set[bytes] = set()
        """Digests of those that this command has read."""

    @classmethod
    def of_store(cls, db: Database | None) -> _KnownLines:
        lines = cls()
        if db is None:
            return lines
        own = db.rows(f"SELECT run FROM receipt WHERE origin NOT LIKE '{IMPORTED}%'")
        lines._runs = {str(run) for (run,) in own}
        sql = (
            "SELECT r.id, a.signature FROM receipt r LEFT JOIN attestation a ON a.receipt = r.id"
            f" WHERE r.origin LIKE '{IMPORTED}%'"
        )
        for id, signature in db.rows(sql):
            blobs = lines._signed.setdefault(str(id), set())
            if signature:
                blobs |= {b64encode(bytes(signature)).decode()}
        return lines

    def has(self, tree: str, line: bytes, names: _Names) -> bool:
        stored = self._signed.get(names.id)
        signed = stored is not None and names.signatures <= stored
        return signed or names.run in self._runs or _digest(tree, line) in self._lines

    def add(self, tree: str, line: bytes) -> None:
        """Note that this command has read a line."""
        self._lines.add(_digest(tree, line))


def _digest(tree: str, line: bytes) -> bytes:
    # with the tree: attached to another one the same line is refused
    return sha256(tree.encode() + b"\n" + line.strip()).digest()


class _Names(NamedTuple):
    run: str
    id: str
    """Of its receipt: computed, not what the line states."""
    signatures: frozenset[str]


def _names_of(line: bytes) -> _Names:
    try:
        plain = json.loads(line)
        header = {key: plain["header"][key] for key in HEADER_KEYS}
        signatures = frozenset(map(str, plain["signatures"]))
        return _Names(str(header["run"]), receipt_id(header), signatures)
    except (ValueError, KeyError, TypeError, RecursionError):
        return _Names("", "", frozenset())


def _cursors(db: Database | None) -> dict[str, str]:
    if db:
        rows = db.rows("SELECT name, value FROM evidence_cursor WHERE name LIKE 'notes:%'")
    else:
        rows = []
    return {str(name).removeprefix("notes:"): str(value) for name, value in rows}
