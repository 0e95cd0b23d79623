"""Attestations: a signature over a receipt, the keys that a reader trusts, and the file others can
check.

A receipt is signed as an in-toto Statement (github.com/in-toto/attestation, spec/v1) in a DSSE
envelope (github.com/secure-systems-lab/dsse), with a key of OpenSSH: `ssh-keygen -Y sign`,
namespace `kl-evidence` (PROTOCOL.sshsig of OpenSSH). The Statement is made of the receipt alone,
always with the same bytes, so a git note needs only the receipt and the signature.

A signature proves who vouches for a receipt, and that nothing of it was edited since. It does not
prove that the tests really ran. Whom to trust is the reader's decision, made when evidence is read:
an origin is never stored as trusted, so a key that is removed or revoked counts no more, at once.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from kl_hooks.clock import iso, micros
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.evidence.foreign import has_signatures
from kl_hooks.evidence.high_water import ledger_writer
from kl_hooks.evidence.journal import receipt_flaw
from kl_hooks.evidence.ledger import Entry, append
from kl_hooks.evidence.sources.receipts import judged_lines, receipt_of
from kl_hooks.evidence.trust import IMPORTED, NOTES
from kl_hooks.git.repository import git_in, resolve_commit
from kl_hooks.hookspecs import FileOfEvidence
from kl_hooks.model.canonical import canonical, digest, replace_surrogates
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.problem import Problem
from kl_hooks.model.receipt import Receipt, SignedReceipt
from kl_hooks.model.text import one_line
from kl_hooks.store.database import Database, chunks, placeholders
from kl_hooks.store.files import read_small
from kl_hooks.store.redaction import redact_value, shows_secret
from kl_hooks.workspace import Workspace

NAMESPACE: Final = "kl-evidence"
"""Of every signature: one that was made for another purpose (git's is `git`) is refused."""
_STATEMENT: Final = "https://in-toto.io/Statement/v1"
_RECEIPT_PREDICATE: Final = "https://pypi.org/project/kl-hooks/receipt/v1"
_RESULT_PREDICATE: Final = "https://in-toto.io/attestation/test-result/v0.1"
_PAYLOAD: Final = "application/vnd.in-toto+json"
TRUST_FILE: Final = ".kl/trust"
"""A team's keys, as lines of ssh's `allowed_signers` (ssh-keygen(1)). Read from a commit, never
from the checkout.
"""
_ROLES: Final = ("person", "ci")
_MAGIC: Final = b"SSHSIG"
_NAME: Final = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_KEY_TYPES: Final = lazy_pattern(
    r"(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp\d+|sk-[a-z0-9-]+@openssh\.com)"
)
_TIME_LIMIT: Final = 60
_MOST_SIGNATURES: Final = 8
"""Of one receipt that are checked: each costs a process."""


class TrustedKey(NamedTuple):
    """A key that the reader trusts to vouch for receipts."""

    name: str
    role: str
    """One of `_ROLES`."""
    key: str
    """As in an authorized_keys file, without a comment: `ssh-ed25519 AAAA…`."""
    place: str
    """Where it is configured."""
    valid_after: int = 0
    """Microseconds; 0: no limit."""
    valid_before: int = 0
    revoked: bool = False

    @property
    def fingerprint(self) -> str:
        """`SHA256:…`, as `ssh-keygen -l` prints it."""
        return fingerprint(self.key)

    @property
    def origin(self) -> str:
        """The origin of the receipts that it signed: `ci:<name>` or `signed:<name>`."""
        return f"{'ci' if self.role == 'ci' else 'signed'}:{self.name}"

    def why_not(self, ended: str, first_seen: str) -> str:
        """Why it does not vouch for a receipt that ended, and was first seen here, at these times;
        empty: it does.
        """
        if self.revoked:
            return f"the key {self.name} is revoked"
        if self.valid_after and micros(ended) < self.valid_after:
            return f"the key {self.name} was not valid yet"
        # of the time that we saw it, not of the receipt's own: whoever has an expired key can date
        # a receipt back
        if self.valid_before and max(micros(ended), micros(first_seen)) > self.valid_before:
            return f"the key {self.name} expired"
        return ""


class Trust(NamedTuple):
    """The keys that the reader trusts, and what is wrong with how they are configured."""

    keys: Mapping[str, TrustedKey]
    """By fingerprint."""
    problems: tuple[Problem, ...] = ()


def fingerprint(key: str) -> str:
    """`SHA256:…` of a public key (`ssh-ed25519 AAAA…`). ValueError for what is none."""
    if len(key.split()) > 1:
        blob = b64decode(key.split()[1], validate=True)
    else:
        blob = b""
    if not blob:
        raise ValueError("not a public key")
    return "SHA256:" + b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def public_key(text: str) -> str:
    """The type and the body of a public key, without its comment. ValueError for what is none."""
    parts = text.split()
    if len(parts) < 2 or not _KEY_TYPES.fullmatch(parts[0]):
        raise ValueError("not a public key of OpenSSH, such as: ssh-ed25519 AAAA…")
    key = f"{parts[0]} {parts[1]}"
    fingerprint(key)
    return key


def trusted_keys(ws: Workspace, trust_ref: str = "") -> Trust:
    """The keys of the user's git configuration, and those of `.kl/trust` in a commit.

    The commit is `trust_ref`, else what the user's `kl.trustRef` names; without either the file
    does not count: the checkout that is judged must not decide whom to trust.
    """
    if ws.git_settings:
        configured = ws.git_settings.kl
    else:
        configured = {}
    keys: dict[str, TrustedKey] = {}
    problems: list[Problem] = []
    for entries in (
        _from_git(configured),
        _from_file(ws, trust_ref or configured.get("trustref", "")),
    ):
        for entry in entries:
            if isinstance(entry, Problem):
                problems.append(entry)
            elif not keys.get(entry.fingerprint) or entry.revoked:
                keys[entry.fingerprint] = entry
    return Trust(keys, tuple(problems))


def _from_git(configured: Mapping[str, str]) -> Iterator[TrustedKey | Problem]:
    """From `kl.trust.<name>.key`, `.role`, `.validAfter`, `.validBefore`, `.revoked`."""
    names = [
        key[len("trust.") : -len(".key")]
        for key in configured
        if key.startswith("trust.") and key.endswith(".key")
    ]
    for name in names:
        values = {
            word: configured.get(f"trust.{name}.{word}", "")
            for word in ("key", "role", "validafter", "validbefore", "revoked")
        }
        place = f"git config kl.trust.{name}"
        try:
            times = [_time(values[word]) for word in ("validafter", "validbefore")]
            role = values["role"] or "person"
            if role not in _ROLES or not _NAME.fullmatch(name):
                raise ValueError(f"its role is {role!r}, and must be one of: {', '.join(_ROLES)}")
            revoked = values["revoked"].lower() not in ("", "false", "no", "off", "0")
            yield TrustedKey(
                name, role, public_key(values["key"]), place, times[0], times[1], revoked
            )
        except ValueError as problem:
            yield Problem(place, 0, 0, f"not trusted: {problem}.")


def _time(text: str) -> int:
    """A date, or a time in ISO 8601, in microseconds; 0 for an empty text."""
    try:
        if not text:
            return 0
        return micros(text)
    except ValueError:
        raise ValueError(f"{one_line(repr(text), 40)} is no date such as 2027-12-31") from None


def _from_file(ws: Workspace, ref: str) -> Iterator[TrustedKey | Problem]:
    if not ref or ws.repo is None:
        return
    try:
        commit = resolve_commit(ws.repo, ref)
    except UsageProblem:
        # keys that can't be read are not trusted; what needs none of them still answers
        yield Problem(
            f"git config kl.trustRef {ref}",
            0,
            0,
            "not a commit of this repository: no key of a team counts.",
        )
        return
    # 128: the commit has no such file
    content = git_in(ws.repo, "cat-file", "blob", f"{commit}:{TRUST_FILE}", ok=(0, 128))
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield read_signer(f"{ref}:{TRUST_FILE}", number, line)


_SIGNER: Final = lazy_pattern(
    r'(?P<who>\S+)\s+(?P<options>(?:[a-z-]+(?:="[^"]*")?(?:,|(?=\s)))*)\s*(?P<key>(?:ssh-|ecdsa-|sk-)\S+\s+\S+).*'
)


def read_signer(place: str, number: int, line: str) -> TrustedKey | Problem:
    """A line `ci:github namespaces="kl-evidence",valid-before="20270101" ssh-ed25519 AAAA…`."""

    def refused(why: str) -> Problem:
        return Problem(
            place,
            number,
            1,
            f"not trusted: {why}.",
            'ci:NAME namespaces="kl-evidence" ssh-ed25519 AAAA…',
        )

    match = _SIGNER.fullmatch(line.strip())
    if not match:
        return refused("not a line of ssh's allowed_signers")
    options = dict(re.findall(r'([a-z-]+)(?:="([^"]*)")?(?:,|$)', match["options"].strip()))
    role, colon, name = match["who"].partition(":")
    if not colon:
        role, name = "person", role
    if "cert-authority" in options:
        return refused("certificates are not read")
    if set(options) - {"namespaces", "valid-after", "valid-before", "revoked"}:
        return refused(f"unknown options: {', '.join(sorted(options))}")
    if role not in _ROLES or not _NAME.fullmatch(name):
        return refused(f"{match['who']!r} is not person:NAME or ci:NAME")
    # without namespaces ssh allows every one; with others than ours the key is not for evidence
    if "namespaces" in options and NAMESPACE not in options["namespaces"].split(","):
        return refused(f"its namespaces do not include {NAMESPACE}")
    try:
        after, before = (
            _ssh_time(options.get(word, "")) for word in ("valid-after", "valid-before")
        )
        return TrustedKey(
            name,
            role,
            public_key(match["key"]),
            f"{place}:{number}",
            after,
            before,
            "revoked" in options,
        )
    except ValueError as problem:
        return refused(str(problem))


def _ssh_time(text: str) -> int:
    """`YYYYMMDD[HHMM[SS]][Z]` in microseconds, as UTC; 0 for an empty text."""
    if not text:
        return 0
    match = re.fullmatch(r"(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?Z?", text)
    if not match:
        raise ValueError(f"{text!r} is no date such as 20270101")
    year, month, day, hour, minute, second = match.groups("00")
    return micros(f"{year}-{month}-{day}T{hour}:{minute}:{second}Z")


# -- statements


def statement(receipt: Receipt) -> dict[str, Any]:
    """The in-toto Statement about a receipt, all of it in the predicate. ValueError where its
    content is unknown.
    """
    return {
        "_type": _STATEMENT,
        "subject": _subjects(receipt),
        "predicateType": _RECEIPT_PREDICATE,
        "predicate": {"receipt": receipt.to_dict()},
    }


def _test_result(receipt: Receipt) -> dict[str, Any]:
    """The same as `test-result/v0.1` of in-toto, which has no durations, skipped tests or
    environment.
    """
    by_outcome: dict[str, list[str]] = {}
    for fact in receipt.evidence:
        by_outcome.setdefault(fact.outcome, []).append(fact.subject.removeprefix("test:"))
    failed = [*by_outcome.get("failed", ()), *by_outcome.get("error", ())]
    warned = [*by_outcome.get("flaky", ()), *by_outcome.get("xpassed", ())]
    if receipt.result.get("verdict") != "passed":
        verdict = "FAILED"
    elif warned:
        verdict = "WARNED"
    else:
        verdict = "PASSED"
    return {
        "_type": _STATEMENT,
        "subject": _subjects(receipt),
        "predicateType": _RESULT_PREDICATE,
        "predicate": {
            "result": verdict,
            "configuration": [
                {
                    "name": "pytest",
                    "digest": {"sha256": digest("selection/1", dict(receipt.selection))},
                }
            ],
            "passedTests": by_outcome.get("passed", []),
            "warnedTests": warned,
            "failedTests": failed,
        },
    }


def _subjects(receipt: Receipt) -> list[dict[str, Any]]:
    if not receipt.tree:
        raise ValueError("the content that it ran on is unknown")
    subjects: list[dict[str, Any]] = [{"name": "content", "digest": {"gitTree": receipt.tree}}]
    if receipt.head and not receipt.dirty:  # of edited files the commit is not the content
        subjects.append({"name": "commit", "digest": {"gitCommit": receipt.head}})
    return subjects


def pre_authentication(payload: bytes) -> bytes:
    """What a DSSE signature is over: PAE of the payload and its type (DSSE's protocol.md)."""
    return b"DSSEv1 %d %s %d %s" % (len(_PAYLOAD), _PAYLOAD.encode(), len(payload), payload)


def envelope(plain: Mapping[str, Any], signatures: Iterable[tuple[str, bytes]]) -> str:
    """A Statement in a DSSE envelope, one line.

    `signatures`: (public key, signature) over its PAE.
    """
    signed = [
        {"keyid": fingerprint(key), "sig": b64encode(blob).decode()} for key, blob in signatures
    ]
    payload = b64encode(canonical(plain)).decode()
    return json.dumps(
        {"payload": payload, "payloadType": _PAYLOAD, "signatures": signed}, sort_keys=True
    )


def bundle_lines(receipts: Iterable[Receipt], key: Path | None) -> Iterator[str]:
    """Envelopes of the receipts, two for each: our predicate, and test-result. `key`: None signs
    nothing.
    """
    for receipt in receipts:
        views = [
            statement(receipt),
            *([_test_result(receipt)] if receipt.source in ("pytest", "junit") else []),
        ]
        for plain in views:
            yield envelope(plain, [sign(pre_authentication(canonical(plain)), key)] if key else [])


def read_bundle(file: FileOfEvidence) -> Iterator[SignedReceipt | Problem]:
    """What each line of a bundle is. Envelopes of other predicates are omitted, as in-toto's bundle
    asks for.
    """
    return judged_lines(file, _read_envelope)


def _read_envelope(line: bytes) -> SignedReceipt | str | None:
    try:
        outer = json.loads(line)
        if outer["payloadType"] != _PAYLOAD:
            return f"payload type {one_line(str(outer['payloadType']), 60)!r}"
        payload = b64decode(outer["payload"], validate=True)
        plain = replace_surrogates(json.loads(payload))
        if plain.get("predicateType") != _RECEIPT_PREDICATE:
            return None
        receipt = receipt_of(plain["predicate"]["receipt"])
        if isinstance(receipt, str):
            return receipt
        if canonical(statement(receipt)) != payload:
            return "it states more, or something else, than its receipt"
        return signed_receipt(receipt, [one["sig"] for one in outer.get("signatures", ())])
    except (KeyError, TypeError, AttributeError, RecursionError):
        return "not an attestation of a receipt"
    except ValueError as problem:
        return f"not an attestation ({one_line(str(problem), 120)})"


# -- signatures


class _Signature(NamedTuple):
    key: str
    namespace: str


def _parse_signature(blob: bytes) -> _Signature:
    """The public key and the namespace in a signature (PROTOCOL.sshsig). ValueError for what is
    none.
    """
    if not blob.startswith(_MAGIC):
        raise ValueError("not a signature of ssh-keygen")
    try:
        if struct.unpack(">I", blob[6:10])[0] != 1:
            raise ValueError("a signature of an unknown version")
        fields = []
        offset = 10
        for _ in range(2):
            size = struct.unpack(">I", blob[offset : offset + 4])[0]
            fields.append(blob[offset + 4 : offset + 4 + size])
            offset += 4 + size
        kind = fields[0][4 : 4 + struct.unpack(">I", fields[0][:4])[0]].decode("ascii")
        return _Signature(
            public_key(f"{kind} {b64encode(fields[0]).decode()}"), fields[1].decode("ascii")
        )
    except (struct.error, UnicodeDecodeError) as problem:
        raise ValueError("not a signature of ssh-keygen") from problem


def _armored(blob: bytes) -> bytes:
    body = b64encode(blob).decode()
    rows = "\n".join(body[at : at + 70] for at in range(0, len(body), 70))
    return f"-----BEGIN SSH SIGNATURE-----\n{rows}\n-----END SSH SIGNATURE-----\n".encode()


def sign(data: bytes, key: Path) -> tuple[str, bytes]:
    """(public key, signature) of a private key, or of the agent's key of a public one.

    EnvironmentProblem; UsageProblem for a file that can't sign.
    """
    done = _ssh_keygen(["sign", "-n", NAMESPACE, "-f", str(key)], data)
    text = done.stdout.decode("ascii", "replace")
    if done.returncode or "BEGIN SSH SIGNATURE" not in text:
        why = (
            done.stderr.decode("utf-8", "replace")
            .replace("Signing data on standard input", "")
            .strip()
        )
        hint = (
            "Name a private key, or the public one of a key in ssh-agent. A new one: ssh-keygen -t"
            " ed25519 -f FILE"
        )
        raise UsageProblem(
            f"it can't sign: {one_line(why, 200) or 'ssh-keygen failed'}.",
            place=str(key),
            hint=hint,
        )
    blob = b64decode("".join(row for row in text.splitlines() if not row.startswith("-----")))
    return _parse_signature(blob).key, blob


def signing_key(ws: Workspace, stated: str = "") -> Path | None:
    """The key to sign with: the one given, else the user's `kl.signingKey`; None for none."""
    named = stated or (ws.git_settings.kl.get("signingkey", "") if ws.git_settings else "")
    key = Path(os.path.expanduser(named)) if named else None  # noqa: PTH111 (which raises without HOME)
    if key is not None and not key.is_file():
        # now, and not once there is something to sign: nobody would see for weeks that nothing is
        # signed
        hint = (
            "Name a private key, or the public one of a key in ssh-agent. A new one: ssh-keygen -t"
            " ed25519 -f FILE"
        )
        raise UsageProblem(
            "there is no such key.",
            place=f"{'--sign' if stated else 'kl.signingKey'} {named}",
            hint=hint,
        )
    return key


def sign_receipt(receipt: Receipt, key: Path) -> tuple[str, bytes]:
    """(public key, signature) over the Statement of a receipt. Raises as `sign`; ValueError as
    `statement`.
    """
    return sign(pre_authentication(canonical(statement(receipt))), key)


def signed_receipt(receipt: Receipt, signatures: Iterable[str]) -> SignedReceipt:
    """The receipt with its signatures (base64), each checked once. ValueError as
    `check_signatures`, or for many.
    """
    blobs = list(dict.fromkeys(b64decode(one, validate=True) for one in signatures))
    if len(blobs) > _MOST_SIGNATURES:
        raise ValueError(f"it has {len(blobs)} signatures")
    return SignedReceipt(receipt, tuple(check_signatures(receipt, blobs)))


def check_signatures(receipt: Receipt, blobs: Sequence[bytes]) -> Iterator[tuple[str, bytes]]:
    """(public key, signature) of those that are over this receipt's Statement; as `check_blobs`."""
    return check_blobs(pre_authentication(canonical(statement(receipt))), blobs, "this receipt")


def check_blobs(
    data: bytes, blobs: Sequence[bytes], what: str, among: Collection[str] | None = None
) -> Iterator[tuple[str, bytes]]:
    """(public key, signature) of those that are over these bytes. ValueError for one that is not.

    Trust is another question. One process for each; `among`: fingerprints, and no process for
    others.
    """
    for blob in blobs[:_MOST_SIGNATURES]:
        signature = _parse_signature(blob)
        if among is not None and fingerprint(signature.key) not in among:
            continue
        if signature.namespace != NAMESPACE:
            raise ValueError(
                f"signed for {one_line(signature.namespace, 40)!r}, not for {NAMESPACE!r}"
            )
        with TemporaryDirectory(prefix="kl-signature-") as folder:
            path = Path(folder) / "signature"
            path.write_bytes(_armored(blob))
            # the namespace is given again: ssh-keygen compares it with the one that was signed
            if _ssh_keygen(["check-novalidate", "-n", NAMESPACE, "-s", str(path)], data).returncode:
                raise ValueError(f"its signature is not over {what}")
        yield signature.key, blob


def _ssh_keygen(args: Sequence[str], data: bytes) -> subprocess.CompletedProcess[bytes]:
    from shutil import which

    program = which("ssh-keygen")
    if program is None:
        raise EnvironmentProblem(
            "ssh-keygen was not found in PATH.", hint="Install OpenSSH 8.2 or newer."
        )
    try:
        return subprocess.run(
            [program, "-Y", *args],
            input=data,
            capture_output=True,
            timeout=_TIME_LIMIT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise EnvironmentProblem(f"ssh-keygen can't be run: {problem}.") from problem


# -- in the store


class Vouched(NamedTuple):
    """What the signatures of a receipt mean to this reader."""

    origin: str
    """`ci:<name>` or `signed:<name>` of a trusted key; else the stored origin."""
    reasons: tuple[str, ...] = ()
    """Why signatures that are there do not count, a phrase each."""


def import_flaw(receipt: Receipt) -> str:
    """Why a receipt that was made elsewhere is not stored, in a few words; empty: it is."""
    if flaw := receipt_flaw(receipt):
        return flaw
    # refused, not redacted: its ID would be another one
    if _holds_secret(receipt):
        return "it holds what looks like a secret"
    return ""


def _holds_secret(receipt: Receipt) -> bool:
    plain = receipt.to_dict()
    for evidence in plain["evidence"]:
        name = evidence.pop("subject")
        # a parametrized test's name may look random (`opt1_params0-opt2_params0`), and is what the
        # receipt is about
        if shows_secret(name):
            return True
    return bool(redact_value(plain) != plain)


def add_receipts(ws: Workspace, signed: Sequence[SignedReceipt], origin: str) -> int:
    """Store receipts from a file or a note, with their signatures; how many were new. Raises as
    `ledger_writer`.
    """
    if not signed:
        return 0
    with ledger_writer(ws) as db:
        junit = {row[0] for row in db.rows("SELECT run FROM receipt WHERE source = 'junit'")}
        # a note has a run without its messages, so under another ID: what this store recorded
        # itself is known better
        own = {
            row[0]
            for row in db.rows(f"SELECT run FROM receipt WHERE origin NOT LIKE '{IMPORTED}%'")
        }
        if origin.startswith(IMPORTED):
            own_runs = own
        else:
            own_runs = set()
        # and what is here whole, out of a bundle, with the same signatures
        if origin.startswith(NOTES):
            whole = _signers_by_run(db)
        else:
            whole = {}
        unknown = [
            one
            for one in signed
            if one.receipt.run not in own_runs
            and (one.receipt.source != "junit" or one.receipt.run not in junit)
            and not ({fingerprint(key) for key, _ in one.signatures} or {""})
            <= whole.get(one.receipt.run, set())
        ]
        new = append(db, [one.receipt for one in unknown], origin)
        _add_signatures(db, unknown, ws.clock.now())
    return new


def _signers_by_run(db: Database) -> dict[str, set[str]]:
    """Run → fingerprints of the keys that signed a receipt of it that is not out of notes."""
    signers: dict[str, set[str]] = {}
    sql = (
        "SELECT r.run, a.fingerprint FROM receipt r JOIN attestation a ON a.receipt = r.id WHERE"
        " r.origin NOT LIKE ?"
    )
    for run, key in db.rows(sql, (f"{NOTES}%",)):
        signers.setdefault(str(run), set()).add(str(key))
    return signers


def _add_signatures(db: Database, signed: Iterable[SignedReceipt], now: int) -> int:
    """Store checked signatures, in a transaction that the caller holds; how many were new."""
    before = _count(db)
    db.many(
        "INSERT INTO attestation (receipt, fingerprint, key, signature, added) VALUES (?, ?, ?, ?,"
        " ?) ON CONFLICT DO NOTHING",
        [
            (one.receipt.id, fingerprint(key), key, blob, iso(now))
            for one in signed
            for key, blob in one.signatures
        ],
    )
    return _count(db) - before


def _count(db: Database) -> int:
    row = db.row("SELECT COUNT(*) FROM attestation")
    if not row:
        return 0
    return int(row[0])


def vouched(
    ws: Workspace, db: Database | None, entries: Sequence[Entry], trust_ref: str = ""
) -> dict[str, Vouched]:
    """What signatures prove of these imported receipts, by ID; those without a signature are
    absent.
    """
    wanted = {one.id: one for one in entries if one.origin.startswith(IMPORTED)}
    if db is None or not wanted or not has_signatures(db):
        return {}
    trust = trusted_keys(ws, trust_ref).keys
    listed = _listed_keys(ws)
    signatures_by_receipt: dict[str, list[tuple[str, str]]] = {}
    for batch in chunks(sorted(wanted)):
        sql = (
            "SELECT receipt, fingerprint, added FROM attestation WHERE receipt IN"
            f" ({placeholders(batch)})"
        )
        for receipt, key, added in db.rows(f"{sql} ORDER BY receipt, added, fingerprint", batch):
            signatures_by_receipt.setdefault(str(receipt), []).append((str(key), str(added)))
    return {
        id: _judge(wanted[id], keys, trust, listed) for id, keys in signatures_by_receipt.items()
    }


def _listed_keys(ws: Workspace) -> dict[str, str]:
    """Return fingerprint → name of the keys in `.kl/trust` as it is on disk: they are named, and
    trusted only as a commit has them that the clone follows.
    """
    content = read_small(ws.root / TRUST_FILE, within=ws.root) or b""
    lines = content.decode("utf-8", "replace").splitlines()
    signers = (read_signer(TRUST_FILE, number, line) for number, line in enumerate(lines, 1))
    return {one.fingerprint: one.name for one in signers if isinstance(one, TrustedKey)}


def _judge(
    entry: Entry,
    keys: Iterable[tuple[str, str]],
    trust: Mapping[str, TrustedKey],
    listed: Mapping[str, str],
) -> Vouched:
    good = []
    reasons = []
    for key, added in keys:
        trusted_key = trust.get(key)
        if trusted_key:
            why = trusted_key.why_not(entry.receipt.ended, added)
        elif key in listed:
            why = (
                f'signed by "{listed[key]}" of {TRUST_FILE}, which this clone does not follow yet:'
                " git config kl.trustRef origin/main"
            )
        else:
            why = f"its key {key} is not trusted here"
        if trusted_key and not why:
            good.append(trusted_key)
        else:
            reasons.append(why)
    # a CI's word before a person's: the receipt of a CI run may be signed by whoever published it
    # too
    best = min(good, key=lambda signer: (signer.role != "ci", signer.name), default=None)
    return Vouched(best.origin if best else entry.origin, tuple(reasons))


def with_origins(
    ws: Workspace, db: Database | None, entries: Sequence[Entry], trust_ref: str = ""
) -> list[Entry]:
    """The entries, imported ones with the origin that a trusted signature proves, or with why
    theirs does not count.

    Who forgets to ask here counts less, never more: as stored, such an entry is imported.
    """
    vouched_by_id = vouched(ws, db, entries, trust_ref)
    return [
        (
            one._replace(
                origin=(
                    f"{vouched_receipt.origin}; {vouched_receipt.reasons[0]}"
                    if vouched_receipt.origin == one.origin
                    else vouched_receipt.origin
                ),
            )
            if (vouched_receipt := vouched_by_id.get(one.id))
            else one
        )
        for one in entries
    ]
