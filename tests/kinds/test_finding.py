"""What a finding rests on, and when it no longer holds."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.finding import blob_of, stale_reason
from tests.support import Checkout

IDS = st.sampled_from(["file:a.py", "file:b.py", "function:a.f"])
DIGESTS = st.dictionaries(IDS, st.sampled_from(["", "1", "2"]))


def test_a_symbol_decides_where_it_is_known_and_its_file_elsewhere() -> None:
    anchors = {"file:a.py": "1", "function:a.f": "x"}
    assert stale_reason(anchors, {"file:a.py": "1"}) == ""
    assert stale_reason(anchors, {"file:a.py": "2"}) == "a.py has changed since"
    assert stale_reason(anchors, {"file:a.py": "2", "function:a.f": "x"}) == ""
    assert stale_reason(anchors, {"file:a.py": "2", "function:a.f": "y"}) == "function:a.f has changed since"
    assert stale_reason(anchors, {"file:a.py": "", "function:a.f": ""}) == "function:a.f was removed"
    assert stale_reason({"file:a.py": "1"}, {"file:a.py": ""}) == "a.py was removed"
    assert stale_reason({}, {}) == ""


@given(DIGESTS)
def test_what_is_as_it_was_holds(anchors: dict[str, str]) -> None:
    assert stale_reason(anchors, anchors) == ""


@given(DIGESTS, DIGESTS)
def test_a_reason_names_something_that_differs(anchors: dict[str, str], today: dict[str, str]) -> None:
    why = stale_reason(anchors, today)
    differing = [one for one, digest in anchors.items() if today.get(one, digest) != digest]
    assert not why or any(one.removeprefix("file:") in why for one in differing)


def test_a_blob_is_that_of_git_and_links_are_not_followed(repo: Checkout, tmp_path: Path) -> None:
    repo.write("a.py", "A = 1\n")
    ws = repo.workspace()
    assert blob_of(ws, "a.py") == repo.git("hash-object", "a.py")
    (tmp_path / "outside").write_text("x")
    (repo.root / "link").symlink_to(tmp_path / "outside")
    (repo.root / "folder").symlink_to(tmp_path)
    for name in ("link", "folder/outside", "missing", ".", "../outside", "a\0b"):
        assert blob_of(ws, name) == "", name
