"""A receipt's id covers all of it."""

from __future__ import annotations

import pytest

from kl_hooks.model.receipt import HEADER_KEYS, Evidence, Receipt, receipt_from_header, receipt_id

RECEIPT = Receipt(
    run="ab" * 16,
    source="pytest",
    observer="pytest",
    producer="local:a@b",
    evidence=(Evidence("TestResult", "test:a.py::one", "failed", 5, None, {"message": "no"}),),
    started="2026-01-01T00:00:00.000000Z",
    ended="2026-01-01T00:00:01.000000Z",
    tree="1" * 40,
    environment={"python": "3.12.1"},
    selection={"args": []},
    result={"exit": 1, "complete": True, "verdict": "failed"},
)


def test_it_comes_back_from_its_plain_form() -> None:
    plain = RECEIPT.to_dict()
    assert (
        receipt_from_header(plain, tuple(Evidence.from_dict(e) for e in plain["evidence"]))
        == RECEIPT
    )
    assert receipt_id(RECEIPT.header()) == RECEIPT.id == plain["id"]


CHANGES = {
    "run": "cd" * 16,
    "source": "junit",
    "observer": "x",
    "producer": "x",
    "parent": "x",
    "tree": "2" * 40,
    "tree_all": "2" * 40,
    "tree_end": "2" * 40,
    "moved": True,
    "head": "x",
    "branch": "x",
    "dirty": True,
    "started": "x",
    "ended": "x",
    "environment": {},
    "selection": {},
    "result": {},
    "evidence": (),
}


@pytest.mark.parametrize("key", CHANGES)
def test_every_field_is_in_the_id(key: str) -> None:
    assert RECEIPT._replace(**{key: CHANGES[key]}).id != RECEIPT.id


def test_no_field_is_forgotten_above() -> None:
    assert set(CHANGES) | {"schema", "evidence_digest"} == set(HEADER_KEYS) | {"evidence"}
