"""Evidence of others: signed, trusted or not, in bundles and in git notes. With real keys, real
clones, real git.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import struct
import subprocess
import tempfile
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

from kl_hooks.errors import UsageProblem
from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.ledger import recent
from kl_hooks.evidence.snapshot import snapshot
from kl_hooks.evidence.sources.receipts import receipt_of
from kl_hooks.hookspecs import FileOfEvidence
from kl_hooks.model.receipt import Receipt, SignedReceipt, receipt_id
from kl_hooks.sharing import attestation, notes
from kl_hooks.sharing.file_import import import_file
from tests.evidence.making import RECEIPTS, leave_run
from tests.evidence.test_claims import run
from tests.store.secrets import SHAPES
from tests.support import NOW, Checkout, checkout

FILES = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
}
GOLDEN = Path(__file__).with_name("golden.intoto.jsonl")
"""A bundle of a run with a passed and a failed test, signed with a key that was deleted."""
PASSED = [("test_calc.py::test_add", "passed", 5)]


@pytest.fixture(scope="session")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Private keys; the public one is beside each."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("ci", "eve"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True
        )
    return {name: folder / name for name in ("ci", "eve")}


@pytest.fixture
def clones(tmp_path: Path, home: Path) -> Callable[[str], Checkout]:
    """Clones of one server."""
    first = checkout(tmp_path / "first", FILES)
    first.git("clone", "-q", "--bare", str(first.root), str(tmp_path / "server.git"))

    def clone(name: str) -> Checkout:
        first.git("clone", "-q", str(tmp_path / "server.git"), str(tmp_path / name))
        return Checkout(tmp_path / name)

    return clone


def recorded(repo: Checkout) -> str:
    """A passing run of all tests; its ID."""
    return leave_run(repo.workspace(), PASSED)


def trust(repo: Checkout, key: Path, role: str = "ci", name: str = "github") -> None:
    assert repo.kl("trust", "add", name, "--key", f"{key}.pub", "--role", role).returncode == 0


def verdict(repo: Checkout, *options: str) -> str:
    """The first line of `kl verify`, without its tree."""
    return repo.kl("verify", *options).stdout.splitlines()[0].partition(": ")[2]


def test_a_green_ci_run_proves_the_content_in_a_colleagues_clone(
    clones: Callable[[str], Checkout], keys: dict[str, Path]
) -> None:
    ci, bob = clones("ci"), clones("bob")
    recorded(ci)
    dry = ci.kl("sync", "--dry-run")
    assert (
        "1 run would be written to the notes of this clone" in dry.stdout
        and ci.git("ls-remote", "origin", "refs/notes/*") == ""
    )
    sent = ci.kl("sync", "--sign", str(keys["ci"]))
    assert (
        sent.returncode,
        "1 run written and signed" in sent.stdout,
        "pushed" in sent.stdout,
    ) == (0, True, True)
    assert "pushed" not in ci.kl("sync", "--sign", str(keys["ci"])).stdout, "nothing moved"

    status = bob.git("status", "--porcelain", "--branch")
    assert "1 new run of 1 other writer" in bob.kl("sync", "--pull").stdout
    assert (bob.git("status", "--porcelain", "--branch"), bob.git("diff", "HEAD")) == (status, "")
    assert "not trusted here" in bob.kl("verify").stdout and verdict(bob).startswith("not proven")
    trust(bob, keys["ci"])
    assert verdict(bob) == "proven (inferred by CI github)"
    assert verdict(bob, "--require", "verified", "--from", "ci") == "proven (verified by CI github)"
    assert verdict(bob, "--require", "verified").startswith("not proven: inferred")
    assert (
        "signed with a key that you trust"
        in bob.kl("evidence", "show", bob.entries()[0].receipt.run).stdout
    )
    listed = bob.kl("evidence", "list").stdout.splitlines()
    assert [line.endswith("ci:github") for line in listed if " pytest " in line] == [True]

    bob.write("calc.py", "def add(a, b):\n    return b + a\n")
    assert verdict(bob, "--from", "ci").startswith("not proven")
    bob.git("checkout", "-q", "calc.py")
    recorded(bob)
    assert verdict(bob, "--require", "verified") == "proven (verified by CI github)", (
        "two producers"
    )
    assert bob.kl("trust", "revoke", "github").returncode == 0
    assert "the key github is revoked" in bob.kl("verify", "--require", "verified").stdout
    assert bob.kl("trust", "add", "github", "--key", f"{keys['ci']}.pub").returncode == 2
    assert bob.kl("verify", "--from", "ci").returncode == 1


def test_evidence_stays_with_the_content_and_comes_with_a_fetch(
    clones: Callable[[str], Checkout], keys: dict[str, Path]
) -> None:
    ci, bob = clones("ci"), clones("bob")
    ci.write("more.py", "x = 1\n")
    ci.commit("one")
    ci.write("more.py", "x = 2\n")
    ci.commit("two")
    recorded(ci)
    ci.git("config", "kl.signingKey", str(keys["ci"]))
    assert "written and signed" in ci.kl("sync", "--push").stdout
    ci.git("reset", "-q", "--soft", "HEAD~2")
    ci.git("commit", "-q", "-m", "squashed")
    ci.git("push", "-q", "origin", "HEAD:main")
    trust(bob, keys["ci"])
    assert bob.kl("hooks", "install", "--only", "post-commit", "--sync", "nowhere").returncode == 2
    for _ in range(2):
        assert (
            bob.kl("hooks", "install", "--only", "post-commit", "--sync", "origin").returncode == 0
        )
    assert len(bob.git("config", "--get-all", "remote.origin.fetch").splitlines()) == 2, (
        "added once"
    )
    bob.git("pull", "-q")
    assert verdict(bob) == "proven (inferred by CI github)", "of the squashed commit, unasked"
    # somebody else's failure of the same content counts against it, whoever signed
    leave_run(bob.workspace(), [("test_calc.py::test_add", "failed", 5)])
    assert bob.kl("verify", "--from", "ci").returncode == 1


def test_a_failure_that_nobody_vouches_for_counts_for_nothing(
    clones: Callable[[str], Checkout], keys: dict[str, Path]
) -> None:
    eve, bob = clones("eve"), clones("bob")
    failed = [(PASSED[0][0], "failed", 5), ("test_calc.py::test_other", "failed", 5)]
    leave_run(eve.workspace(), failed)
    recorded(bob)
    assert "not signed" in eve.kl("sync").stdout
    bob.kl("sync")
    assert verdict(bob) == "proven (inferred)", "whoever can push must not block everybody"
    assert "::" not in bob.kl("proof", "flaky").stdout
    # the same run, signed since: it was written unsigned before, and is written again
    eve.git("config", "kl.signingKey", str(keys["eve"]))
    assert "1 run written and signed" in eve.kl("sync").stdout
    bob.kl("sync")
    trust(bob, keys["eve"], "person", "eve")
    assert "test_other failed in run" in bob.kl("verify").stdout, "of a trusted key"
    leave_run(bob.workspace(), [(name, "passed", 5) for name, *_ in failed])
    assert verdict(bob) == "proven (inferred)", "passed since"
    leave_run(eve.workspace(NOW + 3_600_000_000), failed)
    eve.kl("sync")
    bob.kl("sync")
    assert verdict(bob).startswith("not proven"), "of a trusted key, and later"


def test_names_that_look_random_travel(clones: Callable[[str], Checkout]) -> None:
    ann, bob = clones("ann"), clones("bob")
    name = (
        "test_calc.py::test_dual[opt1_params0-opt2_params0-args0-expected0-None-Kx9Qz7Lm2Vb4Tn6Rw8]"
    )
    leave_run(ann.workspace(), [(name, "passed", 5)])
    assert ann.kl("sync").returncode == 0
    done = bob.kl("sync")
    assert (done.returncode, "1 new run" in done.stdout) == (0, True), done


def test_a_remote_that_is_away_is_one_line(clones: Callable[[str], Checkout]) -> None:
    repo = clones("repo")
    recorded(repo)
    done = repo.kl("sync", "--remote", "/nowhere/at/all")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert done.stderr.startswith("kl: not fetched: git fetch")
    assert repo.git("for-each-ref", "refs/notes/kl/").count("\n") == 0, (
        "what was recorded is written, and waits"
    )
    for wrong in ("--upload-pack=evil", "a b", ""):
        assert repo.kl("sync", "--remote", wrong).returncode == 2
    assert repo.kl("sync", "--remote", "ext::false").returncode == 1, (
        "no program of a remote is run"
    )


def bundle(repo: Checkout, key: Path | None) -> list[str]:
    """What `kl evidence export --in-toto` writes."""
    sync_evidence(repo.workspace())
    with repo.workspace().store.reading() as db:
        assert db
        receipts = [one.receipt for one in recent(db, 10, "pytest")]
    return list(attestation.bundle_lines(receipts, key))


def test_a_bundle_is_what_others_know_as_in_toto(
    repo: Checkout, keys: dict[str, Path], tmp_path: Path
) -> None:
    leave_run(repo.workspace(), [*PASSED, ("test_calc.py::test_b", "failed", 1)])
    # what was published once is read for ever, and its bytes are those that are made today
    golden = GOLDEN.read_bytes()
    [known] = attestation.read_bundle(FileOfEvidence("golden", golden, "", "", None))
    assert isinstance(known, SignedReceipt) and known.receipt.id.startswith(
        "74bd44fb31e9f538890bf4a94a5130fb"
    )
    today = [
        json.loads(line)["payload"] for line in attestation.bundle_lines([known.receipt], None)
    ]
    assert today == [json.loads(line)["payload"] for line in golden.splitlines()]

    made = [*bundle(repo, keys["ci"]), *golden.decode().splitlines()]
    ours, lossy, *older = (Envelope.from_dict(json.loads(line)) for line in made)
    tree = repo.git("rev-parse", "HEAD^{tree}")
    for one in (*older, ours, lossy):
        plain = json.loads(one.payload)
        # their own classes (protobuf) refuse a field that the specification does not have
        Statement.copy_from_pb(ParseDict(plain, Statement([], "", {}).pb)).validate()
        assert plain["subject"][0]["digest"] == {"gitTree": "2" * 40 if one in older else tree}
        [signature] = one.signatures.values()
        key, signed = sshsig(bytes.fromhex(signature.signature), one.pae())
        # a second implementation of Ed25519 and of the signed bytes: ssh's own wrapping is
        # PROTOCOL.sshsig
        public = SSlibKey(signature.keyid, "ed25519", "ed25519", {"public": key.hex()})
        signature.signature = sshsig_raw(bytes.fromhex(signature.signature)).hex()
        public.verify_signature(signature, signed)
    assert json.loads(lossy.payload)["predicate"] == {
        "result": "FAILED",
        "passedTests": ["test_calc.py::test_add"],
        "warnedTests": [],
        "failedTests": ["test_calc.py::test_b"],
        "configuration": plain["predicate"]["configuration"],
    }
    # and ssh-keygen alone, with the file of a team, accepts it too
    public_key = keys["ci"].with_suffix(".pub").read_text()
    (tmp_path / "allowed").write_text(f'ci:github namespaces="kl-evidence" {public_key}')
    blob = base64.b64decode(json.loads(bundle(repo, keys["ci"])[0])["signatures"][0]["sig"])
    (tmp_path / "sig").write_bytes(attestation._armored(blob))
    command = [
        "ssh-keygen",
        "-Y",
        "verify",
        "-f",
        str(tmp_path / "allowed"),
        "-I",
        "ci:github",
        "-n",
        "kl-evidence",
    ]
    done = subprocess.run(
        [*command, "-s", str(tmp_path / "sig")], input=ours.pae(), capture_output=True, check=False
    )
    assert done.returncode == 0, done


def test_a_key_in_an_agent_signs(
    repo: Checkout, keys: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder
    ):  # a short path: that of a socket has at most 107 bytes
        monkeypatch.setenv("SSH_AUTH_SOCK", f"{folder}/agent")
        public = Path(folder) / "only.pub"
        public.write_text(keys["ci"].with_suffix(".pub").read_text())
        with subprocess.Popen(
            ["ssh-agent", "-D", "-a", f"{folder}/agent"], stdout=subprocess.DEVNULL
        ) as agent:
            try:
                while not Path(folder, "agent").exists():
                    time.sleep(0.01)
                subprocess.run(["ssh-add", "-q", str(keys["ci"])], check=True)
                receipt = run().receipt
                key, blob = attestation.sign_receipt(receipt, public)
                assert list(attestation.check_signatures(receipt, [blob])) == [(key, blob)]
            finally:
                agent.terminate()
        with pytest.raises(UsageProblem, match="it can't sign"):
            attestation.sign_receipt(receipt, public)


def fields(blob: bytes) -> list[bytes]:
    """The strings of an SSHSIG after its version."""
    at, found = 10, []
    while at < len(blob):
        size = struct.unpack(">I", blob[at : at + 4])[0]
        found.append(blob[at + 4 : at + 4 + size])
        at += 4 + size
    return found


def sshsig_raw(blob: bytes) -> bytes:
    """The Ed25519 signature in it."""
    return fields(blob)[4][-64:]


def sshsig(blob: bytes, data: bytes) -> tuple[bytes, bytes]:
    """(the raw public key, the bytes that were signed)."""
    key, namespace, reserved, algorithm, _ = fields(blob)
    hashed = hashlib.new(algorithm.decode(), data).digest()
    parts = (namespace, reserved, algorithm, hashed)
    return key[-32:], b"SSHSIG" + b"".join(struct.pack(">I", len(one)) + one for one in parts)


def edits(line: str, other: str) -> dict[str, str]:
    """A line of a bundle as a forger would change it."""

    def inner(change: Callable[[Any], object], sign: bool = True) -> str:
        outer = json.loads(line)
        plain = json.loads(base64.b64decode(outer["payload"]))
        change(plain)
        outer["payload"] = base64.b64encode(
            json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()
        ).decode()
        return json.dumps(outer if sign else outer | {"signatures": []})

    def receipt(**changes: Any) -> Callable[[Any], object]:
        return lambda plain: plain["predicate"]["receipt"].update(changes)

    def honest(**changes: Any) -> Callable[[Any], object]:
        """With hashes that fit: only the signature is wrong."""

        def change(plain: Any) -> None:
            found = receipt_of(plain["predicate"]["receipt"])
            assert isinstance(found, Receipt)
            plain.clear()
            plain.update(attestation.statement(found._replace(**changes)))

        return change

    outer, theirs = json.loads(line), json.loads(other)
    return {
        "another tree": inner(receipt(tree="2" * 40)),
        "another tree, hashed": inner(honest(tree="2" * 40)),
        "another run": inner(honest(run="f" * 32)),
        "another commit": inner(honest(head="3" * 40)),
        "another result": inner(honest(result={"complete": True, "verdict": "passed"})),
        "another order": inner(lambda plain: plain["predicate"]["receipt"]["evidence"].reverse()),
        "another evidence": inner(lambda plain: plain["predicate"]["receipt"]["evidence"].clear()),
        "another subject": inner(
            lambda plain: plain["subject"][0]["digest"].update(gitTree="2" * 40)
        ),
        "one subject more": inner(
            lambda plain: plain["subject"].append({"digest": {"gitTree": "2" * 40}})
        ),
        "another type": inner(
            lambda plain: plain.update(_type="https://in-toto.io/Statement/v0.1")
        ),
        "a word more": inner(lambda plain: plain["predicate"].update(trusted=True)),
        "unsigned": inner(lambda plain: None, sign=False),
        "the signature of another": json.dumps(outer | {"signatures": theirs["signatures"]}),
        "the payload of another": json.dumps(outer | {"payload": theirs["payload"]}),
        "another payload type": json.dumps(outer | {"payloadType": "text/plain"}),
        "no payload": json.dumps({key: outer[key] for key in ("payloadType", "signatures")}),
        "no signature at all": json.dumps(
            outer | {"signatures": [{"keyid": outer["signatures"][0]["keyid"]}]}
        ),
        "a signature that is none": json.dumps(outer | {"signatures": [{"sig": "AAAA"}]}),
        "half a signature": json.dumps(
            outer | {"signatures": [{"sig": outer["signatures"][0]["sig"][:100]}]}
        ),
        "a list": json.dumps([outer]),
        "cut off": line[: len(line) // 2],
        "no JSON": "{" * 5000,
    }


def test_nothing_forged_is_believed(repo: Checkout, keys: dict[str, Path], tmp_path: Path) -> None:
    leave_run(repo.workspace(), [*PASSED, ("test_calc.py::test_b", "passed", 1)])
    line = bundle(repo, keys["ci"])[0]
    leave_run(repo.workspace(), PASSED)
    other_line = next(one for one in bundle(repo, keys["eve"]) if run_of(one) != run_of(line))
    other = checkout(tmp_path / "other")
    trust(other, keys["ci"])
    for name, text in edits(line, other_line).items():
        import_file(other.workspace(), "bundle", "b.jsonl", text.encode(), None)
        with other.workspace().store.reading() as db:
            seen = (
                attestation.with_origins(other.workspace(), db, recent(db, 50, everything=True))
                if db
                else []
            )
        assert not any(one.origin.startswith(("ci:", "signed:")) for one in seen), name
    # the same receipt was imported unsigned before: the signature is added to it
    assert import_file(other.workspace(), "bundle", "b.jsonl", line.encode(), None).problems == ()
    with other.workspace().store.reading() as db:
        seen = attestation.with_origins(other.workspace(), db, recent(db, 50, everything=True))
    assert [one.origin for one in seen].count("ci:github") == 1
    report = tmp_path / "b.intoto.jsonl"
    report.write_text(f"{line}\n{other_line}\n")
    done = other.kl("evidence", "verify", str(report))
    assert done.returncode == 1 and [row[:12].strip() for row in done.stdout.splitlines()[:2]] == [
        "trusted",
        "not trusted",
    ]


def run_of(line: str) -> str:
    return str(
        json.loads(base64.b64decode(json.loads(line)["payload"]))["predicate"]["receipt"]["run"]
    )


def test_a_signature_for_another_purpose_is_refused(keys: dict[str, Path]) -> None:
    receipt = run().receipt
    data = attestation.pre_authentication(attestation.canonical(attestation.statement(receipt)))
    done = subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-n", "git", "-f", str(keys["ci"])],
        input=data,
        capture_output=True,
        check=True,
    )
    blob = base64.b64decode(
        "".join(row for row in done.stdout.decode().splitlines() if not row.startswith("-"))
    )
    with pytest.raises(ValueError, match="signed for 'git'"):
        list(attestation.check_signatures(receipt, [blob]))


@pytest.mark.parametrize(
    ("options", "origin"),
    [
        ("", "ci:github"),
        ('namespaces="kl-evidence"', "ci:github"),
        ('namespaces="git,kl-evidence",valid-before="20990101"', "ci:github"),
        ('namespaces="git"', ""),
        ('valid-before="20200101"', ""),
        ('valid-after="20990101"', ""),
        ("revoked", ""),
        ("cert-authority", ""),
        ('unknown="x"', ""),
        ('valid-before="soon"', ""),
    ],
)
@pytest.mark.share(3)
def test_a_teams_keys_count_as_they_are_in_the_trusted_commit(
    repo: Checkout, keys: dict[str, Path], options: str, origin: str
) -> None:
    public = Path(f"{keys['ci']}.pub").read_text()
    repo.write(
        ".kl/trust",
        f"# keys\nci:github {options} {public}\neve@x.org {public.replace('AAAA', 'AAAB')}",
    )
    signed = SignedReceipt(run().receipt, (attestation.sign_receipt(run().receipt, keys["ci"]),))
    ws = repo.workspace()
    attestation.add_receipts(ws, [signed], "imported:notes")

    def origins(ref: str) -> list[str]:
        with ws.store.reading() as db:
            found = attestation.with_origins(
                repo.workspace(), db, recent(db, 9, "pytest", everything=True) if db else [], ref
            )
        return [one.origin for one in found]

    commit = repo.commit("trust")
    assert all(one.startswith("imported") for one in origins("")), "never from the checkout"
    found = origins(commit)[0]
    assert (found == origin) if origin else found.startswith("imported:notes; ")
    repo.git("config", "kl.trustRef", commit)
    assert (origins("")[0] == origin) if origin else origins("")[0].startswith("imported")
    assert "eve@x.org" in repo.kl("trust", "list").stderr, "a line that is wrong is named"


def as_note(one: Receipt) -> Receipt:
    return notes.public_form(one._replace(tree="1" * 40))


@given(RECEIPTS)
@settings(suppress_health_check=[HealthCheck.too_slow])  # receipts of any shape, on a busy machine
def test_a_note_holds_a_receipt_and_its_id(receipt: Receipt) -> None:
    form = as_note(receipt)
    found = notes.read_note_line(notes.note_line(SignedReceipt(form, ())).encode())
    if isinstance(found, SignedReceipt):
        assert found.receipt == form and found.receipt.id == form.id
    else:  # what the ledger would refuse from any file
        assert attestation.receipt_flaw(form) or "secret" in found, found


@given(st.data())
@settings(max_examples=30)
def test_an_edited_note_is_refused_or_the_same(data: st.DataObject) -> None:
    form = as_note(run().receipt)
    line = bytearray(notes.note_line(SignedReceipt(form, ())).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(line) - 1))
        line[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    found = notes.read_note_line(bytes(line))
    # of a word that nothing depends on, such as a receipt without its tests in another order of
    # JSON
    assert isinstance(found, str) or found.receipt.id == receipt_id(found.receipt.header())


def test_facts_travel_and_nothing_else(repo: Checkout) -> None:
    secret = SHAPES["github"](random.Random(1))[1]
    details = {PASSED[0][0]: {"message": f"boom {secret}", "tail": "/home/ada/private", "line": 3}}
    leave_run(
        repo.workspace(),
        [(PASSED[0][0], "failed", 5)],
        details=details,
        selection={"args": ["-k", "hidden"], "addopts": ["--private"], "keyword": "hidden"},
    )
    repo.kl("sync", "--push", "--remote", ".")
    [ref] = repo.git("for-each-ref", "--format=%(refname)", "refs/notes/kl/receipts").splitlines()
    [tree] = repo.git("ls-tree", "--name-only", ref).splitlines()
    assert tree == repo.git("rev-parse", "HEAD^{tree}")
    text = repo.git("notes", f"--ref={ref}", "show", tree)
    assert not any(word in text for word in (secret, "private", "boom")), text
    assert '"keyword":"hidden"' in text, "what limits a run must be known"


def test_of_checks_that_state_the_same_the_newest_travels(repo: Checkout) -> None:
    layers = "version: 1\nlayers:\n  - {name: core, paths: [src/core/]}\n"
    repo.write(".kl/architecture.yaml", layers)
    repo.write("src/core/a.py", "import src.web.b\n")
    repo.commit("layers")
    for shape in ("sarif", "github", "mermaid"):
        assert repo.kl("arch", "check", "--format", shape).returncode == 0
    listed = json.loads(repo.kl("evidence", "list", "--source", "arch", "--format", "json").stdout)
    rows = listed["receipts"]
    assert len(rows) == 3
    newest = max(rows, key=lambda row: row["ended"])
    added = json.loads(repo.kl("sync", "--push", "--remote", ".", "--format", "json").stdout)[
        "added"
    ]
    assert [one["run"] for one in added] == [newest["run"]]
    # another verdict is another statement
    repo.write("src/web/b.py", "import src.core.a\n")
    repo.write(".kl/architecture.yaml", layers.replace("src/core/", "src/core/, src/nowhere/"))
    repo.commit("more")
    repo.kl("arch", "check")
    added = json.loads(repo.kl("sync", "--push", "--remote", ".", "--format", "json").stdout)[
        "added"
    ]
    assert len(added) == 1 and added[0]["run"] != newest["run"]


@pytest.mark.sweep
def test_a_run_of_20000_tests_is_small(repo: Checkout) -> None:
    tests = [
        (
            f"tests/unit/test_module_{i // 50}.py::TestCase{i // 10 % 5}::test_case_{i % 10}",
            "passed",
            i * 37,
        )
        for i in range(20_000)
    ]
    leave_run(repo.workspace(), tests)
    sync_evidence(repo.workspace())
    form = notes.public_form(repo.entries()[0].receipt)
    # git stores an object compressed (zlib)
    assert len(zlib.compress(notes.note_line(SignedReceipt(form, ())).encode())) <= 100_000


def test_notes_of_an_enemy_do_no_harm(
    clones: Callable[[str], Checkout], keys: dict[str, Path]
) -> None:
    enemy, bob = clones("enemy"), clones("bob")
    recorded(enemy)
    assert enemy.kl("sync", "--sign", str(keys["eve"])).returncode == 0
    [ref] = enemy.git("for-each-ref", "--format=%(refname)", "refs/notes/kl/receipts").splitlines()
    [tree] = enemy.git("ls-tree", "--name-only", ref).splitlines()
    good = enemy.git("notes", f"--ref={ref}", "show", tree)
    bad = [
        good.replace('"passed"', '"failed"'),
        "[" * 2000,
        "{}",
        "null",
        good[:200],
        "x" * 5000,
        "\x00\x01",
    ]
    enemy.write(
        "note", "\n".join([*bad, good, *(f'{{"schema":"kl.note/1","n":{i}}}' for i in range(300))])
    )
    enemy.git("notes", f"--ref={ref}", "add", "-f", "-F", "note", tree)
    enemy.git("notes", f"--ref={ref}", "add", "-f", "-m", good, "HEAD~0^{tree}")
    enemy.git("notes", f"--ref={ref}", "append", "-F", "note", "HEAD")
    enemy.git("push", "-q", "-f", "origin", f"{ref}:{ref}")
    done = bob.kl("sync")
    assert done.returncode == 1 and "refused" in done.stdout
    trust(bob, keys["ci"])
    assert verdict(bob).startswith("not proven")
    assert bob.kl("evidence", "verify").returncode == 0
    # deleted on the server: what was imported stays, nothing is doubled
    bob.git("push", "-q", "origin", f":{ref}")
    assert bob.kl("sync").returncode == 0
    assert len([one for one in bob.entries() if one.receipt.source == "pytest"]) == 1


@pytest.mark.sweep
def test_32_syncs_side_by_side_converge(
    clones: Callable[[str], Checkout], keys: dict[str, Path]
) -> None:
    repos = [clones(f"c{n}") for n in range(4)]
    for repo, writer in zip(repos, ("twin", "twin", "ann1", "bert"), strict=True):
        repo.git("config", "kl.writer", writer)  # two clones are copies of one
    for repo in repos:
        for _ in range(2):
            recorded(repo)

    def sync(number: int) -> None:
        repo = repos[number % 4]
        sync_evidence(repo.workspace())
        notes.share(repo.workspace(), "origin")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(sync, range(32)))
    for repo in repos:
        done = repo.kl("sync")
        assert done.returncode == 0, done
    runs = [
        {one.receipt.run for one in repo.entries() if one.receipt.source == "pytest"}
        for repo in repos
    ]
    assert len(set.union(*runs)) == 8 and all(one == runs[0] for one in runs), [
        len(one) for one in runs
    ]


def test_a_bundle_without_attestations_and_one_signature_a_thousand_times(
    repo: Checkout, keys: dict[str, Path], tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    done = repo.kl("evidence", "verify", str(empty))
    assert (done.returncode, "holds no attestation" in done.stderr) == (2, True), (
        "nothing to check is no pass"
    )
    leave_run(repo.workspace(), PASSED)
    line = json.loads(bundle(repo, keys["ci"])[0])
    many = tmp_path / "many"
    many.write_text(json.dumps(line | {"signatures": line["signatures"] * 1000}))
    assert repo.kl("evidence", "verify", str(many)).stdout.count("SHA256:") == 1


def test_the_first_receipts_of_a_store_are_no_loss(repo: Checkout) -> None:
    assert repo.kl("pool", "create", "Q").returncode == 0, "a store without receipts"
    assert repo.kl("evidence", "verify").returncode == 0
    assert repo.kl("pool", "write", "Q", "a", "1").returncode == 0, (
        "by the name that it was made under"
    )
    deep = repo.kl("pool", "write", "Q", ".".join("a" * 2000), "1")
    assert (deep.returncode, "2000 parts" in deep.stderr) == (2, True), deep.stderr


def test_a_signature_is_checked_once(
    clones: Callable[[str], Checkout], keys: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    ci, bob = clones("ci"), clones("bob")
    checked: list[str] = []
    plain = attestation.check_signatures

    def counted(receipt: Receipt, blobs: Any) -> Any:
        checked.append(receipt.run)
        return plain(receipt, blobs)

    monkeypatch.setattr(attestation, "check_signatures", counted)
    runs = []
    for _ in range(3):
        runs.append(recorded(ci))
        ci.kl("sync", "--sign", str(keys["ci"]))
        bob.kl("sync")
    assert checked == runs, "each of them in one clone, once, although the notes moved each time"


def test_a_run_in_a_bundle_and_in_a_note_is_one(
    clones: Callable[[str], Checkout], keys: dict[str, Path], tmp_path: Path
) -> None:
    ci, bob, eva = clones("ci"), clones("bob"), clones("eva")
    run = recorded(ci)
    assert ci.kl("sync", "--sign", str(keys["ci"])).returncode == 0
    file = str(tmp_path / "b")
    assert ci.kl("evidence", "export", "--sign", str(keys["ci"]), "-o", file).returncode == 0
    for repo, commands in (
        (bob, (("import", "bundle", file), ())),
        (eva, ((), ("import", "bundle", file))),
    ):
        trust(repo, keys["ci"])
        for command in commands:
            assert (
                repo.kl(*(("evidence", *command) if command else ("sync", "--pull"))).returncode
                == 0
            )
        with snapshot(repo.workspace()) as seen:
            trees = (repo.git("rev-parse", "HEAD^{tree}"),)
            found = [
                one.receipt.run for one in seen.of_tree(trees) if one.receipt.source == "pytest"
            ]
            assert found == [run]
            assert [one.receipt.run for one in seen.runs(9)] == [run]
        assert verdict(repo, "--from", "ci") == "proven (verified by CI github)"
    rows = [len([one for one in repo.entries() if one.receipt.run == run]) for repo in (bob, eva)]
    assert rows == [1, 2], (
        "a note adds nothing to a bundle; one that was there first stays, and is not counted"
    )


def test_what_can_not_be_done_is_reported_at_once(
    repo: Checkout, keys: dict[str, Path], tmp_path: Path
) -> None:
    leave_run(repo.workspace(), PASSED)
    repo.kl("sync", "--remote", ".", "--push")
    missing = repo.kl("sync", "--remote", ".", "--sign", "nothere")
    assert (missing.returncode, "--sign nothere: there is no such key" in missing.stderr) == (
        2,
        True,
    )
    assert "written" not in repo.kl("sync", "--remote", ".", "--pull").stdout
    assert "imported" not in repo.kl("sync", "--remote", ".", "--push").stdout
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for reader in ("junit", "receipts", "bundle", "coverage"):
        done = repo.kl("evidence", "import", reader, str(pipe))
        assert (done.returncode, "is not a file" in done.stderr) == (2, True), (reader, done)
    assert repo.kl("evidence", "import", "junit", "/dev/zero").returncode == 2
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(300 * 1024 * 1024)
    assert (
        "more than 268,435,456 bytes"
        in repo.kl("evidence", "import", "receipts", str(large)).stderr
    )
    (tmp_path / "data").write_bytes(b"")
    no_tree = repo.kl("evidence", "import", "coverage", str(tmp_path / "data"), "--tree", "1" * 40)
    assert "has no such tree" in no_tree.stderr
    repo.git("remote", "add", "origin", ".")
    assert (
        "+refs/notes/kl/*:refs/notes/kl-remote/origin/*"
        in repo.kl("hooks", "install", "--sync", "origin").stdout
    )
    trust(repo, keys["ci"])
    repo.git("config", "kl.trust.github.validBefore", "soon")
    assert "'soon' is no date such as 2027-12-31" in repo.kl("trust", "list").stderr


@given(RECEIPTS)
def test_facts_and_versions_travel_and_paths_of_the_machine_do_not(recorded: Receipt) -> None:
    installed = {
        "versions": ["files:3f9a /home/ann/private/helper.py", "3.5.0 secretstorage"],
        "folders": ["/home/ann/.venv/lib/python3.13/site-packages"],
        "machine": "0123456789abcdef",
        "start": ["3f9a /home/ann/.venv/lib/python3.13/site-packages/a.pth"],
    }
    environment = {"facts": ["distributions", "reads"], "distributions": installed}
    receipt = recorded._replace(environment={**recorded.environment, **environment})
    public = notes.public_form(receipt).environment
    assert public["facts"] == ["distributions", "reads"]
    assert public["distributions"] == {"versions": ["3.5.0 secretstorage"]}
    assert "/home/ann" not in repr(public)
