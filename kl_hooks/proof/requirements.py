"""What a content requires to be installed, and which change of it a run does not satisfy.

Requirement files, project files and lock files are read to entries: a distribution, the versions
that are allowed, and where it comes from. Two contents are compared by entries, so that a line
moved to another place, a comment or a hash is no change. Requirements are parsed by `packaging`,
the library of PyPA.
"""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from posixpath import dirname, join, normpath
from typing import Any, Final

from kl_hooks.evidence.distributions import Distributions, normalized
from kl_hooks.model.definitions import NamedTuple, lazy_pattern

_REQUIREMENTS: Final = lazy_pattern(
    r"(?i)(?:.*/)?(?:[^/]*requirements[^/]*(?:/.*)?|[^/]*constraints[^/]*)\.(?:txt|in)"
)
"""The usual names of requirement files. They have no fixed one (pip, Requirements File Format): a
file with another name is one by what is in it, and one with such a name whatever is in it.
"""
_LOCKS: Final = lazy_pattern(r"(?:.*/)?(?:(?:uv|poetry|pdm)\.lock|pylock(?:\.[^/]+)?\.toml)")
_UNREAD: Final = lazy_pattern(
    r"(?i)(?:.*/)?(?:setup\.py|pixi\.lock|conda-lock\.ya?ml|environment\.ya?ml)"
)
"""Files that decide what is installed, in a form that is not read here."""
_PROJECT_FILES: Final = ("pyproject.toml", "setup.cfg")
_USUAL_FILES: Final = (*_PROJECT_FILES, "requirements.txt")
"""Files at the top that may have a requirement which another file has no more."""
_UNREADABLE: Final = (ValueError, TypeError, AttributeError, KeyError, RecursionError)
"""What a file of another form makes its reader raise; syntax errors of TOML, JSON and text are
ValueErrors, and `configparser.Error` is raised as one.
"""
_COMMENT: Final = lazy_pattern(r"(^|\s+)#.*$")
"""As pip has it (pip, `req_file.COMMENT_RE`): a `#` inside a URL is none."""
_INCLUDES: Final = ("-r", "--requirement", "-c", "--constraint")
_EDITABLES: Final = ("-e", "--editable")
_OPTIONS: Final = frozenset(
    {
        *("-i", "--index-url", "--extra-index-url", "--no-index", "-f", "--find-links"),
        *("--no-binary", "--only-binary", "--prefer-binary", "--require-hashes", "--pre"),
        *("--trusted-host", "--use-feature"),
    }
)
"""Other options that a line of a requirement file may be (pip, Supported options)."""
_PATHS: Final = ("./", "../", "/")
_VERSION_SIGNS: Final = frozenset(b"=<>~@/-")
"""Of these a line has one that states a version, a URL, a path or an option."""
_LARGEST: Final = 4 * 1024 * 1024
_DEEPEST: Final = 20
"""Files that include each other."""
_CARET: Final = lazy_pattern(r"\^\s*(\d+(?:\.\d+)*)")
_TILDE: Final = lazy_pattern(r"~\s*(\d+(?:\.\d+)*)")

_ReadFile = Callable[[str], bytes | None]
"""A path from the top of the repository → its content."""


class Entry(NamedTuple):
    """One requirement."""

    name: str
    """Normalized; empty for an option, or a path without a name."""
    specifier: str = ""
    """`>=1,<2`; empty: any version."""
    marker: str = ""
    source: str = ""
    """A URL or path to install from."""


class RequirementChange(NamedTuple):
    """A distribution that a file of two contents requires otherwise."""

    name: str
    path: str
    before: tuple[Entry, ...]
    now: tuple[Entry, ...]
    is_lock: bool = False
    """Whether one of the entries is what is installed; else all of them must be met."""

    def unmet(self, version: str, markers: Mapping[str, str]) -> str:
        """Why an environment that has this version of the distribution is not what a content
        requires now: `leafdep 1.0 → 2.0 is required (requirements.txt)`; empty where it may be.
        """
        before = [entry for entry in self.before if _applies(entry, markers)]
        now = [entry for entry in self.now if _applies(entry, markers)]
        if not now:
            if not before:
                return ""
            return f"{self.name} is not required any more ({self.path})"
        if {entry.source for entry in before} != {entry.source for entry in now} and before:
            return f"{self.name} is required from another source ({self.path})"
        # a file that the environment did not follow before states nothing about it now
        if before and not _allow(before, version, self.is_lock):
            return ""
        if _allow(now, version, self.is_lock):
            return ""
        wanted = next(entry.specifier for entry in now if not _allow([entry], version, False))
        exact = wanted.removeprefix("==")
        if wanted == f"=={exact}" and "," not in exact:
            required = exact
        else:
            required = wanted
        return f"{self.name} {version} → {required} is required ({self.path})"


def is_dependency_file(path: str) -> bool:
    """Whether a file of this path is there to state what is installed; project files may, too."""
    names = ("Pipfile", "Pipfile.lock")
    patterns = (_REQUIREMENTS, _LOCKS, _UNREAD)
    return path.rpartition("/")[2] in names or any(pattern.fullmatch(path) for pattern in patterns)


def states_versions(content: bytes | None) -> bool:
    """Whether pip would take a file as one of requirements, and it states versions: each line is a
    requirement, a path, a URL or an option, and one of them has versions or a source.
    """
    if not content or len(content) > _LARGEST or _VERSION_SIGNS.isdisjoint(content):
        return False
    try:
        lines = list(_lines(content))
    except UnicodeDecodeError:
        return False
    states = False
    for line in lines:
        is_exact = _states_version(line)
        if is_exact is None:
            return False
        states = states or is_exact
    return states


def _states_version(line: str) -> bool | None:
    """Whether a line of a requirement file states versions or a source; None: it is no line
    of such a file.
    """
    from packaging.requirements import InvalidRequirement, Requirement

    option, value = _option(line)
    if option in _INCLUDES or option in _EDITABLES:
        if value:
            return True
        return None
    if line.startswith("-"):
        if option in _OPTIONS:
            return False
        return None
    wanted = line.partition(" --")[0].strip()
    try:
        requirement = Requirement(wanted)
    except InvalidRequirement:
        if "://" in wanted or wanted.startswith(_PATHS):
            return True
        return None
    return bool(requirement.specifier or requirement.url)


def requirement_changes(
    paths: Iterable[str], before: _ReadFile, now: _ReadFile
) -> tuple[list[RequirementChange], list[str]]:
    """How the files among these that state what is installed differ between two contents, and why
    not all of that can be judged.
    """
    changes: list[RequirementChange] = []
    reasons = []
    for path in paths:
        if (
            is_dependency_file(path)
            or path.rpartition("/")[2] in _PROJECT_FILES
            or states_versions(before(path))
            or states_versions(now(path))
        ):
            of_file, why = _changes_of_file(path, before, now)
            changes += of_file
            if why:
                reasons += [why]
    # a requirement that another file has was moved
    elsewhere = {change.name for change in changes if change.now}
    if any(not change.now and change.name not in elsewhere for change in changes):
        for path in _USUAL_FILES:
            with suppress(*_UNREADABLE):
                elsewhere |= {entry.name for entry in entries_of(path, now)}
    return [change for change in changes if change.now or change.name not in elsewhere], reasons


def _changes_of_file(
    path: str, before: _ReadFile, now: _ReadFile
) -> tuple[list[RequirementChange], str]:
    """How a file's requirements differ between two contents, and why not all of that can be
    judged; empty: it can.
    """
    if _UNREAD.fullmatch(path):
        return [], f"{path} changed: other packages may be installed"
    try:
        old, new = (list(entries_of(path, read)) for read in (before, now))
    except _UNREADABLE as problem:
        return [], f"{path} can't be read ({str(problem) or type(problem).__name__})"
    is_lock = bool(_LOCKS.fullmatch(path)) or path.endswith("Pipfile.lock")
    changes = []
    for name in sorted({entry.name for entry in (*old, *new)}):
        pair = [
            tuple(sorted({entry for entry in entries if entry.name == name}))
            for entries in (old, new)
        ]
        if pair[0] != pair[1]:
            changes.append(RequirementChange(name, path, pair[0], pair[1], is_lock))
    if any(not change.name for change in changes):
        why = f"{path} changed: what it installs besides named packages can't be compared"
        return [change for change in changes if change.name], why
    return changes, ""


def entries_of(path: str, read: _ReadFile) -> Iterator[Entry]:
    """The requirements in a file; none where it is not there. ValueError and others for one that
    can't be read.
    """
    content = read(path)
    name = path.rpartition("/")[2]
    if content is None:
        return iter(())
    if name == "pyproject.toml":
        return _of_project(tomllib.loads(content.decode("utf-8-sig")))
    if name == "setup.cfg":
        return _of_setup(content.decode("utf-8-sig"))
    if name == "Pipfile":
        return _of_pipfile(tomllib.loads(content.decode("utf-8-sig")))
    if name == "Pipfile.lock":
        return _of_pipfile_lock(json.loads(content))
    if _LOCKS.fullmatch(path):
        return _of_lock(tomllib.loads(content.decode("utf-8-sig")))
    if _REQUIREMENTS.fullmatch(path) or states_versions(content):
        return _of_requirements(path, content, read, 0)
    return iter(())


# requirement files


def _of_requirements(path: str, content: bytes, read: _ReadFile, depth: int) -> Iterator[Entry]:
    for line in _lines(content):
        option, value = _option(line)
        if option in _INCLUDES:
            yield from _included(normpath(join(dirname(path), value)), read, depth)
        elif option in _EDITABLES:
            yield from _from_source(value)
        elif line.startswith("-"):
            yield Entry("", source=line)
        else:
            # what follows are options of one requirement, such as its hashes
            yield _requirement(line.partition(" --")[0].strip())


def _lines(content: bytes) -> Iterator[str]:
    """The lines of a requirement file that state something. UnicodeDecodeError."""
    text = content.decode("utf-8-sig").replace("\\\r\n", "").replace("\\\n", "")
    return filter(None, (_COMMENT.sub("", line).strip() for line in text.splitlines()))


def _option(line: str) -> tuple[str, str]:
    """The option that a line begins with, and its value: `-r base.txt`,
    `--requirement=base.txt`.
    """
    option, _, value = line.replace("=", " ", 1 if line.startswith("--") else 0).partition(" ")
    return option, value.strip()


def _included(path: str, read: _ReadFile, depth: int) -> Iterator[Entry]:
    if depth >= _DEEPEST:
        raise ValueError("its files include each other")
    content = read(path)
    if content is not None:
        yield from _of_requirements(path, content, read, depth + 1)


def _from_source(place: str) -> Iterator[Entry]:
    egg = re.search(r"[#&]egg=([A-Za-z0-9._-]+)", place)
    # a path is mostly that of the repository itself: what it installs is content
    if egg or "://" in place:
        yield Entry(normalized(egg[1]) if egg else "", source=place)


def _requirement(line: str) -> Entry:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        return next(_from_source(line), Entry("", source=line))
    marker = str(requirement.marker or "")
    return Entry(
        normalized(requirement.name), str(requirement.specifier), marker, requirement.url or ""
    )


def _requirements(lines: Iterable[Any]) -> Iterator[Entry]:
    # a table in a group includes another group (PEP 735)
    return (_requirement(line) for line in lines if isinstance(line, str) and line.strip())


# project files


def _of_project(document: Mapping[str, Any]) -> Iterator[Entry]:
    project = document.get("project", {})
    tools = document.get("tool", {})
    uv = tools.get("uv", {})
    poetry = tools.get("poetry", {})
    lists = [
        project.get("dependencies", ()),
        *project.get("optional-dependencies", {}).values(),
        *document.get("dependency-groups", {}).values(),
        document.get("build-system", {}).get("requires", ()),
        *(uv.get(key, ()) for key in _UV_LISTS),
        *tools.get("pdm", {}).get("dev-dependencies", {}).values(),
        *(
            environment.get(key, ())
            for environment in tools.get("hatch", {}).get("envs", {}).values()
            for key in _HATCH_LISTS
        ),
    ]
    yield from _requirements(chain.from_iterable(lists))
    groups = [poetry, *poetry.get("group", {}).values()]
    for group in groups:
        for key in _POETRY_TABLES:
            for name, value in group.get(key, {}).items():
                if name != "python":
                    yield from _of_poetry(name, value)


_UV_LISTS: Final = ("dev-dependencies", "constraint-dependencies", "override-dependencies")
_HATCH_LISTS: Final = ("dependencies", "extra-dependencies")
_POETRY_TABLES: Final = ("dependencies", "dev-dependencies")


def install_options(name: str, content: bytes) -> Any:
    """The parts of a project file that decide what is installed, but for its requirements.
    ValueError, configparser.Error.
    """
    text = content.decode("utf-8-sig")
    # names of metadata only: a version or a classifier changes no code that a test runs
    if name == "pyproject.toml":
        return _without_requirements(tomllib.loads(text))
    if name != "setup.cfg":
        return None
    return _setup_options(text)


def _without_requirements(document: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a `pyproject.toml` that decide what is installed, without its requirements."""
    project = document.get("project", {})
    tools = document.get("tool", {})
    hatch = dict(tools.get("hatch", {}))
    poetry = _without(tools.get("poetry", {}), _POETRY_TABLES)
    hatch["envs"] = {
        name: _without(environment, _HATCH_LISTS)
        for name, environment in hatch.get("envs", {}).items()
    }
    poetry["group"] = {
        name: _without(group, _POETRY_TABLES) for name, group in poetry.get("group", {}).items()
    }
    return {
        "project": {key: project.get(key) for key in _PROJECT},
        "tools": {name: tools.get(name) for name in ("setuptools", "flit", "pixi")},
        "hatch": hatch,
        "poetry": poetry,
        "uv": _without(tools.get("uv", {}), _UV_LISTS),
        "pdm": _without(tools.get("pdm", {}), ("dev-dependencies",)),
        "build-system": _without(document.get("build-system", {}), ("requires",)),
    }


_PROJECT: Final = ("requires-python", "entry-points", "scripts", "dynamic")


def _without(table: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}


def _of_poetry(name: str, value: Any) -> Iterator[Entry]:
    """A constraint of Poetry (its documentation, Dependency specification)."""
    if isinstance(value, list):
        for constraint in value:
            yield from _of_poetry(name, constraint)
        return
    if isinstance(value, Mapping):
        table = value
    else:
        table = {"version": value}
    source = {key: table[key] for key in ("git", "url", "path", "rev", "tag") if key in table}
    marker = str(table.get("markers") or "")
    specifier = _as_specifier(str(table.get("version") or "*"))
    if source:
        text = json.dumps(source, sort_keys=True)
    else:
        text = ""
    yield Entry(normalized(name), specifier, marker, text)


def _as_specifier(constraint: str) -> str:
    """`^1.2` → `>=1.2,<2`, `~1.2` → `>=1.2,<1.3`, `1.2` → `==1.2`."""
    if "|" in constraint:
        raise ValueError(f"{constraint!r} is an alternative")
    parts = []
    for part in filter(None, (part.strip() for part in constraint.split(","))):
        if part == "*":
            continue
        if match := _CARET.fullmatch(part):
            numbers = [int(number) for number in match[1].split(".")]
            place = next((at for at, number in enumerate(numbers) if number), len(numbers) - 1)
        elif match := _TILDE.fullmatch(part):
            numbers = [int(number) for number in match[1].split(".")]
            place = min(len(numbers) - 1, 1)
        else:
            parts.append(f"=={part}" if part[0].isdigit() else part)
            continue
        above = ".".join(map(str, [*numbers[:place], numbers[place] + 1]))
        parts.append(f">={match[1]},<{above}")
    return ",".join(parts)


_SETUP_LISTS: Final = ("install_requires", "setup_requires", "tests_require")
_SETUP_EXTRAS: Final = "options.extras_require"


def _of_setup(text: str) -> Iterator[Entry]:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text)
    except configparser.Error as problem:
        raise ValueError(str(problem)) from problem
    if parser.has_section("options"):
        options = dict(parser.items("options"))
    else:
        options = {}
    if parser.has_section(_SETUP_EXTRAS):
        extras = dict(parser.items(_SETUP_EXTRAS))
    else:
        extras = {}
    values = [options.get(key) for key in _SETUP_LISTS] + list(extras.values())
    for value in values:
        for line in (value or "").replace(";\n", "\n").splitlines():
            if line.strip() and not line.strip().startswith("#"):
                if line.strip().startswith("file:"):
                    continue  # that file is compared by itself
                yield _requirement(line.strip())


def _setup_options(text: str) -> dict[str, dict[str, str | None]]:
    """The sections of a `setup.cfg` that decide what is installed, without its requirements."""
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    parser.read_string(text)
    return {
        section: _without(dict(parser.items(section)), _SETUP_LISTS)
        for section in parser.sections()
        if section.startswith("options") and section != _SETUP_EXTRAS
    }


def _of_pipfile(document: Mapping[str, Any]) -> Iterator[Entry]:
    for section in ("packages", "dev-packages"):
        for name, value in document.get(section, {}).items():
            yield _of_pipenv(name, value)


def _of_pipfile_lock(document: Mapping[str, Any]) -> Iterator[Entry]:
    for section in ("default", "develop"):
        for name, value in document.get(section, {}).items():
            yield _of_pipenv(name, value)


def _of_pipenv(name: str, value: Any) -> Entry:
    if isinstance(value, Mapping):
        table = value
    else:
        table = {"version": value}
    version = str(table.get("version") or "*")
    source = {key: table[key] for key in ("git", "ref", "file", "path") if key in table}
    if source:
        text = json.dumps(source, sort_keys=True)
    else:
        text = ""
    return Entry(
        normalized(name), "" if version == "*" else version, str(table.get("markers") or ""), text
    )


# lock files


def _of_lock(document: Mapping[str, Any]) -> Iterator[Entry]:
    # `package` in uv.lock, poetry.lock and pdm.lock, `packages` in pylock.toml (PEP 751)
    for package in (*document.get("package", ()), *document.get("packages", ())):
        source = package.get("source") or {}
        places = ("editable", "virtual", "directory")
        is_local = source.get("type") == "directory" or any(place in source for place in places)
        if is_local or "directory" in package or package.get("path") or package.get("editable"):
            continue  # a project of the repository
        version = package.get("version")
        vcs = package.get("vcs") or {}
        revision = (
            source.get("resolved_reference")
            or source.get("git")
            or package.get("revision")
            or vcs.get("commit-id")
        )
        specifier = f"=={version}" if version else ""
        yield Entry(normalized(package["name"]), specifier, "", str(revision or ""))


# what a run satisfies


def _applies(entry: Entry, markers: Mapping[str, str]) -> bool:
    from packaging.markers import Marker

    if not entry.marker or not markers:
        return True
    try:
        return bool(Marker(entry.marker).evaluate({**markers, "extra": ""}))
    except Exception:  # a marker that can't be judged: the requirement counts
        return True


def _allow(entries: Sequence[Entry], version: str, is_lock: bool) -> bool:
    """Whether these entries allow a version; of a lock file one of them must."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        versions = [Version(text) for text in Distributions.split(version)]
        allowed = [
            all(
                SpecifierSet(entry.specifier).contains(installed, prereleases=True)
                for installed in versions
            )
            for entry in entries
        ]
    except (InvalidVersion, InvalidSpecifier):
        return False
    if is_lock:
        return any(allowed)
    return all(allowed)
