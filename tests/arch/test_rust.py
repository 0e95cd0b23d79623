"""Layers of Rust files."""

from __future__ import annotations

from pathlib import Path

import pytest

from kl_hooks.arch.content import WORKTREE, load_content
from kl_hooks.arch.import_survey import survey_imports
from tests.arch.shop import MANIFEST, opened
from tests.arch.test_typescript import crossings, verdict
from tests.git.repos import make, write

FILES = {
    MANIFEST: """\
version: 1
layers:
  - name: core
    paths: [src/core/, src/core.rs]
    may_depend_on: []
  - name: ui
    paths: [src/ui/, src/ui.rs]
    may_depend_on: below
""",
    "Cargo.toml": '[package]\nname = "shop"\n',
    "src/lib.rs": "pub mod core;\npub mod ui;\n",
    "src/core.rs": "pub mod order;\n",
    "src/core/order.rs": "pub fn total() -> u32 { 1 }\n",
    "src/ui.rs": "pub mod button;\nuse crate::core::order;\npub fn show() { order::total(); }\n",
    "src/ui/button.rs": "pub struct Button;\n",
}
ORDER = "src/core/order.rs"


def test_a_crate_is_clean_where_nothing_crosses_its_layers(tmp_path: Path) -> None:
    make(tmp_path / "shop", FILES)
    answer = verdict(tmp_path / "shop")
    assert (answer.clean, answer.warnings) == (True, ())


STATEMENTS = {
    "use": "use crate::ui::button::Button;",
    "a group": "use crate::{ui::button::{self, Button}};",
    "above": "use super::super::ui::button::Button;",
    "the crate by its name": "use shop::ui::button;",
    "a glob": "use crate::ui::button::*;",
    "a re-export": "pub use crate::ui::button::Button;",
    "a path in code": "fn f() { crate::ui::button::make(); }",
    "a path in a macro": "fn f() { say!(crate::ui::button::make()); }",
    "in a module": "mod tests { use super::super::super::ui::button::Button; }",
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_what_a_file_may_not_import_is_reported(name: str, tmp_path: Path) -> None:
    make(tmp_path / "shop", {**FILES, ORDER: f"{FILES[ORDER]}{STATEMENTS[name]}\n"})
    assert crossings(tmp_path / "shop") == [f"{ORDER}:2 src/ui/button.rs"]


def test_a_module_with_a_path_of_its_own_is_followed_after_an_edit(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    make(folder, {**FILES, "src/ui/last.rs": "pub fn last() {}\n"})
    assert verdict(folder, WORKTREE).clean
    write(folder, {"src/core/order.rs": '#[path = "../ui/last.rs"]\nmod other;\n'})
    assert crossings(folder) == [f"{ORDER}:2 src/ui/last.rs"]


def test_a_crate_is_a_package_of_which_init_proposes_layers(tmp_path: Path) -> None:
    make(tmp_path / "shop", FILES)
    ws = opened(tmp_path / "shop")
    survey = survey_imports(ws, load_content(ws))
    assert survey.projects == {"": "shop"}
