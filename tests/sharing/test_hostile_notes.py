"""Notes that a stranger pushed in numbers: read once each, within limits, in nobody's way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.git.notes import change_lines, with_lines
from kl_hooks.git.repository import git_in
from kl_hooks.model.receipt import Receipt, SignedReceipt
from kl_hooks.sharing import attestation, notes
from kl_hooks.sharing.note_reading import Limits
from tests.support import Checkout

from .test_notes_and_keys import clones, keys, recorded, trust  # noqa: F401 (fixtures)

FETCHED = "refs/notes/kl-remote/origin/receipts"
WIDE = Limits(1_000, 1 << 30, 100_000)


def public_receipt(repo: Checkout) -> Receipt:
    """A run of all tests, as it travels."""
    run = recorded(repo)
    sync_evidence(repo.workspace())
    [receipt] = [entry.receipt for entry in repo.entries() if entry.receipt.run == run]
    return notes.public_form(receipt)


def forged_lines(receipt: Receipt, key: Path, number: int, start: int = 0) -> list[tuple[str, str]]:
    """Different ones: (tree, line)."""
    line = note(receipt, key)
    names = (f"test_add{n}" for n in range(start, start + number))
    return [(str(receipt.tree), line.replace("test_add", name)) for name in names]


def note(receipt: Receipt, *signers: Path) -> str:
    signatures = tuple(attestation.sign_receipt(receipt, key) for key in signers)
    return notes.note_line(SignedReceipt(receipt, signatures))


def write_ref(repo: Checkout, writer: str, lines: Iterable[tuple[str, str]]) -> None:
    """A ref of a writer as a fetch brings it: (tree, line)."""
    git = repo.workspace().repo
    assert git
    rows = list(lines)
    change_lines(git, f"{FETCHED}/{writer}", lambda files: with_lines(files, rows))


def imported(repo: Checkout, limits: Limits = WIDE) -> notes.Shared:
    return notes.import_notes(repo.workspace(), limits)


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs whose signatures were checked."""
    runs: list[str] = []
    plain = attestation.check_signatures

    def noted(receipt: Receipt, blobs: list[bytes]) -> object:
        runs.append(receipt.run)
        return plain(receipt, blobs)

    monkeypatch.setattr(attestation, "check_signatures", noted)
    return runs


def test_copied_refs_and_lines_are_read_once(
    clones: Callable[[str], Checkout],  # noqa: F811
    keys: dict[str, Path],  # noqa: F811
    checks: list[str],
) -> None:
    ann, bob = clones("ann"), clones("bob")
    receipt = public_receipt(ann)
    line = note(receipt, keys["eve"])
    write_ref(bob, "eve0", [(str(receipt.tree), line)])
    git = bob.workspace().repo
    assert git
    tree = bob.git("rev-parse", f"{FETCHED}/eve0^{{tree}}").strip()
    for number in range(1, 40):  # other commits of the same content
        commit = bob.git("commit-tree", "-m", str(number), tree).strip()
        git_in(git, "update-ref", f"{FETCHED}/eve{number}", commit)
    write_ref(bob, "zoe", [(str(receipt.tree), " " * number + line) for number in range(40)])
    answer = imported(bob)
    assert (answer.imported, len(answer.writers), answer.remarks) == (1, 41, ())
    assert checks == [receipt.run]
    assert imported(bob).imported == 0
    assert checks == [receipt.run]


def test_what_exceeds_the_limits_is_named_and_read_by_the_next_command(
    clones: Callable[[str], Checkout],  # noqa: F811
    keys: dict[str, Path],  # noqa: F811
) -> None:
    """Forged lines are refused once, whoever moves their refs; a colleague known before is
    first.
    """
    ann, bob = clones("ann"), clones("bob")
    first, second, third = (public_receipt(ann) for _ in range(3))
    write_ref(bob, "ann1", [(str(first.tree), note(first, keys["ci"]))])
    assert imported(bob).imported == 1
    for number in range(9):
        write_ref(bob, f"eve{number}", forged_lines(third, keys["eve"], 100, 100 * number))
    write_ref(bob, "ann1", [(str(second.tree), note(second, keys["ci"]))])
    limits = Limits(4, 1 << 20, 200)
    answer = imported(bob, limits)
    assert answer.imported == 1, "of a writer that was read before"
    [remark] = answer.remarks
    assert remark.startswith("notes of 9 writers not read to their end (eve")
    assert remark.endswith(" and 6 more): run kl sync again.")
    assert 0 < answer.refusals <= 100

    refusals, commands = answer.refusals, 1
    while answer.remarks:
        answer = imported(bob, limits)
        refusals, commands = refusals + answer.refusals, commands + 1
        assert answer.refusals <= 100, "two units a line"
    assert (refusals, commands < 30) == (900, True)


def test_what_was_read_of_a_ref_does_not_outlive_its_move(
    clones: Callable[[str], Checkout],  # noqa: F811
    keys: dict[str, Path],  # noqa: F811
) -> None:
    ann, bob = clones("ann"), clones("bob")
    receipts = [public_receipt(ann) for _ in range(2)]
    write_ref(bob, "ann1", forged_lines(receipts[0], keys["ci"], 60))
    assert imported(bob, Limits(9, 1 << 20, 30)).remarks
    # the new line sorts before those that were read
    write_ref(bob, "ann1", [(str(receipts[1].tree), note(receipts[1], keys["ci"]))])
    assert imported(bob).imported == 1


def test_a_copy_with_a_strangers_signature_keeps_nothing_out(
    clones: Callable[[str], Checkout],  # noqa: F811
    keys: dict[str, Path],  # noqa: F811
) -> None:
    """Imported first, with as many signatures as the genuine one, or on another content."""
    ann, bob = clones("ann"), clones("bob")
    receipt = public_receipt(ann)
    genuine = note(receipt, keys["ci"])
    write_ref(bob, "eve1", [(str(receipt.tree), note(receipt, keys["eve"]))])
    assert imported(bob).imported == 1
    write_ref(bob, "eve2", [("0" * 40, genuine)])
    write_ref(bob, "zoe1", [(str(receipt.tree), genuine)])
    answer = imported(bob)
    assert answer.refused == ("eve2: it is attached to another content than its own",)
    trust(bob, keys["ci"])
    assert bob.kl("verify", "--from", "ci").returncode == 0
