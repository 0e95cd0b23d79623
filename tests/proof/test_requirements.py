"""Requirements of two contents are compared by what they allow, in every form that states them."""

from __future__ import annotations

import json

import pytest

from kl_hooks.proof.requirements import (
    entries_of,
    install_options,
    is_dependency_file,
    requirement_changes,
    states_versions,
)

MARKERS = {"python_version": "3.13", "sys_platform": "linux", "platform_system": "Linux"}


def reasons(path: str, before: str, now: str, **versions: str) -> list[str]:
    """Why these recorded versions do not fit, and what of the file can't be compared."""
    old, new = ({path: text.encode()} for text in (before, now))
    changes, why = requirement_changes([path], old.get, new.get)
    found = [one.unmet(versions[one.name], MARKERS) for one in changes if one.name in versions]
    return [*filter(None, found), *why]


@pytest.mark.parametrize(
    ("path", "before", "now"),
    [
        ("requirements.txt", "dep==1.0", "dep==2.0"),
        ("requirements/base.txt", "dep", "other\ndep == 2.0 --hash=sha256:00 \\\n --hash=sha256:1"),
        ("a/dev-requirements.in", "dep==1.0", "Dep==2.0 # newer"),
        ("constraints.txt", "", "dep==2.0"),
        ("pins/dev.txt", "dep==1.0\n", "dep==2.0\n"),
        ("tools.in", "# ours\n-r base.txt\nother\n", "dep == 2.0 ; python_version > '3'\n"),
        ("deps", "dep\n", "dep==2.0 # newer\nother\n"),
        (
            "uv.lock",
            '[[package]]\nname="dep"\nversion="1.0"',
            '[[package]]\nname="dep"\nversion="2.0"',
        ),
        ("poetry.lock", "", '[[package]]\nname="dep"\nversion="2.0"'),
        ("pylock.toml", "", '[[packages]]\nname="dep"\nversion="2.0"'),
        ("Pipfile", "", '[packages]\ndep="==2.0"'),
        ("Pipfile.lock", "{}", json.dumps({"default": {"dep": {"version": "==2.0"}}})),
        ("pyproject.toml", "", '[project]\ndependencies=["dep==2.0"]'),
        ("pyproject.toml", "", '[dependency-groups]\ntest=["dep==2.0"]'),
        ("pyproject.toml", "", '[project.optional-dependencies]\nx=["dep==2.0"]'),
        ("pyproject.toml", "", '[tool.poetry.group.x.dependencies]\ndep="2.0"'),
        ("setup.cfg", "", "[options]\ninstall_requires =\n  other\n  dep==2.0"),
        ("setup.cfg", "", "[options.extras_require]\nx =\n  dep==2.0"),
    ],
)
def test_a_version_that_is_excluded_is_named(path: str, before: str, now: str) -> None:
    assert reasons(path, before, now, dep="1.0") == [f"dep 1.0 → 2.0 is required ({path})"]
    assert reasons(path, before, now, dep="2.0") == []
    assert reasons(path, before, now, unreached="1.0") == []


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("dep==1.0", "dep>=1.0,<2  # looser"),
        ("dep", "dep==2.0; sys_platform == 'win32'\ndep"),
        ("dep==1.0\nother", "other\ndep==1.0 --hash=sha256:00"),
        # the environment of the run did not follow this line
        ("dep==0.9", "dep==0.8"),
        ("-e .\ndep", "-e .[test]\ndep"),
    ],
)
def test_what_allows_the_version_is_no_reason(before: str, now: str) -> None:
    assert reasons("requirements.txt", before, now, dep="1.0") == []


@pytest.mark.parametrize(
    ("now", "why"),
    [
        ("dep>=2", "dep 1.0 → >=2 is required (requirements.txt)"),
        ("", "dep is not required any more (requirements.txt)"),
        ("dep @ https://example.org/dep.tar.gz", "dep is required from another source"),
        ("-e git+https://example.org/d#egg=dep", "dep is required from another source"),
        ("dep\n--index-url https://example.org", "installs besides named packages"),
        ("dep\n./wheels/other.whl", "installs besides named packages"),
        ("dep==1.0|2", "installs besides named packages"),
    ],
)
def test_what_is_not_known_to_fit_is_a_reason(now: str, why: str) -> None:
    assert why in " ".join(reasons("requirements.txt", "dep", now, dep="1.0"))


def test_files_include_each_other() -> None:
    files = {
        "requirements/all.txt": b"-r base.txt\n--constraint=../limits.txt\n",
        "requirements/base.txt": b"dep\n",
        "limits.txt": b"dep<2\n",
        "requirements/loop.txt": b"-r loop.txt\n",
    }
    found = [(one.name, one.specifier) for one in entries_of("requirements/all.txt", files.get)]
    assert found == [("dep", ""), ("dep", "<2")]
    loop = requirement_changes(["requirements/loop.txt"], {}.get, files.get)[1]
    assert "include each other" in loop[0]


def test_of_a_lock_one_version_is_enough() -> None:
    lock = '[[package]]\nname="dep"\nversion="1.0"\n[[package]]\nname="dep"\nversion="2.0"\n'
    assert reasons("uv.lock", "", lock, dep="1.0") == []
    assert reasons("uv.lock", "", lock, dep="3.0") == ["dep 3.0 → 1.0 is required (uv.lock)"]
    own = '[[package]]\nname="dep"\nversion="2.0"\nsource={editable="."}\n'
    assert reasons("uv.lock", "", own, dep="1.0") == []


@pytest.mark.parametrize(
    ("constraint", "specifier"),
    [
        ("^1.2", ">=1.2,<2"),
        ("^0.2.3", ">=0.2.3,<0.3"),
        ("~1.2", ">=1.2,<1.3"),
        ("1.2", "==1.2"),
        ("*", ""),
        (">=1,<3", ">=1,<3"),
    ],
)
def test_constraints_of_poetry(constraint: str, specifier: str) -> None:
    text = f'[tool.poetry.dependencies]\npython="^3.11"\ndep={{version="{constraint}"}}\n'
    (entry,) = entries_of("pyproject.toml", {"pyproject.toml": text.encode()}.get)
    assert entry.specifier == specifier


def test_which_files_are_there_for_dependencies() -> None:
    wanted = ["requirements.txt", "requirements/base.txt", "x/requirements-dev.in", "pdm.lock"]
    wanted += [
        "constraints-3.12.txt",
        "Pipfile",
        "setup.py",
        "a/environment.yml",
        "pylock.dev.toml",
    ]
    others = ["docs/a.txt", "app.py", "requirements.py", "README.md", "a/pyproject.toml"]
    assert [path for path in (*wanted, *others) if is_dependency_file(path)] == wanted
    assert (
        "other packages may be installed" in requirement_changes(["setup.py"], {}.get, {}.get)[1][0]
    )


def test_a_file_is_one_of_requirements_where_pip_takes_each_line_and_one_states_versions() -> None:
    takes = ["a==1", "a", "a[b]>=1,<2 ; python_version>'3'", "./lib", "git+https://x/y#egg=a"]
    takes += ["-r x.txt", "--constraint=x.txt", "-e .", "--pre", "a==1 \\\n --hash=sha256:0"]
    assert states_versions("\n".join(takes).encode())
    for line in ("a == 1", "a @ https://x/a.whl", "../lib", "https://x/a.whl", "-c x.txt"):
        assert states_versions(f"# one\n\n{line}  # why\nb\n".encode()), line
    others = ["apple\npear\n", "--pre\na\n", "A=1\n", "a==1\nSome words.\n", "- a==1\n", "-r\n"]
    others += [
        "a==1\n--verbose\n",
        "[tool]\na = '1'\n",
        '{"a": "==1"}',
        "a,b\n1,2\n",
        "x: a==1\n",
        "",
    ]
    for text in others:
        assert not states_versions(text.encode()), text
    assert not states_versions(None) and not states_versions(b"a==1\n\xff\n")


@pytest.mark.parametrize(
    ("name", "text", "requirement", "option"),
    [
        ("pyproject.toml", '[project]\ndependencies=["a"]\nscripts={x="s"}', '"a"', '"s"'),
        ("pyproject.toml", '[tool.hatch.envs.x]\ndependencies=["a"]\ntype="s"', '"a"', '"s"'),
        ("pyproject.toml", '[tool.poetry]\npackages="s"\ndependencies.a="1"', '"1"', '"s"'),
        ("setup.cfg", "[options]\ninstall_requires = a\npackages = s", "= a", "= s"),
    ],
)
def test_the_rest_of_project_files_is_compared_without_requirements(
    name: str, text: str, requirement: str, option: str
) -> None:
    same = install_options(name, text.encode())
    changed = [
        text.replace(old, old.replace(old.strip('"= '), "2")) for old in (requirement, option)
    ]
    assert install_options(name, changed[0].encode()) == same
    assert install_options(name, changed[1].encode()) != same


def test_a_requirement_that_moved_to_another_file_is_none_that_was_removed() -> None:
    old = {"requirements.txt": b"dep\n", "pyproject.toml": b""}
    new = {"requirements.txt": b"", "pyproject.toml": b'[project]\ndependencies=["dep"]'}
    for paths in (["requirements.txt"], ["requirements.txt", "pyproject.toml"]):
        changes, _ = requirement_changes(paths, old.get, new.get)
        assert not any(change.unmet("1.0", MARKERS) for change in changes)
