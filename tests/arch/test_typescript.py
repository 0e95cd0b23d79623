"""Layers of TypeScript and JavaScript files, alone and beside Python's."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kl_hooks.arch.check import CheckOptions, run_check
from kl_hooks.arch.content import STAGED, WORKTREE
from kl_hooks.arch.layer_check import Verdict
from kl_hooks.arch.layers import ManifestProblems
from kl_hooks.code import languages
from kl_hooks.code.modules import plain_name
from tests.arch.shop import MANIFEST, opened
from tests.git.repos import commit, make, sh, write
from tests.support import Checkout

LAYERS = """\
version: 1
layers:
  - name: core
    paths: [web/core/, src/shop/core/]
    may_depend_on: []
  - name: ui
    paths: [web/ui/, src/shop/api/]
    may_depend_on: below
"""
FILES = {
    MANIFEST: LAYERS,
    "web/tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["./*"]}}}',
    "web/core/order.ts": "export const total = () => 1;\n",
    "web/ui/button.tsx": (
        'import { total } from "../core/order";\nexport const Button = () => <b>{total()}</b>;\n'
    ),
    "web/ui/theme.ts": 'export type Theme = string;\nexport const dark: Theme = "";\n',
    "web/ui/old.js": "exports.old = 1;\n",
    "src/shop/__init__.py": "",
    "src/shop/core/__init__.py": "",
    "src/shop/api/__init__.py": "import shop.core\n",
}
ORDER = "web/core/order.ts"


def web(folder: Path, files: dict[str, str] | None = None) -> Path:
    make(folder, {**FILES, **(files or {})})
    return folder


def verdict(folder: Path, source: str = WORKTREE) -> Verdict:
    answer, _ = run_check(opened(folder), source)
    assert answer is not None
    return answer


def crossings(folder: Path, source: str = WORKTREE) -> list[str]:
    return [
        f"{violation.path}:{violation.line} {violation.imported}"
        for violation in verdict(folder, source).violations
    ]


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    done = Checkout(folder).kl(*arguments)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def without_the_extra(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As where tree-sitter is not installed: None in `sys.modules` is a package that is not
    found.
    """
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    languages._are_installed.cache_clear()
    yield
    languages._are_installed.cache_clear()


def test_a_repository_of_both_languages_is_clean_where_nothing_crosses_its_layers(
    tmp_path: Path,
) -> None:
    answer = verdict(web(tmp_path / "web"))
    assert (answer.clean, answer.files, answer.warnings) == (True, 6, ())


STATEMENTS = {
    "an import": ("import { Button } from '../ui/button';", "web/ui/button.tsx"),
    "an import for its effects": ("import '../ui/old';", "web/ui/old.js"),
    "an alias of tsconfig.json": ("import { Button } from '@/ui/button';", "web/ui/button.tsx"),
    "a re-export": ("export { dark } from '../ui/theme';", "web/ui/theme.ts"),
    "a re-export of everything": ("export * from '../ui/theme';", "web/ui/theme.ts"),
    "a require": ("const old = require('../ui/old');", "web/ui/old.js"),
    "an import in a function": ("const f = () => import('../ui/old');", "web/ui/old.js"),
    "one name that is no type": (
        "import { type Theme, dark } from '../ui/theme';",
        "web/ui/theme.ts",
    ),
    "a type": ("import type { Theme } from '../ui/theme';", ""),
    "a type among no other names": ("import { type Theme } from '../ui/theme';", ""),
    "a re-export of a type": ("export type { Theme } from '../ui/theme';", ""),
    "a type by import()": ("let theme: import('../ui/theme').Theme;", ""),
    "the type of a module": ("const f = load<typeof import('../ui/theme')>();", ""),
    "a value that is said to be of a type": ("const x = y as import('../ui/theme').Theme;", ""),
    "a package from outside": ("import React from 'react';", ""),
    "its own layer": ("import './order';", ""),
}


@pytest.mark.requirement("A48")
@pytest.mark.parametrize("name", STATEMENTS)
def test_forbidden_is(name: str, tmp_path: Path) -> None:
    statement, target = STATEMENTS[name]
    folder = web(tmp_path / "web", {"web/core/new.ts": f"{statement}\n"})
    assert crossings(folder) == ([f"web/core/new.ts:1 {target}"] if target else [])


def test_types_are_forbidden_too_where_the_rules_enforce_them(tmp_path: Path) -> None:
    files = {
        "web/core/new.ts": "import type { Theme } from '../ui/theme';\n",
        MANIFEST: f"{LAYERS}type_checking_imports: enforce\n",
    }
    folder = web(tmp_path / "web", files)
    (violation,) = verdict(folder).violations
    assert violation.method == "type-checking import"
    assert "as an interface of its own" in violation.suggested_fix


def test_a_package_of_the_workspace_is_its_layer(tmp_path: Path) -> None:
    files = {
        MANIFEST: (
            "version: 1\nlayers:\n"
            "  - {name: core, paths: [packages/@acme/core/], may_depend_on: []}\n"
            "  - {name: ui, paths: [packages/@acme/ui/], may_depend_on: below}\n"
        ),
        "packages/@acme/core/package.json": '{"name": "@acme/core"}',
        "packages/@acme/core/src/index.ts": "import { x } from '@acme/ui';\n",
        "packages/@acme/ui/package.json": '{"name": "@acme/ui", "main": "dist/index.js"}',
        "packages/@acme/ui/src/index.ts": "export const x = 1;\n",
    }
    make(tmp_path / "web", files)
    (violation,) = verdict(tmp_path / "web").violations
    assert (violation.importer, violation.imported) == (
        "packages/@acme/core/src/index.ts",
        "packages/@acme/ui/src/index.ts",
    )


BARREL = {
    "web/shared/index.ts": (
        "export * from './plain';\nexport { dark as night } from '../ui/theme';\n"
        "import { Button } from '../ui/button';\nexport default Button;\n"
        "export * from './stars';\n"
    ),
    "web/shared/plain.ts": "export const plain = 1;\n",
    "web/shared/stars.ts": "export * from '../ui/old2';\n",
    "web/ui/old2.ts": "export const old = 1;\n",
}


@pytest.mark.parametrize(
    ("statement", "target"),
    [
        ("import { plain } from '../shared';", ""),
        ("import { night } from '../shared';", "web/ui/theme.ts"),
        ("import Button from '../shared';", "web/ui/button.tsx"),
        ("import { old } from '../shared';", "web/ui/old2.ts"),
        ("import type { night } from '../shared';", ""),
    ],
)
def test_an_import_through_a_file_in_no_layer_leads_where_its_name_comes_from(
    statement: str, target: str, tmp_path: Path
) -> None:
    folder = web(tmp_path / "web", {**BARREL, "web/core/new.ts": f"{statement}\n"})
    assert crossings(folder) == ([f"web/core/new.ts:1 {target}"] if target else [])


def test_each_content_is_judged_by_itself_and_an_edit_of_few_files_is_seen(tmp_path: Path) -> None:
    folder = web(tmp_path / "web", {".kl/config.yaml": "version: 1\n"})
    assert crossings(folder) == []
    write(folder, {ORDER: "import '@/ui/old';\n"})
    assert crossings(folder) == [f"{ORDER}:1 web/ui/old.js"]
    assert crossings(folder, STAGED) == []
    sh(folder, "add", ORDER)
    assert crossings(folder, STAGED) == [f"{ORDER}:1 web/ui/old.js"]
    assert crossings(folder, "HEAD") == []


def test_an_edit_of_configuration_judges_all_files_again(tmp_path: Path) -> None:
    folder = web(
        tmp_path / "web", {".kl/config.yaml": "version: 1\n", ORDER: "import '~/ui/old';\n"}
    )
    assert crossings(folder) == []
    write(folder, {"web/tsconfig.json": '{"compilerOptions": {"paths": {"~/*": ["./*"]}}}'})
    assert crossings(folder) == [f"{ORDER}:1 web/ui/old.js"]


def test_a_range_shows_what_is_found_in_changed_files(tmp_path: Path) -> None:
    folder = web(tmp_path / "web")
    write(folder, {ORDER: "import '../ui/old';\n"})
    commit(folder, "drift")
    code, output = run(folder, "arch", "check", "--changed", "HEAD~1..HEAD")
    assert (code, f"{ORDER}:1: core must not import ui" in output) == (1, True)


def test_what_the_baseline_or_an_exception_accepts_passes(tmp_path: Path) -> None:
    folder = web(tmp_path / "web", {ORDER: "import '../ui/old';\nimport '../ui/theme';\n"})
    code, output = run(
        folder, "arch", "allow", ORDER, "web/ui/old.js", "--until", "30d", "--reason", "for now"
    )
    assert code == 0, output
    assert crossings(folder) == [f"{ORDER}:2 web/ui/theme.ts"]
    assert run(folder, "arch", "baseline", "write")[0] == 0
    assert verdict(folder).clean
    write(folder, {ORDER: "import '../ui/old';\nimport '../ui/theme';\nimport '../ui/button';\n"})
    assert crossings(folder) == [f"{ORDER}:3 web/ui/button.tsx"]


def test_rules_that_allow_more_than_a_trusted_revision_fail(tmp_path: Path) -> None:
    folder = web(tmp_path / "web")
    write(
        folder,
        {
            ORDER: "import '../ui/old';\n",
            MANIFEST: LAYERS.replace("may_depend_on: []", "may_depend_on: [ui]"),
        },
    )
    answer, _ = run_check(opened(folder), WORKTREE, CheckOptions(trust="HEAD"))
    assert answer is not None and not answer.clean and answer.loosened


@pytest.mark.parametrize(
    ("before", "after", "is_looser"),
    [
        ("", "python", True),
        ("typescript", "Python", True),
        ("python", "", False),
        ("python", "py", False),
        ("JavaScript", "ts", False),
        ("", "Cobol", False),
    ],
)
def test_rules_that_check_fewer_languages_are_loosened(
    before: str, after: str, is_looser: bool, tmp_path: Path
) -> None:
    # `./`: no path of a layer has lost its files
    layers = "version: 1\nlayers:\n  - {name: all, paths: [./], may_depend_on: []}\n"
    folder = web(
        tmp_path / "web", {MANIFEST: f"{layers}language: {before}\n" if before else layers}
    )
    write(folder, {MANIFEST: f"{layers}language: {after}\n" if after else f"{layers}\n"})
    answer, _ = run_check(opened(folder), WORKTREE, CheckOptions(trust="HEAD"))
    assert answer is not None and answer.clean is not is_looser
    assert [problem.line for problem in answer.loosened] == ([4] if is_looser else [])


def test_the_reports_of_services_have_the_place(tmp_path: Path) -> None:
    folder = web(tmp_path / "web", {ORDER: "import '../ui/old';\n"})
    code, output = run(folder, "arch", "check", "--format", "github")
    assert (code, f"file={ORDER},line=1" in output) == (1, True)
    (result,) = json.loads(run(folder, "arch", "check", "--format", "sarif")[1])["runs"][0][
        "results"
    ]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == ORDER


def test_a_file_is_explained(tmp_path: Path) -> None:
    folder = web(tmp_path / "web", {ORDER: "import '../ui/old';\n"})
    code, output = run(folder, "arch", "explain", ORDER)
    assert code == 0
    assert "layer    core, by its path web/core/" in output
    assert "line 1  ui  web/ui/old.js  forbidden" in output
    assert "other files of this module name" not in output


def test_an_import_is_not_moved_by_fix(tmp_path: Path) -> None:
    folder = web(tmp_path / "web", {ORDER: "import '../ui/old';\n"})
    assert "imports of Python alone are moved" in run(folder, "arch", "fix")[1]


LOST = {
    "a conflict": "<<<<<<< HEAD\nimport '../ui/old';\n=======\n>>>>>>> other\n",
    "a text that does not end": "const s = 'a\nimport { b } from '../ui/old';\n",
    "an element that does not end": "const e = <div>;\nimport { b } from '../ui/old';\n",
    "a template that begins too early": (
        "const a = `;\nimport { b } from '../ui/old';\nconst c = `d`;\n"
    ),
    "a file that a machine wrote": f"{'x();' * 6000}\n",
}


@pytest.mark.parametrize("name", LOST)
def test_a_file_of_a_layer_blocks_where_an_import_may_be_missing(name: str, tmp_path: Path) -> None:
    folder = web(tmp_path / "web", {"web/core/view.tsx": LOST[name]})
    answer = verdict(folder)
    assert [problem.path for problem in answer.problems] == ["web/core/view.tsx"]
    assert not answer.clean and not answer.violations


def test_a_minified_file_in_no_layer_is_no_mistake(tmp_path: Path) -> None:
    minified = LOST["a file that a machine wrote"]
    broken = LOST["a text that does not end"]
    folder = web(tmp_path / "web", {"lib/d3.min.js": minified, "lib/broken.js": broken})
    answer = verdict(folder)
    assert [warning.path for warning in answer.warnings] == ["lib/broken.js"]
    # a chain may lead through it, and nobody sees whether it does
    indirect = LAYERS.replace("version: 1\n", "version: 1\nindirect: forbid\n")
    through = {MANIFEST: indirect, "lib/d3.min.js": minified}
    (warning,) = verdict(web(tmp_path / "through", through)).warnings
    assert warning.path == "lib/d3.min.js"
    inside = verdict(web(tmp_path / "inside", {"web/core/d3.min.js": minified}))
    assert [(one.path, one.message) for one in inside.problems] == [
        ("web/core/d3.min.js", "is minified, so it was not read.")
    ]


def test_a_file_with_a_syntax_error_is_judged_where_no_import_can_be_missing(
    tmp_path: Path,
) -> None:
    source = (
        "import '../ui/old';\nconst x = 1 +;\n// import 'b'\nconst y = 'require (z)';\n"
        "export default function (): { a: number };\nArray.from('a');\n"
    )
    answer = verdict(web(tmp_path / "web", {ORDER: source}))
    assert [violation.imported for violation in answer.violations] == ["web/ui/old.js"]
    (warning,) = answer.warnings
    assert (warning.path, warning.line, answer.problems) == (ORDER, 2, ())
    assert "with all its imports" in warning.message


def test_an_alias_that_nothing_explains_is_a_warning(tmp_path: Path) -> None:
    source = (
        "import '#ui/old';\nimport '#ui/theme';\nimport '~/x';\nimport '@acme/ui';\nimport 'x';\n"
    )
    folder = web(tmp_path / "web", {".kl/config.yaml": "version: 1\n", ORDER: source})
    for _ in range(2):  # the second time from the cache
        warnings = verdict(folder).warnings
        assert [(warning.path, warning.line) for warning in warnings] == [(ORDER, 1), (ORDER, 3)]
        assert '2 imports by "#ui/", this the first, lead nowhere' in warnings[0].message
    write(folder, {ORDER: "import '~/x';\n"})
    (warning,) = verdict(folder).warnings
    assert warning.message.startswith('1 import by "~/", this the first, leads nowhere')


def test_configuration_that_is_no_syntax_is_a_warning(tmp_path: Path) -> None:
    folder = web(tmp_path / "web", {"web/tsconfig.json": "{"})
    (warning,) = verdict(folder).warnings
    assert warning.path == "web/tsconfig.json"


def test_a_folder_of_a_layer_that_was_moved_is_an_error(tmp_path: Path) -> None:
    layers = LAYERS.replace("web/core/, src/shop/core/", "web/core/")
    folder = web(tmp_path / "web", {MANIFEST: layers})
    sh(folder, "mv", "web/core", "web/model")
    (problem,) = verdict(folder).emptied
    assert "web/model/" in str(problem)


def test_a_moved_folder_has_its_new_name_in_rules_and_baseline(tmp_path: Path) -> None:
    layers = LAYERS.replace("web/core/, src/shop/core/", "web/core/")
    exceptions = f"exceptions:\n  - {{from: {ORDER}, to: web/ui/old.js}}\n"
    files = {
        MANIFEST: layers + exceptions,
        ORDER: "import '../ui/old';\nimport '../ui/theme';\nexport const total = () => 1;\n",
    }
    folder = web(tmp_path / "web", files)
    assert run(folder, "arch", "baseline", "write")[0] == 0
    code, output = run(folder, "arch", "mv", "web/core", "web/model", "--imports")
    assert code == 0 and "1 path, 1 name, 1 baseline entry changed in 2 files" in output
    for place in (f"{ORDER}:1", f"{ORDER}:2", "web/ui/button.tsx:1"):
        assert f"{place}: not changed: imports of Python alone are rewritten" in output
    sh(folder, "mv", "web/core", "web/model")
    write(folder, {"web/ui/button.tsx": "import { total } from '../model/order';\n"})
    assert verdict(folder).clean


@pytest.mark.usefixtures("without_the_extra")
def test_without_the_extra_a_layer_with_such_files_can_not_be_checked(tmp_path: Path) -> None:
    folder = web(tmp_path / "web")
    with pytest.raises(ManifestProblems) as caught:
        run_check(opened(folder), STAGED)
    assert [problem.line for problem in caught.value.problems] == [5, 8]
    code, output = run(folder, "arch", "check", "--staged")
    assert code == 2
    assert "pip install 'kl-hooks[languages]'" in output and "clean" not in output


@pytest.mark.usefixtures("without_the_extra")
def test_without_the_extra_python_alone_is_checked_where_the_rules_name_it(tmp_path: Path) -> None:
    folder = web(tmp_path / "web", {MANIFEST: f"{LAYERS}language: python\n"})
    answer = verdict(folder)
    assert (answer.clean, answer.files) == (False, 2)
    assert [problem.path for problem in answer.emptied] == [MANIFEST, MANIFEST]


@pytest.mark.usefixtures("without_the_extra")
def test_without_the_extra_files_in_no_layer_keep_nothing_from_being_checked(
    tmp_path: Path,
) -> None:
    layers = LAYERS.replace("web/core/, ", "").replace("web/ui/, ", "")
    answer = verdict(web(tmp_path / "web", {MANIFEST: layers}))
    assert (answer.clean, answer.files) == (True, 2)


def test_one_language_is_checked_where_the_rules_name_it(tmp_path: Path) -> None:
    layers = LAYERS.replace("web/core/", "web/").replace("web/ui/", "web/ui/old.js")
    folder = web(tmp_path / "web", {MANIFEST: f"{layers}language: python\n"})
    write(folder, {"src/shop/core/new.py": "import shop.api\n", ORDER: "import '../ui/old';\n"})
    assert crossings(folder) == ["src/shop/core/new.py:1 shop.api"]
    write(folder, {MANIFEST: f"{layers}language: typescript\n"})
    assert crossings(folder) == [f"{ORDER}:1 web/ui/old.js"]


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("conftest@tests/a/conftest.py", "conftest"),
        ("packages/@acme/ui.ts", "packages/@acme/ui.ts"),
        ("@acme/ui.ts", "@acme/ui.ts"),
        ("shop.core", "shop.core"),
    ],
)
def test_a_module_that_is_named_by_its_path_keeps_its_name(module: str, name: str) -> None:
    assert plain_name(module) == name
