"""Settings: a repository may tighten, not loosen; whatever is wrong is reported at once.

The numbers of upkeep: defaults where nothing is reported, every problem at once where something is
wrong.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.config.settings import (
    _LIFECYCLE_KEYS,
    _STRENGTHS,
    MOST_DAYS,
    SETTINGS_FILE,
    Settings,
    _compile_lifecycle,
    load_lifecycle,
    load_settings,
    merge_settings,
    user_settings_file,
)
from kl_hooks.errors import UsageProblem
from kl_hooks.model.lifecycle import LIFECYCLE_FILE, Lifecycle
from kl_hooks.model.problem import Problems
from kl_hooks.shipped import form


def write(root: Path, checkout: str | None = None, user: str | None = None) -> dict[str, str]:
    """Writes both files and gives the environment that names the user's."""
    if checkout is not None:
        (root / ".kl").mkdir()
        (root / SETTINGS_FILE).write_text(checkout)
    if user is not None:
        (root / "conf" / "kl").mkdir(parents=True)
        (root / "conf" / "kl" / "config.yaml").write_text(user)
    return {"XDG_CONFIG_HOME": str(root / "conf"), "HOME": str(root)}


def test_nothing_written_gives_the_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path, {}, {}, None) == Settings()


def test_the_repository_sets_what_the_user_left_open(tmp_path: Path) -> None:
    environ = write(tmp_path, "verified_requires: classes\nbudget: 9000\n")
    read = load_settings(tmp_path, {}, environ, None)
    assert (read.verified_requires, read.budget, read.warnings) == ("classes", 9000, ())


def test_the_repository_does_not_loosen_what_the_user_set(tmp_path: Path) -> None:
    environ = write(
        tmp_path,
        "budget: 9000\nverified_requires: classes\n",
        "budget: 4000\nverified_requires: independent\n",
    )
    read = load_settings(tmp_path, {}, environ, None)
    assert (read.verified_requires, read.budget) == ("independent", 4000)
    assert [str(warning) for warning in read.warnings] == [
        (
            ".kl/config.yaml:2:20: classes is looser than your own setting; ignored. Yours:"
            " independent."
        ),
        ".kl/config.yaml:1:9: 9000 is looser than your own setting; ignored. Yours: 4000.",
    ]


def test_the_repository_may_tighten(tmp_path: Path) -> None:
    environ = write(
        tmp_path,
        "budget: 2000\nverified_requires: independent\n",
        "budget: 4000\nverified_requires: classes\n",
    )
    read = load_settings(tmp_path, {}, environ, None)
    assert (read.verified_requires, read.budget, read.warnings) == ("independent", 2000, ())


def test_maintenance_by_itself_is_for_a_user_to_ask_for(tmp_path: Path) -> None:
    environ = write(tmp_path, "maintain: daily\n")
    read = load_settings(tmp_path, {}, environ, None)
    assert read.maintain == "off"
    assert "git config kl.maintain daily" in str(read.warnings[0])
    read = load_settings(tmp_path, {"maintain": "daily"}, environ, None)
    assert (read.maintain, read.warnings) == ("daily", ())
    with pytest.raises(Problems):
        load_settings(tmp_path, {"maintain": "hourly"}, environ, None)


def test_plugins_come_from_the_user_only(tmp_path: Path) -> None:
    environ = write(tmp_path, "plugins: [evil, good]\n", "plugins: [good]\n")
    read = load_settings(tmp_path, {}, environ, None)
    assert read.plugins == ("good",)
    assert 'plugin "evil" is asked for by the repository only; not loaded.' in str(read.warnings[0])
    assert "git config kl.plugins 'good evil'" in str(read.warnings[0])
    allowed = load_settings(tmp_path, {"plugins": "good, evil"}, environ, None)
    assert allowed.plugins == ("good", "evil") and allowed.warnings == ()


def test_git_config_is_the_users_word(tmp_path: Path) -> None:
    environ = write(tmp_path, user="budget: 4000\n")
    assert load_settings(tmp_path, {"budget": "5000", "state": "/x"}, environ, None).budget == 5000
    with pytest.raises(Problems) as caught:
        load_settings(tmp_path, {"budget": "lots", "verified-requires": "hope"}, environ, None)
    assert len(caught.value.problems) == 2


def test_every_mistake_of_both_files_at_once(tmp_path: Path) -> None:
    environ = write(tmp_path, "budjet: 1\nplugins: x\n", "verified_requires: clases\nversion: 2\n")
    with pytest.raises(Problems) as caught:
        load_settings(tmp_path, {}, environ, None)
    text = str(caught.value)
    assert text.startswith("4 problems:\n")
    assert '.kl/config.yaml:1:1: unknown key "budjet". Did you mean "budget"?' in text
    assert '.kl/config.yaml:2:10: "plugins" must be a list, not text. Write [] for none.' in text
    assert (
        'config.yaml:1:20: "verified_requires" must be one of: independent, classes. Did you mean'
        ' "classes"?' in text
    )
    assert caught.value.exit_code == 2


def test_odd_items_in_the_place_of_the_file(tmp_path: Path) -> None:
    environ = write(tmp_path, "")
    outside = tmp_path / "outside.yaml"
    outside.write_text("budget: 700\n")
    repo = tmp_path / "repo"
    (repo / ".kl").mkdir(parents=True)
    place = repo / SETTINGS_FILE
    place.symlink_to(outside)
    with pytest.raises(UsageProblem, match="leads out of the repository"):
        load_settings(repo, {}, environ, None)
    place.unlink()
    os.mkfifo(place)
    with pytest.raises(UsageProblem, match="is not a file"):
        load_settings(repo, {}, environ, None)
    place.unlink()
    place.mkdir()
    with pytest.raises(UsageProblem, match=r"is not a file|can't be read"):
        load_settings(repo, {}, environ, None)


def test_a_link_of_the_user_to_his_dotfiles_is_followed(tmp_path: Path) -> None:
    (tmp_path / "dotfiles.yaml").write_text("budget: 700\n")
    (tmp_path / ".config" / "kl").mkdir(parents=True)
    (tmp_path / ".config" / "kl" / "config.yaml").symlink_to(tmp_path / "dotfiles.yaml")
    assert load_settings(tmp_path / "repo", {}, {"HOME": str(tmp_path)}, None).budget == 700


def test_no_home_is_no_file() -> None:
    assert user_settings_file({}) is None
    assert user_settings_file({"XDG_CONFIG_HOME": "relative", "HOME": "/h"}) == Path(
        "/h/.config/kl/config.yaml"
    )


_one = st.fixed_dictionaries(
    {},
    optional={
        "verified_requires": st.sampled_from(_STRENGTHS),
        "budget": st.integers(256, 20_000),
        "plugins": st.lists(st.sampled_from(["a", "b", "c"]), unique=True),
    },
)


@given(_one, _one)
def test_a_checkout_never_loosens(checkout: dict[str, object], user: dict[str, object]) -> None:
    def placed(values: dict[str, object]) -> dict[str, object]:
        return {key: [value, 1, 1] for key, value in values.items()}

    alone, both = merge_settings({}, placed(user)), merge_settings(placed(checkout), placed(user))
    assert both.plugins == alone.plugins
    if "budget" in user:
        assert both.budget <= alone.budget
    if "verified_requires" in user:
        assert _STRENGTHS.index(both.verified_requires) <= _STRENGTHS.index(alone.verified_requires)


def test_reviewers_come_from_the_user_and_the_repository_may_name_fewer(tmp_path: Path) -> None:
    environ = write(tmp_path, "reviewers: [evil, bot]\n", "reviewers: [bot, other]\n")
    read = load_settings(tmp_path, {}, environ, None)
    assert read.reviewers == ("bot",)
    assert [str(warning) for warning in read.warnings] == [
        '.kl/config.yaml:1:12: reviewer "evil" is named by the repository only; it may not'
        " approve. To let it review in this clone: git config kl.reviewers 'bot other evil'"
    ]
    assert load_settings(tmp_path, {"reviewers": "bot evil"}, environ, None).reviewers == (
        "bot",
        "evil",
    )


def test_what_is_mined_and_given_of_memories_can_be_less_but_not_more(tmp_path: Path) -> None:
    environ = write(tmp_path, "memory_top_k: 9\nmemory_auto_extract: false\n")
    read = load_settings(
        tmp_path, {"memory-top-k": "3", "memory-auto-extract": "true"}, environ, None
    )
    assert (read.memory_top_k, read.memory_auto_extract) == (3, False)
    assert [warning.line for warning in read.warnings] == [1]
    with pytest.raises(Problems) as wrong:
        load_settings(tmp_path, {"memory-top-k": "0", "memory-auto-extract": "perhaps"}, {}, None)
    assert {problem.path for problem in wrong.value.problems} == {
        "git config kl.memory-top-k",
        "git config kl.memory-auto-extract",
    }


def write_lifecycle(root: Path, text: str) -> None:
    (root / LIFECYCLE_FILE).parent.mkdir(parents=True, exist_ok=True)
    (root / LIFECYCLE_FILE).write_text(text)


@pytest.mark.requirement("A68")
def test_the_defaults_are_those_that_were_promised(tmp_path: Path) -> None:
    numbers, problems = load_lifecycle(tmp_path)
    assert problems == []
    assert numbers._asdict() == {
        "adr_retention_days": 0,
        "memory_reinforce_window_days": 90,
        "confidence_decay_days": 30,
        "orphaned_node_grace_period_days": 7,
        "max_provenance_age_days": 0,
        "memory_candidate_pruning_days": 180,
        "purge_expired_days": 30,
        "run_rows_days": 90,
        "package_log_days": 90,
    }


@pytest.mark.requirement("A66", "A68")
def test_both_styles_of_keys_are_read(tmp_path: Path) -> None:
    write_lifecycle(
        tmp_path, "AdrRetentionDays: 3\nconfidence_decay_days: 0\nMemoryCandidatePruningDays: 9\n"
    )
    numbers, problems = load_lifecycle(tmp_path, tmp_path / "cache")
    assert (
        numbers.adr_retention_days,
        numbers.confidence_decay_days,
        numbers.memory_candidate_pruning_days,
    ) == (
        3,
        0,
        9,
    )
    assert problems == []
    assert load_lifecycle(tmp_path, tmp_path / "cache") == (
        numbers,
        [],
    ), "the compiled form says the same"


@pytest.mark.requirement("A66")
def test_every_mistake_is_reported_and_its_default_holds(tmp_path: Path) -> None:
    write_lifecycle(
        tmp_path, "run_rows_days: -1\nRunRowsDay: 4\npackage_log_days: [1]\nadr_retention_days: 5\n"
    )
    for _ in range(2):
        numbers, problems = load_lifecycle(tmp_path, tmp_path / "cache")
        assert (numbers.run_rows_days, numbers.package_log_days, numbers.adr_retention_days) == (
            90,
            90,
            5,
        )
        assert [str(one) for one in problems] == [
            f'{LIFECYCLE_FILE}:1:16: "run_rows_days" must be a whole number from 0 to {MOST_DAYS}.',
            f'{LIFECYCLE_FILE}:2:1: unknown key "RunRowsDay". Did you mean "run_rows_days"?',
            (
                f'{LIFECYCLE_FILE}:3:19: "package_log_days" must be a whole number from 0 to'
                f" {MOST_DAYS}."
            ),
        ]


def test_the_form_is_valid_and_states_every_default() -> None:
    assert _compile_lifecycle(form("lifecycle.yaml").encode()) == {"numbers": {}, "problems": []}
    for key, value in Lifecycle()._asdict().items():
        assert f"# {key}: {value} " in form("lifecycle.yaml")


def test_a_compiled_form_that_is_not_ours_is_not_used(tmp_path: Path) -> None:
    write_lifecycle(tmp_path, "run_rows_days: 4\n")
    load_lifecycle(tmp_path, tmp_path / "cache")
    (entry,) = (tmp_path / "cache" / "compiled").iterdir()
    entry.write_text(entry.read_text().replace('"run_rows_days": 4', '"run_rows_days": "4"'))
    assert load_lifecycle(tmp_path, tmp_path / "cache")[0].run_rows_days == 4


@given(
    st.binary(max_size=300)
    | st.text(max_size=100).map(str.encode)
    | st.sampled_from(_LIFECYCLE_KEYS).map(lambda k: f"{k}: {{".encode())
)
def test_any_bytes_give_numbers_and_problems(text: bytes) -> None:
    numbers = _compile_lifecycle(text)["numbers"]
    assert all(key in _LIFECYCLE_KEYS and 0 <= value <= MOST_DAYS for key, value in numbers.items())
