"""Attacks of whoever may push notes: each is tried by itself, and none makes a proof, reads or
writes what is outside, or ends a command with a traceback.
"""

from __future__ import annotations

import json
import math
import os
import random
import struct
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.ledger import recent
from kl_hooks.model.receipt import Evidence, Receipt
from kl_hooks.model.text import safe_text
from kl_hooks.sharing import attestation, common_events, notes
from kl_hooks.sharing.note_reading import Limits
from tests.evidence.making import leave_run
from tests.support import Checkout

from .test_hostile_notes import FETCHED, note, write_ref
from .test_notes_and_keys import PASSED, clones, keys, trust  # noqa: F401 (fixtures)

ASSERTION: Final = "imported, and no trusted key vouches for it"
NOTHING: Final = "nothing was read"
_WRITER: Final = "eve1"
_FAILED: Final = [("test_calc.py::test_add", "failed", 5)]
_WIDE: Final = Limits(1_000, 1 << 30, 100_000)
_SUBMODULE: Final = "160000"
"""The mode of a commit in a tree."""


class Prey(NamedTuple):
    """What the attacker has: two genuine notes of the trusted CI, and the clone that reads
    notes.
    """

    repo: Checkout
    passed: str
    """The line of a run that passed, on an older content."""
    failed: str
    """The line of a run that failed, on the content that is judged."""
    old_tree: str
    tree: str
    unsigned: str
    """A line of a run that passed on the content that is judged, made up."""
    made_up: Receipt
    by_eve: str
    """The same, signed with the attacker's key."""
    for_git: str
    """The signature of the attacker's key over the made-up run, for the namespace of git (base64).
    """


class Attack(NamedTuple):
    """A hostile ref, and what must come of it: words of the refusal, `ASSERTION` or `NOTHING`."""

    name: str
    outcome: str
    files: Callable[[Prey], dict[str, bytes]]
    """Path in the tree of the ref → content."""
    mode: str = "100644"


def one(line: Callable[[Prey], str | bytes]) -> Callable[[Prey], dict[str, bytes]]:
    """Files with one line, attached to the content that is judged."""

    def files(prey: Prey) -> dict[str, bytes]:
        text = line(prey)
        return {prey.tree: text.encode() if isinstance(text, str) else text}

    return files


def edited(line: str, change: Callable[[Any], object]) -> str:
    """A line whose JSON was changed; its signatures are as they were."""
    plain = json.loads(line)
    change(plain)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def header(**changes: Any) -> Callable[[Prey], dict[str, bytes]]:
    """The note that passed, with another header."""
    return one(lambda prey: edited(prey.passed, lambda plain: plain["header"].update(changes)))


def on_this_content(line: str, prey: Prey, change: Callable[[Any], object]) -> str:
    """The note that passed with the content that is judged in its header, changed further."""

    def both(plain: Any) -> None:
        plain["header"].update(tree=prey.tree, tree_all=prey.tree, tree_end=prey.tree)
        change(plain)

    return edited(line, both)


def moved_to_this_content(change: Callable[[Any], object]) -> Callable[[Prey], dict[str, bytes]]:
    return one(lambda prey: on_this_content(prey.passed, prey, change))


def failure(change: Callable[[Any], object]) -> Callable[[Prey], dict[str, bytes]]:
    """The note of the failing run, changed."""
    return one(lambda prey: edited(prey.failed, change))


def green(plain: Any) -> None:
    """Make a failing run pass."""
    plain["tests"] = {"passed": next(iter(plain["tests"].values()))}
    plain["header"]["result"] = {
        "exit": 0,
        "complete": True,
        "how": "finished",
        "verdict": "passed",
    }


def with_signatures(signatures: Callable[[Prey], list[Any]]) -> Callable[[Prey], dict[str, bytes]]:
    """The made-up run with these signatures (base64)."""
    return one(
        lambda prey: edited(prey.unsigned, lambda plain: plain.update(signatures=signatures(prey)))
    )


def signatures_of(line: str) -> list[str]:
    return list(json.loads(line)["signatures"])


def with_key_of_ci(prey: Prey) -> list[str]:
    """The attacker's signature with the public key of the CI in it (PROTOCOL.sshsig)."""
    mine, theirs = (b64decode(signatures_of(line)[0]) for line in (prey.by_eve, prey.passed))

    def key_of(blob: bytes) -> bytes:
        (size,) = struct.unpack(">I", blob[10:14])
        return blob[14 : 14 + size]

    return [b64encode(mine.replace(key_of(mine), key_of(theirs))).decode()]


def with_test(name: str) -> Callable[[Prey], dict[str, bytes]]:
    """The made-up run with a test of this name, in a receipt whose hashes fit."""
    evidence = (Evidence("TestResult", f"test:test_calc.py::{name}", "passed"),)
    return one(lambda prey: note(prey.made_up._replace(evidence=evidence)))


def mutant(number: int) -> Callable[[Prey], dict[str, bytes]]:
    """The failing note with some bytes changed."""

    def line(prey: Prey) -> bytes:
        rng, data = random.Random(number), bytearray(prey.failed.encode())
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(data))
            data[at : at + rng.randrange(3)] = rng.choice((b"", b"0", b"}", b'"', b"[", b"\xff"))
        return bytes(data)

    return one(line)


_NO_RECEIPT: Final = "not a receipt"
_OTHER_RESULTS: Final = "its evidence was edited"
_REFUSED: Final = f"{_WRITER}: "
_NOT_OVER: Final = "its signature is not over this receipt"
_ELSEWHERE: Final = "it is attached to another content than its own"
ATTACKS: Final = (
    # edited, with the signature of the CI
    Attack("another content", _NOT_OVER, moved_to_this_content(lambda plain: None)),
    Attack("another run", _NOT_OVER, header(run="f" * 32)),
    Attack("another commit", _NOT_OVER, header(head="3" * 40)),
    Attack("an end in the future", _NOT_OVER, header(ended="2099-01-01T00:00:00.000000Z")),
    Attack("another source", _NOT_OVER, header(source="junit")),
    Attack("another producer", _NOT_OVER, header(producer="local:root@ci")),
    Attack("another selection", _NOT_OVER, header(selection={})),
    Attack("another environment", _NOT_OVER, header(environment={})),
    Attack("a key more in the header", _ELSEWHERE, header(trusted=True)),
    Attack("another digest of the results", _OTHER_RESULTS, header(evidence_digest="0" * 64)),
    Attack(
        "another schema of the receipt", "its hash is not its id", header(schema="kl.receipt/2")
    ),
    Attack("a failing run that passes", _OTHER_RESULTS, failure(green)),
    Attack(
        "a failing run without its tests",
        _OTHER_RESULTS,
        failure(lambda plain: plain["tests"].clear()),
    ),
    Attack(
        "a failing run with a test that passed",
        _OTHER_RESULTS,
        failure(lambda plain: plain["tests"].update(passed={"test_calc.py": ["test_other"]})),
    ),
    Attack(
        "a test that is renamed",
        _OTHER_RESULTS,
        moved_to_this_content(
            lambda plain: plain.update(tests={"passed": {"test_calc.py": ["x"]}})
        ),
    ),
    Attack(
        "another schema of the note",
        "is not 'kl.note/1'",
        failure(lambda plain: plain.update(schema="kl.note/2")),
    ),
    # signatures of others, or of something else
    Attack("unsigned", ASSERTION, one(lambda prey: prey.unsigned)),
    Attack("signed by a key that nobody trusts", ASSERTION, one(lambda prey: prey.by_eve)),
    Attack(
        "the signature of another run",
        _NOT_OVER,
        with_signatures(lambda prey: signatures_of(prey.passed)),
    ),
    Attack("signed for git", "signed for 'git'", with_signatures(lambda prey: [prey.for_git])),
    Attack(
        "the key of the CI in the attacker's signature", _NOT_OVER, with_signatures(with_key_of_ci)
    ),
    Attack(
        "half a signature",
        _NOT_OVER,
        with_signatures(
            lambda prey: [b64encode(b64decode(signatures_of(prey.by_eve)[0])[:100]).decode()]
        ),
    ),
    Attack(
        "a signature that is none",
        "not a signature of ssh-keygen",
        with_signatures(lambda prey: ["AAAA"]),
    ),
    Attack(
        "a signature that is no text", _NO_RECEIPT, with_signatures(lambda prey: [{"sig": 1}, None])
    ),
    Attack(
        "a thousand signatures",
        "it has 1000 signatures",
        with_signatures(lambda prey: [b64encode(b"SSHSIG%d" % n).decode() for n in range(1000)]),
    ),
    # re-attached and copied
    Attack("re-attached to this content", _ELSEWHERE, one(lambda prey: prey.passed)),
    Attack(
        "attached to a commit",
        _ELSEWHERE,
        lambda prey: {prey.repo.git("rev-parse", "HEAD"): prey.passed.encode()},
    ),
    Attack("300 copies of a line", _ELSEWHERE, one(lambda prey: f"{prey.passed}\n" * 300)),
    Attack(
        "in folders, as git fans notes out",
        _ELSEWHERE,
        lambda prey: {f"{prey.tree[:2]}/{prey.tree[2:]}": prey.passed.encode()},
    ),
    # names that show as something else
    Attack("a test with a bidirectional mark", ASSERTION, with_test("test_\u202edessap")),
    Attack("a test with an escape sequence", ASSERTION, with_test("test_\x1b[2J\x1b]0;owned\x07")),
    Attack("a test outside", ASSERTION, with_test("../../../etc/passwd")),
    Attack("a lone surrogate", ASSERTION, with_test("test_\ud800")),
    # no receipt at all
    Attack(
        "garbage",
        _NO_RECEIPT,
        one(lambda prey: random.Random(1).randbytes(4_000).replace(b"\n", b"")),
    ),
    Attack("null bytes", _NO_RECEIPT, one(lambda prey: b"\0" * 4_000)),
    Attack("200,000 brackets", _NO_RECEIPT, one(lambda prey: "[" * 200_000)),
    Attack("a list", _NO_RECEIPT, one(lambda prey: f"[{prey.failed}]")),
    Attack("half a line", _NO_RECEIPT, one(lambda prey: prey.failed[: len(prey.failed) // 2])),
    Attack("a key twice", _OTHER_RESULTS, one(lambda prey: prey.failed[:-1] + ',"tests":{}}')),
    Attack(
        "a number of 5,000 digits",
        _NO_RECEIPT,
        one(lambda prey: prey.failed.replace('"exit":', f'"exit":{"9" * 5000},"was":', 1)),
    ),
    Attack(
        "an endless duration",
        _NO_RECEIPT,
        one(
            lambda prey: prey.failed.replace(
                '"rest":[]',
                '"rest":[{"class":"TestResult","subject":"test:a::b","outcome":"passed","duration_us":1e999}]',
            )
        ),
    ),
    Attack("a link instead of a note", _NO_RECEIPT, one(lambda prey: "/etc/passwd"), "120000"),
    Attack("a submodule instead of a note", NOTHING, one(lambda prey: ""), _SUBMODULE),
    *(Attack(f"mutant {number}", _REFUSED, mutant(number)) for number in range(12)),
)


@pytest.fixture
def prey(
    clones: Callable[[str], Checkout],  # noqa: F811
    keys: dict[str, Path],  # noqa: F811
) -> Prey:
    """A CI whose run passed on one content and failed on the next, and a colleague who trusts
    it.
    """
    ci, bob = clones("ci"), clones("bob")
    leave_run(ci.workspace(), PASSED)
    passed = newest(ci)
    ci.write("calc.py", "def add(a, b):\n    return a - b\n")
    ci.commit("break it")
    leave_run(ci.workspace(), _FAILED)
    failed = newest(ci)
    leave_run(ci.workspace(), PASSED)
    made_up = newest(ci)
    ci.git("push", "-q", "origin", "HEAD:main")
    bob.git("pull", "-q")
    trust(bob, keys["ci"])
    assert passed.tree and failed.tree
    signed_for_git = subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-n", "git", "-f", str(keys["eve"])],
        input=attestation.pre_authentication(attestation.canonical(attestation.statement(made_up))),
        capture_output=True,
        check=True,
    ).stdout.decode()
    return Prey(
        bob,
        note(passed, keys["ci"]),
        note(failed, keys["ci"]),
        passed.tree,
        failed.tree,
        note(made_up),
        made_up,
        note(made_up, keys["eve"]),
        "".join(row for row in signed_for_git.splitlines() if not row.startswith("-")),
    )


def newest(repo: Checkout) -> Receipt:
    """The newest run as it travels."""
    sync_evidence(repo.workspace())
    with repo.workspace().store.reading() as db:
        assert db
        [entry] = recent(db, 1, "pytest")
    return notes.public_form(entry.receipt)


def write_hostile_ref(repo: Checkout, files: dict[str, bytes], mode: str = "100644") -> None:
    """Make the attacker's ref, as a fetch brings it, of these files and nothing else."""
    index = repo.root / ".git" / "hostile-index"
    index.unlink(missing_ok=True)
    for path, content in files.items():
        if mode == _SUBMODULE:
            blob = repo.git("rev-parse", "HEAD")
        else:
            blob = git_object(repo, "hash-object", "-w", "--stdin", content=content)
        git_object(
            repo, "update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}", index=index
        )
    tree = git_object(repo, "write-tree", index=index)
    commit = repo.git("commit-tree", "-m", "notes", tree)
    repo.git("update-ref", f"{FETCHED}/{_WRITER}", commit)


def git_object(
    repo: Checkout, *arguments: str, content: bytes = b"", index: Path | None = None
) -> str:
    """Call git with this input and this index; return what it prints."""
    environ = {**os.environ, **({"GIT_INDEX_FILE": str(index)} if index else {})}
    done = subprocess.run(
        ["git", *arguments],
        cwd=repo.root,
        env=environ,
        input=content,
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().strip()


def wrong_about(prey: Prey, attack: Attack) -> Iterator[str]:
    """Yield what is wrong after an attack: its outcome, what is proven, what is printed."""
    write_hostile_ref(prey.repo, attack.files(prey), attack.mode)
    answer = notes.import_notes(prey.repo.workspace(), _WIDE)
    refused = " ".join(answer.refused)
    if attack.outcome == ASSERTION:
        is_as_expected = not refused
    elif attack.outcome == NOTHING:
        is_as_expected = answer.imported == 0 and not refused
    else:
        is_as_expected = answer.imported == 0 and bool(refused) and attack.outcome in refused
    if not is_as_expected:
        yield f"{answer.imported} imported, refused: {refused}"
    yield from wrong_verdict(prey, "--from", "ci")
    if safe_text(refused) != refused:
        yield f"prints {refused!r}"


def wrong_verdict(prey: Prey, *options: str) -> Iterator[str]:
    """Yield what `kl verify` states or prints and should not."""
    done = prey.repo.kl("verify", *options)
    shown = done.stdout + done.stderr
    if done.returncode != 1 or "not proven" not in done.stdout:
        yield f"kl verify {' '.join(options)}: {done.returncode} {shown}"
    if "Traceback" in shown or safe_text(shown) != shown:
        yield f"kl verify {' '.join(options)} prints {shown!r}"


def test_no_attack_makes_a_proof_or_ends_with_a_traceback(prey: Prey) -> None:
    """The content that is judged has a failing run of the CI, which the attacker holds back."""
    wrong = [f"{attack.name}: {text}" for attack in ATTACKS for text in wrong_about(prey, attack)]
    for options in ((), ("--require", "verified"), ("--format", "json")):
        wrong += wrong_verdict(prey, *options)
    print(f"{len(ATTACKS)} attacks")
    assert not wrong, "\n".join(wrong)
    assert len(ATTACKS) >= 38
    listed = prey.repo.kl("evidence", "list", "--top", "99").stdout
    assert safe_text(listed) == listed and "ci:github" not in listed
    # what the attacker copied and edited keeps the genuine notes of nobody out
    lines = [(prey.old_tree, prey.passed), (prey.tree, prey.failed)]
    write_ref(prey.repo, "github1", lines)
    assert notes.import_notes(prey.repo.workspace(), _WIDE).imported == 2
    assert "failed in run" in prey.repo.kl("verify", "--from", "ci").stdout
    prey.repo.git("checkout", "-q", "HEAD~1")
    assert prey.repo.kl("verify", "--from", "ci").returncode == 0


@pytest.mark.parametrize("kind", ["blob", "tree", "tag"])
@pytest.mark.share(2)
def test_a_ref_that_is_no_commit_is_read_as_its_content_or_not_at_all(
    prey: Prey, kind: str
) -> None:
    write_hostile_ref(prey.repo, {prey.tree: prey.passed.encode()})
    ref = f"{FETCHED}/{_WRITER}"
    if kind == "tag":
        prey.repo.git("tag", "-a", "-m", "t", "notes", ref)
        target = prey.repo.git("rev-parse", "refs/tags/notes")
    else:
        target = prey.repo.git(
            "rev-parse", ref + ("^{tree}" if kind == "tree" else f":{prey.tree}")
        )
    prey.repo.git("update-ref", ref, target)
    done = prey.repo.kl("verify", "--from", "ci")
    assert done.returncode == 1 and "not proven" in done.stdout, done
    assert notes.import_notes(prey.repo.workspace(), _WIDE).imported == 0


@pytest.mark.slow
@pytest.mark.parametrize(("content", "number"), [(b"\0", 400), (b"\n", 150), (b"[", 150)])
@pytest.mark.share("[")
def test_a_note_of_hundreds_of_megabytes_is_named_and_not_read(
    prey: Prey, content: bytes, number: int
) -> None:
    write_hostile_ref(prey.repo, {prey.tree: content * (number * 1024 * 1024)})
    answer = notes.import_notes(prey.repo.workspace(), _WIDE)
    assert (answer.imported, answer.refusals) == (0, 0)
    assert "larger than any that kl writes" in answer.remarks[0]


_STRANGE: Final = (None, True, -1, 1.5, math.inf, math.nan, 10**400, "", "x\ud800\0", [], [[1]], {})


def with_strange_parts(value: Any) -> Iterator[Any]:
    """Yield copies of a JSON value, each with one part of another type."""
    yield from _STRANGE
    if isinstance(value, dict):
        for key, part in value.items():
            yield {name: other for name, other in value.items() if name != key}
            yield from (value | {key: changed} for changed in with_strange_parts(part))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            for changed in with_strange_parts(part):
                yield [*value[:index], changed, *value[index + 1 :]]


def test_a_part_of_another_type_is_refused_or_read(prey: Prey) -> None:
    fact = {"class": "TestResult", "subject": "test:a::b", "outcome": "passed", "duration_us": 1}
    note_values = json.loads(prey.failed) | {"signatures": [], "rest": [fact | {"line": 3}]}
    event = ["a", "b", "c", "2026-01-01T00:00:00.000000Z", {"a": 1}]
    events = {"schema": "kl.events/1", "events": [event], "signatures": ["AAAA"]}
    for value, read in ((note_values, notes.read_note_line), (events, common_events._read)):
        answers = [read(json.dumps(changed).encode()) for changed in with_strange_parts(value)]
        assert len(answers) > 100
        assert any(isinstance(answer, str) for answer in answers)
