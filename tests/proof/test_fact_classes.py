"""A run that recorded fewer classes of facts than today's proves its own content alone."""

from __future__ import annotations

from kl_hooks.model.receipt import FACT_CLASSES
from kl_hooks.proof.facts import NOT_ASSESSED, Difference, FileChange, RunFacts
from kl_hooks.proof.rules import FACT_SUBJECTS, facts_not_recorded


def test_each_class_of_facts_names_the_changes_that_it_is_about() -> None:
    assert FACT_SUBJECTS.keys() == FACT_CLASSES.keys()


def test_a_run_of_today_lacks_no_class() -> None:
    changed = Difference({"app.py": FileChange("app.py", "100644 1", "100644 2")})
    assert facts_not_recorded(RunFacts(), changed) is None


def test_a_run_without_a_class_transfers_nothing_across_a_change_of_it() -> None:
    changed = Difference(
        {
            "app.py": FileChange("app.py", "100644 1", "100644 2"),
            "data.json": FileChange("data.json", "100644 1", "100644 2"),
            "added.py": FileChange("added.py", "", "100644 1"),
            "requirements.txt": FileChange("requirements.txt", "100644 1", "100644 2"),
        }
    )
    for name, what in FACT_CLASSES.items():
        run = RunFacts(recorded=frozenset(FACT_CLASSES) - {name})
        verdict = facts_not_recorded(run, changed)
        assert verdict is not None, name
        assert verdict.state == NOT_ASSESSED
        assert what in verdict.reason
        assert facts_not_recorded(run, Difference()) is None
