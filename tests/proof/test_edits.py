"""A share of the edits of `bench/edits`: where the suite fails after one, `kl verify` accepts the
content in no case; a harmless one keeps the verdict.

`python -m bench.edits` judges all of them, and public suites, with `pytest --kl-impacted` too.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from bench.edits.judging import project_in
from bench.edits.kinds import DATA, Edit, Kind, kinds_in

CLOSED = (
    *("import", "fixtures", "frameworks", "bodies", "machinery", "modules", "pytest"),
    *("patching", "introspection", "environment", "read", "runs", "stored"),
    "values",
    "order",
    *("library", "kept", "reach", "around"),
    *("held", "projects", "counted", "shared", "inherited"),
    "import path",
)
"""Groups of which no verdict was wrong when all their edits were judged."""
ORDER = ("order", "library", "kept", "around", "held", "projects", "counted", "inherited")
"""Groups with new tests that change what others rely on."""
WHOLE = "inherited"
"""The group of which each kind is tried: no other test shows some of them."""
EACH = 4
"""So many kinds of each group, and of the harmless ones; of each kind one edit."""


def share() -> list[tuple[Kind, Edit]]:
    """The same ones in each run."""
    dice = random.Random(2)
    kinds = kinds_in([DATA])
    groups = [[kind for kind in kinds if kind.group == name] for name in (*CLOSED, "harmless")]
    return [
        (kind, dice.choice(kind.edits))
        for group in groups
        for kind in dice.sample(
            group, len(group) if group[0].group == WHOLE else min(EACH, len(group))
        )
    ]


@pytest.mark.skipif("sys.version_info < (3, 12)", reason="symbols are recorded from 3.12 on")
@pytest.mark.parametrize(
    ("kind", "edit"),
    [
        # an environment of its own takes seconds
        pytest.param(*chosen, marks=[pytest.mark.slow] if chosen[0].site else [])
        for chosen in share()
    ],
    ids=lambda value: getattr(value, "name", None),
)
@pytest.mark.share(EACH)
def test_no_content_is_accepted_whose_suite_fails(
    kind: Kind, edit: Edit, tmp_path: Path, home: Path
) -> None:
    project = project_in(tmp_path / "project", kind, sys.executable)
    assert project.record().code == 0
    assert project.commands.kl("verify", environ=project.environ).code == 0
    project.apply(edit)
    # what a new test does to others is known once it ran
    verdicts = project.judge(impacted=kind.group in ORDER)
    if kind.harmless:
        assert (verdicts.suite, verdicts.verify) == (0, 0)
    else:
        # a suite whose new configuration deselects the failing test passes: the test has vanished
        is_effective = verdicts.suite != 0 or bool(verdicts.changed)
        assert is_effective, "the edit shows nothing: the suite passes after it"
        assert (verdicts.verify, verdicts.verify_after) == (1, 1)
