"""The catalogue: each name, plural and prefix once; where two files share one, neither is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from kl_hooks.errors import UsageProblem
from kl_hooks.kinds.plugin import kl_kinds
from kl_hooks.workspace.kinds import catalogue

RISK = "name: {name}\nplural: {plural}\nprefix: {prefix}\npurpose: x\nstatuses: [open]\n"


def kind(root: Path, file: str, name: str, plural: str, prefix: str) -> None:
    folder = root / ".kl/kinds"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(RISK.format(name=name, plural=plural, prefix=prefix))


@pytest.mark.parametrize(
    "other",
    [("risk", "perils", "PERIL"), ("peril", "risks", "PERIL"), ("peril", "perils", "RISK"), ("risks", "xs", "PERIL")],
)
def test_two_files_of_one_name_take_nothing_from_each_other(tmp_path: Path, other: tuple[str, str, str]) -> None:
    kind(tmp_path, "risk.yaml", "risk", "risks", "RISK")
    kind(tmp_path, "aaa.yaml", *other)
    kind(tmp_path, "good.yaml", "good", "goods", "GOOD")
    found = catalogue(tmp_path, [])
    assert list(found.kinds) == ["good"]
    assert [one.path for one in found.problems] == [".kl/kinds/aaa.yaml", ".kl/kinds/risk.yaml"]
    for one in found.problems:
        assert "aaa.yaml" in str(one) and "risk.yaml" in str(one)


def test_a_file_takes_no_name_from_kl(tmp_path: Path) -> None:
    kind(tmp_path, "mine.yaml", "memory", "mine", "MINE")
    ours = list(kl_kinds())
    found = catalogue(tmp_path, ours)
    assert list(found.kinds.values()) == ours
    (problem,) = found.problems
    assert problem.path == ".kl/kinds/mine.yaml" and "from kl" in problem.message


def test_what_is_installed_and_does_not_fit_together_is_refused(tmp_path: Path) -> None:
    first, *_ = kl_kinds()
    with pytest.raises(UsageProblem, match="is there twice"):
        catalogue(tmp_path, [first, first])
