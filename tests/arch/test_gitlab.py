"""GitLab's Code Quality report: the keys that GitLab reads, one fingerprint for each finding."""

from __future__ import annotations

import json

from hypothesis import given

from kl_hooks.arch.formats.gitlab import gitlab
from kl_hooks.arch.verdict import Verdict
from tests.arch.verdicts import UNREAD, VERDICTS, broken, verdict


def test_the_keys_gitlab_reads() -> None:
    rows = gitlab([("worktree", verdict(broken(), accepted=(broken("c/price.py"),), problems=(UNREAD,)))])
    assert rows[1] == {
        "description": "from w import page: core must not import web"
        " (layer rule, .kl/architecture.yaml:9, ADR-0004). hint: pass it in",
        "check_name": "layers/core/web",
        "fingerprint": broken().fingerprint,
        "severity": "major",
        "location": {"path": "c/order.py", "lines": {"begin": 3}},
    }
    assert [row["severity"] for row in rows] == ["major", "major", "info"]
    assert gitlab([("worktree", None)]) == [] == gitlab([("worktree", verdict())])


def test_the_same_import_twice_has_two_fingerprints_that_do_not_move() -> None:
    def marks(*lines: int) -> list[str]:
        return [row["fingerprint"] for row in gitlab([("x", verdict(*(broken(line=line) for line in lines)))])]

    assert marks(3, 9) == marks(30, 90) and len(set(marks(3, 9))) == 2


@given(VERDICTS)
def test_anything_found_is_a_valid_report(found: Verdict) -> None:
    rows = json.loads(json.dumps(gitlab([("x", found)])))
    assert len({row["fingerprint"] for row in rows}) == len(rows) > 0
    for row in rows:
        assert set(row) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert row["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert row["location"]["lines"]["begin"] >= 1 and row["location"]["path"]
        json.dumps(row).encode("utf-8")
        row["description"].encode("utf-8")
