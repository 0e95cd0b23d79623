"""The detector: ids in any text, specifications by their file names, features that belong
together.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.feature import feature_ids, related_features, specification_files


@pytest.mark.requirement("B35")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Work on FEAT-AUTH-12, then feat-auth-13.", ("FEAT-AUTH-12", "FEAT-AUTH-13")),
        ("see docs/features/FEAT-AUTH-12-sign-in.md", ("FEAT-AUTH-12",)),
        ("FEAT-AUTH-12-2024", ("FEAT-AUTH-12",)),
        ("FEAT-0003 and FEAT-USER-AUTH-7", ("FEAT-0003", "FEAT-USER-AUTH-7")),
        ("FEAT-2FA-1", ("FEAT-2FA-1",)),
        ("TURN-FEAT-AUTH-12-3 is a turn", ()),
        ("DEFEAT-AUTH-12, FEAT-, FEAT-AUTH, FEAT-AUTH-12x, FEAT-AUTH-12_b", ()),
        ("FEAT-AUTH-1 FEAT-AUTH-1", ("FEAT-AUTH-1",)),
    ],
)
def test_ids_in_a_text(text: str, expected: tuple[str, ...]) -> None:
    assert feature_ids(text) == expected


@given(st.text(alphabet="FEATfeat-0123456789AÉ १", max_size=60))
def test_what_is_found_is_found_again_in_itself(text: str) -> None:
    for one in feature_ids(text):
        assert feature_ids(one) == (one,)


def test_a_hostile_text_is_read_at_once() -> None:
    assert feature_ids("FEAT-" + "A-" * 50_000 + "x" + "0" * 50_000) == ()


def test_related_features_share_the_prefix_and_omit_the_feature_itself() -> None:
    known = ["FEAT-AUTH-12", "feat-auth-2", "FEAT-AUTH-13", "FEAT-PAY-1", "FEAT-0003", "FEAT-0004"]
    assert related_features("FEAT-AUTH-12", known) == ("FEAT-AUTH-2", "FEAT-AUTH-13")
    assert related_features("FEAT-0003", known) == ()
    assert related_features("nonsense", known) == ()


def test_specifications_are_found_by_name_and_no_link_is_followed(tmp_path: Path) -> None:
    for name in (
        "docs/features/auth/FEAT-AUTH-12-sign-in.md",
        "features/FEAT-AUTH-12.md",
        "features/feat-pay-1.yaml",
        "docs/features/notes.md",
        "docs/features/FEAT-X-1.png",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "features" / "FEAT-EVIL-1.md").symlink_to("/etc/hostname")
    (tmp_path / "features" / "loop").symlink_to(tmp_path)
    assert specification_files(tmp_path) == {
        "FEAT-AUTH-12": "docs/features/auth/FEAT-AUTH-12-sign-in.md",
        "FEAT-PAY-1": "features/feat-pay-1.yaml",
    }
