"""Installed distributions as a run recorded them: versions, which files of the repository import
them, and what an interpreter executes when it starts.

A distribution is known by the folder of its metadata, `<name>-<version>.dist-info` (Binary
distribution format, PyPA): one listing of a site-packages folder has them all, where parsing
metadata costs a hundred times as much. What belongs to no distribution, such as a module on
`PYTHONPATH`, has its path as its name and a digest as its version.
"""

# A Path would look functions up in `os`, which a suite may have replaced.
# ruff: noqa: PTH110, PTH112, PTH116, PTH118, PTH119, PTH208

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from io import FileIO
from os import listdir as _listdir
from os import stat as _stat
from os import uname as _uname
from os import walk as _walk
from os.path import basename, exists, isdir, join
from typing import Any, Final

from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.receipt import Receipt
from kl_hooks.store.redaction import redact

DISTRIBUTIONS: Final = "distributions"
"""The class of facts, and the key in the environment of a receipt."""
OWN: Final = "kl-hooks"
"""Our own distribution, which is in every run and no part of what is tested."""
_SEVERAL: Final = "|"
"""Between the versions of a distribution that one folder has more than once."""
_START_UP: Final = ("sitecustomize.py", "usercustomize.py")
_METADATA: Final = (".dist-info", ".egg-info")
_PYTHON_TAG: Final = lazy_pattern(r"-py\d[\w.]*$")
"""At the end of the names of `.egg-info` folders (setuptools, The Internal Structure of Python
Eggs).
"""
_IMPLEMENTATIONS: Final = {"cpython": "CPython", "pypy": "PyPy"}
_SYSTEMS: Final = {"linux": "Linux", "darwin": "Darwin", "win32": "Windows"}
_CONTENTS: Final = 200
"""Files of a folder that are read for its digest; of more, sizes and times count."""
_MOST_FILES: Final = 20_000


_HEX: Final = "hex:"
"""How a path begins that is written as hexadecimal digits."""


def normalized(name: str) -> str:
    """The name by which installers compare (Names and normalization, PyPA)."""
    plain = name.replace("_", "-").replace(".", "-").lower()
    if "--" not in plain:
        return plain
    return re.sub(r"-+", "-", plain)


class Folder(NamedTuple):
    """What a site-packages folder lists."""

    path: str
    versions: Mapping[str, str]
    """Normalized name → version."""
    metadata: Mapping[str, str]
    """Normalized name → the folder of its metadata."""
    modules: frozenset[str]
    """First parts of names that can be imported from it."""
    start: tuple[str, ...]
    """Files that an interpreter may execute when it starts: `.pth`, `sitecustomize.py`."""


def read_folder(path: str) -> Folder:
    """List a folder. OSError where it can't be."""
    versions: dict[str, str] = {}
    metadata: dict[str, str] = {}
    modules = set()
    start = []
    for name in _listdir(path):
        stem, dot, ending = name.partition(".")
        if name.endswith(_METADATA):
            distribution, version = _name_and_version(name)
            key = normalized(distribution)
            if key in versions:
                both_versions = {version, *versions[key].split(_SEVERAL)}
            else:
                both_versions = {version}
            versions[key] = _SEVERAL.join(sorted(both_versions))
            metadata[key] = name
        elif name.endswith(".pth") or name in _START_UP:
            start.append(name)
        elif not dot or ending.endswith(("py", "so", "pyd")):
            modules.add(stem)
    return Folder(path, versions, metadata, frozenset(modules), tuple(sorted(start)))


def _name_and_version(folder: str) -> tuple[str, str]:
    """Of `PyYAML-6.0.2.dist-info`, `zope.event-5.0-py3.12.egg-info`; no version in
    `shop.egg-info`.
    """
    stem = folder.removesuffix(".dist-info").removesuffix(".egg-info")
    if folder.endswith(".egg-info"):
        stem = _PYTHON_TAG.sub("", stem)
    name, dash, version = stem.partition("-")
    if dash:
        return (name, version)
    return (stem, "")


def machine() -> str:
    """16 digits that distinguish this machine, or container, from others: a folder of the same path
    on another one is not the folder of the run.
    """
    try:
        with FileIO("/etc/machine-id") as file:  # machine-id(5)
            name = file.read(64).strip()
    except OSError:
        name = b""
    return sha256(name or _uname().nodename.encode()).hexdigest()[:16]


def digest_of(path: str) -> str:
    """The digest of a file, of the archive that it is in, or of the source of a folder. OSError."""
    if not isdir(path):
        return _digest(_content(_file_of(path)))
    files = sorted(_source_of(path))
    rows = [f"{name}\0{_state(join(path, name), len(files))}" for name in files]
    return _digest("\n".join(rows).encode("utf-8", "surrogateescape"))


def _file_of(path: str) -> str:
    while not exists(path) and "/" in path[1:]:
        path = path.rpartition("/")[0]
    return path


def _source_of(top: str) -> Iterator[str]:
    number = 0
    for folder, _, names in _walk(top):
        for name in names:
            if name.endswith((".py", ".so", ".pyd")) and number < _MOST_FILES:
                number += 1
                yield join(folder, name)[len(top) + 1 :]


def _state(path: str, files: int) -> str:
    if files <= _CONTENTS:
        return _digest(_content(path))
    state = _stat(path)
    return f"{state.st_size} {state.st_mtime_ns}"


def _content(path: str) -> bytes:
    with FileIO(path) as file:
        return file.readall()


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()[:16]


def start_up(folder: Folder) -> dict[str, str]:
    """Path → digest of each file of a folder that an interpreter executes when it starts. A `.pth`
    file is one where it has a line of code (`site.addpackage`).
    """
    digest_of = {}
    for name in folder.start:
        path = join(folder.path, name)
        try:
            content = _content(path)
        except OSError:
            continue
        is_code = any(line.startswith((b"import ", b"import\t")) for line in content.splitlines())
        if is_code or not name.endswith(".pth"):
            digest_of[path] = _digest(content)
    return digest_of


# what a run recorded


class Uses(NamedTuple):
    """Which files of the repository import what, and what distributions require."""

    files: Mapping[str, tuple[str, ...]] = {}
    """Path → the distributions that it imports from."""
    missing: Mapping[str, tuple[str, ...]] = {}
    """Path → first parts of modules that it imports and that were not installed."""
    requires: Mapping[str, tuple[str, ...]] = {}
    """Distribution → those that it requires by its metadata, without extras."""
    installed: Mapping[str, str] = {}
    """Name → version of all that was installed, loaded or not: processes of tests may load it."""

    @classmethod
    def of(
        cls,
        outside: Mapping[str, Iterable[str]],
        owners: Mapping[str, str],
        folders: Sequence[Folder],
        requires: Mapping[str, tuple[str, ...]],
        installed: Mapping[str, str],
    ) -> Uses:
        """Which distributions files import from. `outside`: path → names that it imports, and that
        the repository does not define; `owners`: module → distribution, of what was loaded;
        `installed`: name → version of all that is installed.
        """
        files: dict[str, tuple[str, ...]] = {}
        missing: dict[str, tuple[str, ...]] = {}
        here = {name for folder in folders for name in folder.modules}
        loaded = {module.partition(".")[0] for module in owners}
        for path, names in outside.items():
            owned = {owner for name in names if (owner := _module_owner(name, owners))}
            tops = {name.partition(".")[0] for name in names}
            files[path] = tuple(sorted(owned))
            missing[path] = tuple(sorted(tops - here - loaded))
        return cls(
            {path: names for path, names in files.items() if names},
            {path: names for path, names in missing.items() if names},
            {name: names for name, names in requires.items() if names},
            installed,
        )

    def to_dict(self) -> dict[str, Any]:
        """As in the file of executed symbols."""
        parts = {"files": self.files, "missing": self.missing, "requires": self.requires}
        plain: dict[str, Any] = {
            key: {name: list(names) for name, names in sorted(part.items()) if names}
            for key, part in parts.items()
        }
        return {**plain, "installed": dict(sorted(self.installed.items()))}

    @classmethod
    def from_dict(cls, plain: Any) -> Uses:
        """The inverse. TypeError, KeyError or AttributeError for anything else."""
        files, missing, requires = (
            {str(name): tuple(map(str, names)) for name, names in plain[key].items()}
            for key in ("files", "missing", "requires")
        )
        installed = {str(name): str(version) for name, version in plain["installed"].items()}
        return cls(files, missing, requires, installed)

    def required(self, names: Iterable[str]) -> frozenset[str]:
        """These distributions, and those that they require."""
        reached = set(names)
        waiting = list(names)
        while waiting:
            new = [name for name in self.requires.get(waiting.pop(), ()) if name not in reached]
            reached.update(new)
            waiting += new
        return frozenset(reached)


class Distributions(NamedTuple):
    """What a run recorded of what is installed."""

    versions: Mapping[str, str]
    """Name → version, of distributions of which a module was imported. A path → the digest of a
    module that belongs to none.
    """
    folders: tuple[str, ...] = ()
    """Site-packages folders, in the order of `sys.path`."""
    machine: str = ""
    start: Mapping[str, str] = {}
    """Path → digest of what the interpreter executed when it started."""
    plugins: frozenset[str] = frozenset()
    """Distributions of pytest's plugins."""
    own: frozenset[str] | None = None
    """Distributions that are the repository itself, or kl; None where an earlier kl recorded it."""
    markers: Mapping[str, str] = {}
    """Environment markers of the run (Dependency specifiers, PyPA), as far as they are known."""

    @classmethod
    def of(cls, receipt: Receipt) -> Distributions | None:
        """Those of a run; None where it recorded none."""
        plain = receipt.environment.get(DISTRIBUTIONS)
        if not isinstance(plain, Mapping) or not isinstance(plain.get("versions"), list | tuple):
            return None
        folders = plain.get("folders")
        plugins = receipt.environment.get("plugins")
        own = plain.get("own")
        return cls(
            _pairs(plain["versions"]),
            tuple(map(_read_name, folders)) if isinstance(folders, list | tuple) else (),
            str(plain.get("machine") or ""),
            _pairs(plain.get("start")),
            frozenset(map(normalized, plugins)) if isinstance(plugins, Mapping) else frozenset(),
            frozenset(map(str, own)) if isinstance(own, list | tuple) else None,
            _markers(receipt.environment),
        )

    @staticmethod
    def split(version: str) -> list[str]:
        """The versions that a folder has of a distribution: mostly one."""
        return version.split(_SEVERAL)

    def public_dict(self) -> dict[str, Any]:
        """As in a receipt that leaves this machine: names and versions, no path."""
        names = {name: version for name, version in self.versions.items() if name[:1] != "/"}
        return {"versions": _lines(names)}

    def to_dict(self) -> dict[str, Any]:
        """As in a receipt; `plugins` are in another key of its environment."""
        return {
            "versions": _lines(self.versions),
            "folders": list(map(_written_name, self.folders)),
            "machine": self.machine,
            "start": _lines(self.start),
            **({} if self.own is None else {"own": sorted(self.own)}),
        }


def _lines(pairs: Mapping[str, str]) -> list[str]:
    """`5.3.0 cachetools`, by name. The value first: after a word such as `secretstorage` or
    `token.pth` redaction takes it for a secret.
    """
    return [f"{value} {_written_name(name)}" for name, value in sorted(pairs.items())]


def _pairs(lines: Any) -> dict[str, str]:
    """The inverse; what is no text of two parts has an empty value."""
    pairs: dict[str, str] = {}
    for line in lines if isinstance(lines, list | tuple) else ():
        value, _, name = str(line).partition(" ")  # a path may have blanks
        pairs[_read_name(name)] = value
    return pairs


def _written_name(name: str) -> str:
    """A path in which redaction would take a part for a secret, such as the digest of uv's cache,
    as hexadecimal digits: without it nothing could be compared. It does not leave this machine
    (`public_dict`).
    """
    if not name.startswith("/") or redact(name) == name:
        return name
    return f"{_HEX}{name.encode('utf-8', 'surrogateescape').hex()}"


def _read_name(written: object) -> str:
    """The inverse."""
    name = str(written)
    if not name.startswith(_HEX):
        return name
    with suppress(ValueError):
        return bytes.fromhex(name.removeprefix(_HEX)).decode("utf-8", "surrogateescape")
    return name


def _markers(environment: Mapping[str, Any]) -> dict[str, str]:
    version, platform = (str(environment.get(key) or "") for key in ("python", "platform"))
    system, _, processor = platform.partition("-")
    if not version or not system:
        return {}
    implementation = str(environment.get("implementation") or "")
    return {
        "python_version": ".".join(version.split(".")[:2]),
        "python_full_version": version,
        "implementation_version": version,
        "implementation_name": implementation,
        "platform_python_implementation": _IMPLEMENTATIONS.get(implementation, implementation),
        "sys_platform": system,
        "platform_system": _SYSTEMS.get(system, system),
        "platform_machine": processor,
        "os_name": "nt" if system == "win32" else "posix",
    }


def change_words(name: str, before: str, after: str) -> str:
    """`docutils 0.20 → 0.21`; of a file `helpers.py (/srv/lib/helpers.py)`."""
    if name.startswith("/"):
        return f"{basename(name)} ({name})"
    return f"{name} {before} → {after}"


def _module_owner(name: str, owners: Mapping[str, str]) -> str:
    """The distribution of a dotted name, by the longest of its parents that is known; empty for
    none.
    """
    while name and name not in owners:
        name = name.rpartition(".")[0]
    return owners.get(name, "")
