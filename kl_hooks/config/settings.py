"""Settings: what this user and this repository want, merged so that a repository can tighten but
not loosen.

From lowest to highest precedence: the defaults; `.kl/config.yaml` of the repository;
`kl/config.yaml` in the user's configuration folder; `git config kl.…` (of this clone or user:
cloning does not copy it). The numbers of upkeep have a file of their own,
`.kl/knowledge/lifecycle.yaml`: a wrong one is reported, and its default is used; a command that is
about to change something refuses instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.config.compile_cache import load_compiled
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.lifecycle import LIFECYCLE_FILE, Lifecycle
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.config.yaml import Node, NodeReader

MOST_DAYS = 36_500
"""Of any number of days in that file."""


SETTINGS_FILE: Final = ".kl/config.yaml"
POLICY_FILE: Final = ".kl/policy.yaml"
_SETTINGS_KEYS: Final = (
    "version",
    "plugins",
    "verified_requires",
    "budget",
    "reviewers",
    "memory_top_k",
    "memory_auto_extract",
    "significance",
    "docs",
    "maintain",
    "verify",
    "documents",
    "redis",
    "drift_alert",
    "context_cache",
    "context_weights",
    "source_weights",
    "embedder",
    "trusted_agents",
)
_STRENGTHS: Final = ("independent", "classes")
"""What makes a claim verified, strict first: two independent observations, or two classes of
evidence.
"""
_MAINTAIN: Final = ("off", "daily")
"""Whether `kl maintain --due` is started behind other commands."""
_DRIFT_ALERT: Final = ("off", "on")
"""Whether hooks of agents warn where a long session repeats errors or prompts."""
_USERS_ONLY: Final = {
    "maintain": _MAINTAIN[0],
    "redis": "",
    "drift_alert": _DRIFT_ALERT[0],
    "embedder": "wordllama",
    "trusted_agents": [],
}
"""Setting that only a user's own configuration can set → its default."""
_LONGEST_URL: Final = 500
_WEIGHTS: Final = ("fixed", "learned")
"""`learned` is read and ignored: what this clone was given must not change a package."""
SOURCE_WEIGHTS: Final = (50, 150)
"""Least and most percent that a source of context packages may weigh."""
_SETTINGS_FORMAT: Final = "settings-14"
_LISTS: Final = ("plugins", "reviewers", "trusted_agents")
_WORDS: Final = {
    "version": ("1",),
    "verified_requires": _STRENGTHS,
    "maintain": _MAINTAIN,
    "drift_alert": _DRIFT_ALERT,
    "context_weights": _WEIGHTS,
}
_NUMBERS: Final = {
    "budget": (256, 1_000_000, 6000),
    "memory_top_k": (1, 100, 5),
    "significance": (0, 100, 40),
    "context_cache": (0, 3600, 300),
}
"""Setting → least, most, default."""
_LONGEST_GLOB: Final = 200
_VERIFY_MODES: Final = ("block", "advise")
"""What `kl verify` does where something is not proven: exit 1, or only print it."""
_REQUIRED: Final = ("proven", "ran", "inferred", "verified")
_ORIGINS: Final = ("any", "ci")
_LOOSER: Final[Mapping[str, Callable[[Any], int]]] = {
    "verified_requires": _STRENGTHS.index,
    "budget": int,
    "memory_top_k": int,
    "memory_auto_extract": int,
}
"""Setting → how loose a value of it is: a repository may only set what is no looser than the
user's.
"""


class PathPolicy(NamedTuple):
    """What `kl verify` asks for below a folder (`verify: paths:`)."""

    folder: str
    require: str
    """`proven`: each changed symbol, by a test that passed; or a tier of the whole content."""
    origin: str = "any"
    """`ci`: only runs of CI jobs count."""


class KnownFailure(NamedTuple):
    """A test that may fail for a while (`verify: known_failures:`)."""

    test: str
    """Node ID; without parameters it is all cases of the function."""
    reason: str
    until: str
    """The last day, YYYY-MM-DD (UTC)."""

    def covers(self, test: str) -> bool:
        """Whether it is this test, or the function of this case."""
        return self.test in (test, test.partition("[")[0])


class VerifyPolicy(NamedTuple):
    """The `verify:` part of one version of the repository's settings."""

    exclude: tuple[str, ...] = ()
    mode: str = ""
    """One of `_VERIFY_MODES`; empty where it is not set."""
    paths: tuple[PathPolicy, ...] = ()
    known_failures: tuple[KnownFailure, ...] = ()

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> VerifyPolicy:
        """From the compiled form."""
        paths = tuple(PathPolicy(*path) for path in plain.get("paths", ()))
        known_failures = tuple(
            KnownFailure(*failure) for failure in plain.get("known_failures", ())
        )
        return cls(
            tuple(plain.get("exclude", ())), str(plain.get("mode", "")), paths, known_failures
        )


STRATEGIES: Final = ("structure", "fixed", "sentence", "paragraph", "recursive", "semantic")
"""Ways to cut a document into chunks, the default first."""
CHUNK_SIZES: Final = (100, 20_000, 1500)
"""Least, most and default characters of a chunk. Most sections of projects' docs are shorter than
the default.
"""


class DocumentSettings(NamedTuple):
    """The `documents:` part of the settings: which files of the repository are documents, and how
    they are cut.
    """

    include: tuple[str, ...] = ()
    """Globs; empty: the usual places."""
    exclude: tuple[str, ...] = ()
    strategy: str = STRATEGIES[0]
    chunk_size: int = CHUNK_SIZES[2]
    chunk_overlap: int = 0


class Settings(NamedTuple):
    """The settings of this workspace."""

    plugins: tuple[str, ...] = ()
    """Installed plugins (entry point group `kl`) that the user asked for."""
    verified_requires: str = _STRENGTHS[0]
    budget: int = 6000
    """Of a context package, characters."""
    significance: int = 40
    """Percent from which an answered question is worth a decision record."""
    context_weights: str = _WEIGHTS[0]
    """One of `_WEIGHTS`, of which both mean the same."""
    source_weights: Mapping[str, int] = {}
    """Source of context packages → percent that it weighs, where that is not 100; only the
    repository's file sets it.
    """
    context_cache: int = 300
    """Seconds for which an equal request for a context package on equal content gets the same one;
    0: never.
    """
    docs: str = ""
    """The folder of the repository's own pages, from the root; empty: `docs`, if it is there."""
    reviewers: tuple[str, ...] = ()
    """Agents that may approve and reject memories, by the names that `KL_AGENT` gives them. People
    always may.
    """
    trusted_agents: tuple[str, ...] = ()
    """Agents that may approve the skills that they propose themselves; only a user's own."""
    memory_top_k: int = 5
    """Memories that an agent is given at once."""
    memory_auto_extract: bool = True
    """Whether patterns are mined without being asked for."""
    maintain: str = _MAINTAIN[0]
    """One of `_MAINTAIN`; only a user's own configuration can set it."""
    redis: str = ""
    """URL of the server that has working memory; empty: it is on this machine. Only a user's own.
    """
    drift_alert: str = _DRIFT_ALERT[0]
    """One of `_DRIFT_ALERT`; only a user's own."""
    embedder: str = "wordllama"
    """What turns texts into vectors, as `kl_hooks.index.embedders` reads it; only a user's
    configuration can set it.
    """
    verify_exclude: tuple[str, ...] = ()
    """Globs of files that are no tests although pytest's configuration names them (`verify:
    exclude:`).
    """
    verify: VerifyPolicy = VerifyPolicy()
    """All of `verify:`."""
    documents: DocumentSettings = DocumentSettings()
    warnings: tuple[Problem, ...] = ()
    """What was asked for and not done, with the reason."""
    unread: tuple[Problem, ...] = ()
    """Why the repository's own file gives no setting, where a recorder goes on without it."""


def load_settings(
    root: Path,
    git: Mapping[str, str],
    environ: Mapping[str, str],
    cache_dir: Path | None,
    *,
    lenient: bool = False,
) -> Settings:
    """The settings for the repository at `root`.

    `git`: the `kl.` part of git's configuration, without that prefix. `cache_dir`: where compiled
    forms may rest. Raises Problems with everything that is wrong in these files, UsageProblem for
    one that is no file. `lenient`: what is wrong in the repository's own file is in `unread`, and
    the file gives no setting.
    """
    problems: list[Problem] = []
    ignored: list[Problem] = []
    # where kl is not used, it leaves nothing
    if not (root / ".kl").is_dir():
        cache_dir = None
    checkout = _file(
        root / SETTINGS_FILE,
        SETTINGS_FILE,
        cache_dir,
        ignored if lenient else problems,
        within=root,
    )
    # without `within`: people link their own configuration into place, and nobody else writes it
    own = user_settings_file(environ)
    if own:
        user = _file(own, str(own), cache_dir, problems)
    else:
        user = {}
    user.update(_from_git(git, problems))
    if problems:
        raise Problems(problems)
    settings = merge_settings(checkout, user)
    return settings._replace(unread=tuple(ignored))


def user_settings_file(environ: Mapping[str, str]) -> Path | None:
    """Path of the user's own configuration; None where the environment names no home."""
    if environ.get("XDG_CONFIG_HOME", "").startswith("/"):
        return Path(environ["XDG_CONFIG_HOME"]) / "kl" / "config.yaml"
    if not environ.get("HOME"):
        return None
    return Path(environ["HOME"]) / ".config" / "kl" / "config.yaml"


def merge_settings(checkout: Mapping[str, Any], user: Mapping[str, Any]) -> Settings:
    """One setting of each; every value here is `[value, line, column]`. Pure."""
    chosen = {key: values[0] for key, values in user.items()}
    warnings = [
        problem
        for choose in (
            _allow_plugins,
            _shorten_reviewers,
            _refuse_users_keys,
            _choose_stricter,
            _fill_in_defaults,
            _ignore_learned_weights,
            _take_repository_keys,
        )
        for problem in choose(checkout, chosen)
    ]
    return Settings(warnings=tuple(warnings), **chosen)


def _refusal(checkout: Mapping[str, Any], key: str, message: str, hint: str) -> Problem:
    _, line, column = checkout[key]
    return Problem(SETTINGS_FILE, line, column, message, hint)


def _allow_plugins(checkout: Mapping[str, Any], chosen: dict[str, Any]) -> Iterator[Problem]:
    """Load what the user allows; report what only the repository names."""
    plugins = chosen["plugins"] = tuple(chosen.get("plugins", ()))
    for name in checkout["plugins"][0] if "plugins" in checkout else ():
        if name not in plugins:
            allowed = " ".join((*plugins, name))
            yield _refusal(
                checkout,
                "plugins",
                f'plugin "{name}" is asked for by the repository only; not loaded.',
                f"To allow it in this clone: git config kl.plugins '{allowed}'",
            )


def _shorten_reviewers(checkout: Mapping[str, Any], chosen: dict[str, Any]) -> Iterator[Problem]:
    """A repository may only shorten the user's list: it must not name who approves what this user's
    agents read.
    """
    users = chosen["reviewers"] = tuple(chosen.get("reviewers", ()))
    if "reviewers" not in checkout:
        return
    stated = checkout["reviewers"][0]
    chosen["reviewers"] = tuple(name for name in users if name in stated)
    for name in stated:
        if name not in users:
            allowed = " ".join((*users, name))
            yield _refusal(
                checkout,
                "reviewers",
                f'reviewer "{name}" is named by the repository only; it may not approve.',
                f"To let it review in this clone: git config kl.reviewers '{allowed}'",
            )


def _refuse_users_keys(checkout: Mapping[str, Any], chosen: dict[str, Any]) -> Iterator[Problem]:
    """A server that a repository names would be given what this user's agents store."""
    for key, default in _USERS_ONLY.items():
        if key in checkout and checkout[key][0] != chosen.get(key, default):
            asked = f"'{' '.join(checkout[key][0])}'" if key in _LISTS else checkout[key][0]
            yield _refusal(
                checkout,
                key,
                f'"{key}" is for a user to set, not for a repository; ignored.',
                f"To ask for it in this clone: git config kl.{key.replace('_', '-')} {asked}",
            )
    chosen["trusted_agents"] = tuple(chosen.get("trusted_agents", ()))


def _choose_stricter(checkout: Mapping[str, Any], chosen: dict[str, Any]) -> Iterator[Problem]:
    for key, looser in _LOOSER.items():
        if key not in checkout:
            continue
        if key not in chosen or looser(checkout[key][0]) <= looser(chosen[key]):
            chosen[key] = checkout[key][0]
        else:
            yield _refusal(
                checkout,
                key,
                f"{checkout[key][0]} is looser than your own setting; ignored.",
                f"Yours: {chosen[key]}.",
            )


def _fill_in_defaults(checkout: Mapping[str, Any], chosen: dict[str, Any]) -> Iterator[Problem]:
    """Of settings that loosen nothing, the repository's is the default of the user's."""
    for key in ("significance", "docs", "context_cache", "context_weights"):
        if key in checkout:
            chosen.setdefault(key, checkout[key][0])
    yield from ()


def _ignore_learned_weights(
    checkout: Mapping[str, Any], chosen: dict[str, Any]
) -> Iterator[Problem]:
    """Equal input gives an equal package, in every clone."""
    if chosen.get("context_weights") == _WEIGHTS[1]:
        is_repository = checkout.get("context_weights", [""])[0] == _WEIGHTS[1]
        _, line, column = checkout["context_weights"] if is_repository else ("", 0, 0)
        yield Problem(
            SETTINGS_FILE if is_repository else "your configuration",
            line,
            column,
            '"context_weights: learned" has no effect: packages would differ between clones.',
            f"Commit source_weights in {SETTINGS_FILE}: kl stats effect proposes them.",
        )


def _take_repository_keys(checkout: Mapping[str, Any], chosen: dict[str, Any]) -> Iterator[Problem]:
    """What a content's tests are is part of the content: kl verify reads it from there, or from
    --trust-ref. So are its documents, and what sources weigh: equal content gives equal packages.
    """
    for key in ("verify", "documents", "source_weights"):
        if chosen.pop(key, None) is not None:
            yield Problem(
                "your configuration",
                0,
                0,
                f'"{key}" is for a repository to set; ignored.',
                f"Write it in the repository's {SETTINGS_FILE}.",
            )
    if "verify" in checkout:
        stated = VerifyPolicy.of(checkout["verify"][0])
    else:
        stated = VerifyPolicy()
    chosen["verify"], chosen["verify_exclude"] = stated, stated.exclude
    if "source_weights" in checkout:
        chosen["source_weights"] = dict(checkout["source_weights"][0])
    if "documents" in checkout:
        include, exclude, *chunking = checkout["documents"][0]
        chosen["documents"] = DocumentSettings(tuple(include), tuple(exclude), *chunking)


def verify_exclude(name: str, text: bytes | None) -> tuple[str, ...]:
    """The globs of `verify: exclude:` in one version of the repository's settings.

    Raises Problems.
    """
    return verify_policy(name, text).exclude


def verify_policy(name: str, text: bytes | None, cache_dir: Path | None = None) -> VerifyPolicy:
    """`verify:` in one version of the repository's settings. Raises Problems. `cache_dir`: where
    compiled settings are, so that YAML is parsed once for each text.
    """
    if text:
        compiled = _compiled_settings(name, text, cache_dir)
    else:
        compiled = {}
    if "verify" not in compiled:
        return VerifyPolicy()
    return VerifyPolicy.of(compiled["verify"][0])


def _file(
    path: Path,
    name: str,
    cache_dir: Path | None,
    problems: list[Problem],
    within: Path | None = None,
) -> dict[str, Any]:
    """The settings that one file gives; adds to `problems` what is wrong with it."""
    text = read_small(path, within)
    if text is None:
        return {}
    try:
        plain = _compiled_settings(name, text, cache_dir)
    except Problems as wrong:
        problems.extend(wrong.problems)
        return {}
    return dict(plain)


def _is_settings(plain: Any) -> bool:
    """True for what `_compile_settings` gives; a compiled form is data from a file and looked at
    before it is used.
    """
    return isinstance(plain, dict) and all(
        key in _SETTINGS_KEYS
        and isinstance(entry, list)
        and len(entry) == 3
        and _fits(key, entry[0])
        for key, entry in plain.items()
    )


def _fits(key: str, value: Any) -> bool:
    if key in _LISTS:
        return isinstance(value, list) and all(isinstance(name, str) for name in value)
    if key == "verify":
        return isinstance(value, dict) and value.keys() == {*VerifyPolicy._fields}
    if key == "documents":
        kinds = (list, list, str, int, int)
        return isinstance(value, list) and [type(one) for one in value] == list(kinds)
    if key == "source_weights":
        return isinstance(value, dict) and all(type(weight) is int for weight in value.values())
    if key in ("docs", "redis", "embedder"):
        return isinstance(value, str)
    if key == "memory_auto_extract":
        return isinstance(value, bool)
    # not isinstance: a bool is an int, and `true` would pass for the number 1
    if key in _WORDS:
        return value in _WORDS[key]
    return type(value) is int


def _compiled_settings(name: str, text: bytes, cache_dir: Path | None) -> dict[str, Any]:
    """Those of one file, from the cache where it has them. Raises Problems."""
    plain = load_compiled(cache_dir, text, _SETTINGS_FORMAT, lambda: _compile_settings(name, text))
    return plain if _is_settings(plain) else _compile_settings(name, text)


def _compile_settings(name: str, text: bytes) -> dict[str, Any]:
    """Read one file of settings. Raises Problems."""
    from kl_hooks.config.yaml import NodeReader, load_yaml

    root, problems = load_yaml(name, text)
    reader = NodeReader(name, problems)
    if root:
        pairs = reader.keys(root, _SETTINGS_KEYS)
    else:
        pairs = {}
    values = {
        key: [_read_value(reader, key, node), node.line, node.column]
        for key, (_, node) in pairs.items()
    }
    if problems:
        raise Problems(problems)
    values.pop("version", None)
    return values


def _read_value(reader: NodeReader, key: str, node: Node) -> Any:
    what = f'"{key}"'
    if key in _LISTS:
        return [text.value for text in reader.texts(node, what)]
    if key in _WORDS:
        return reader.choice(node, what, _WORDS[key])
    if key in _NUMBERS:
        return reader.number(node, what, *_NUMBERS[key])
    if key == "memory_auto_extract":
        return reader.boolean(node, what, True)
    if key == "documents":
        return _documents(reader, node)
    if key == "source_weights":
        return _source_weights(reader, node)
    if key == "redis":
        return reader.text(node, what).strip()[:_LONGEST_URL]
    if key == "embedder":
        return _embedder(reader, node)
    if key == "verify":
        return _verify(reader, node)
    return _folder(reader, node)


def _documents(reader: NodeReader, node: Node) -> list[Any]:
    """What is below `documents`, in the order of `DocumentSettings`."""
    pairs = reader.keys(node, DocumentSettings._fields, ' in "documents"')
    values: list[Any] = list(map(list, DocumentSettings()[:2])) + list(DocumentSettings()[2:])
    for place, name in enumerate(DocumentSettings._fields):
        if name not in pairs:
            continue
        node_of_value = pairs[name][1]
        if place < 2:
            values[place] = _globs(reader, node_of_value, name)
        elif name == "strategy":
            values[place] = reader.choice(node_of_value, '"strategy"', STRATEGIES)
        else:
            if name == "chunk_size":
                bounds = CHUNK_SIZES
            else:
                bounds = (0, CHUNK_SIZES[1] // 2, 0)
            values[place] = reader.number(node_of_value, f'"{name}"', *bounds)
    return values


def _source_weights(reader: NodeReader, node: Node) -> dict[str, int]:
    """Source → percent. A source of a plugin may be missing here, so names are not checked."""
    from kl_hooks.config.yaml import MapNode

    if not isinstance(node, MapNode):
        reader.report(node, '"source_weights" must map sources to percent.', "Such as commits: 80.")
        return {}
    least, most = SOURCE_WEIGHTS
    return {
        name.value: reader.number(value, f'"{name.value}"', least, most, 100)
        for name, value in node.entries
    }


def _embedder(reader: NodeReader, node: Node) -> str:
    """The words of `embedder`, one space between them. A folder may have spaces in its name.

    What they name is checked where a model is needed: a wrong one is no reason to refuse every
    other command.
    """
    text = reader.text(node, '"embedder"').strip()
    return " ".join(text.split(maxsplit=1) if text.startswith("path ") else text.split())


def _verify(reader: NodeReader, node: Node) -> dict[str, Any]:
    """What is below `verify`."""
    pairs = reader.keys(node, VerifyPolicy._fields, ' in "verify"')
    known_failures = pairs.get("known_failures")
    return {
        "exclude": _globs(reader, pairs["exclude"][1]) if "exclude" in pairs else [],
        "mode": reader.choice(pairs["mode"][1], '"mode"', _VERIFY_MODES) if "mode" in pairs else "",
        "paths": _path_policies(reader, pairs["paths"][1]) if "paths" in pairs else [],
        "known_failures": _known_failures(reader, known_failures[1]) if known_failures else [],
    }


def _known_failures(reader: NodeReader, node: Node) -> list[list[str]]:
    """Test, reason and end of each entry of `known_failures`: all three are required."""
    failures = []
    for item in reader.items(node, '"known_failures"'):
        pairs = reader.keys(item, KnownFailure._fields, " in a known failure")
        missing = [key for key in KnownFailure._fields if key not in pairs]
        if missing:
            if pairs:
                reader.report(
                    item,
                    f'a known failure without "{missing[0]}".',
                    "It needs test, reason and until (YYYY-MM-DD).",
                )
            continue
        values = [reader.text(pairs[key][1], f'"{key}"') for key in KnownFailure._fields]
        if values[2] and not _is_day(values[2]):
            reader.report(
                pairs["until"][1],
                f'"until" is "{values[2]}", not a day.',
                "Write it as YYYY-MM-DD.",
            )
        failures.append(values)
    return failures


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _path_policies(reader: NodeReader, node: Node) -> list[list[str]]:
    """Folder, tier and origin of each entry of `paths`."""
    from kl_hooks.config.yaml import MapNode

    if not isinstance(node, MapNode):
        reader.report(
            node,
            '"paths" must map folders to what is required there.',
            "Such as payments/: {require: proven}.",
        )
        return []
    policies = []
    for key, value in node.entries:
        if key.value.startswith("/") or ".." in key.value.split("/"):
            reader.report(key, "must be a folder of this repository.", "Such as payments/.")
        parts = reader.keys(value, ("require", "origin"), f' in "{key.value}"')
        if "require" in parts:
            require = reader.choice(parts["require"][1], '"require"', _REQUIRED)
        else:
            require = _REQUIRED[0]
        if "origin" in parts:
            origin = reader.choice(parts["origin"][1], '"origin"', _ORIGINS)
        else:
            origin = _ORIGINS[0]
        policies.append([key.value.rstrip("/"), require, origin])
    return policies


def _globs(reader: NodeReader, node: Node, name: str = "exclude") -> list[str]:
    """The globs of `exclude`; paths from the repository's root."""
    globs = []
    for text in reader.texts(node, f'"{name}"'):
        if (
            len(text.value) > _LONGEST_GLOB
            or text.value.startswith("/")
            or ".." in text.value.split("/")
        ):
            reader.report(
                text, "must be a glob of files in this repository.", "Such as docs/examples/*.py."
            )
        globs.append(text.value)
    return globs


def _folder(reader: NodeReader, node: Node) -> str:
    """A folder of the repository, without `/` at its end."""
    text = reader.text(node, '"docs"').strip().replace("\\", "/").rstrip("/")
    if (
        text.startswith(("/", "~"))
        or ".." in text.split("/")
        or text.split("/")[0] in (".git", ".kl")
    ):
        reader.report(
            node,
            '"docs" must be a folder of this repository.',
            "Give its path from the root, such as docs.",
        )
        return ""
    return "/".join(part for part in text.split("/") if part not in ("", "."))


def _from_git(git: Mapping[str, str], problems: list[Problem]) -> dict[str, Any]:
    """The settings in git's configuration: `kl.plugins`, `kl.reviewers`, `kl.verified-requires`,
    `kl.budget`, …
    """
    key_of_setting = {
        key.replace("_", "-"): key
        for key in (*_LISTS, *_LOOSER, *_USERS_ONLY, "context_cache", "context_weights")
    }
    texts = {
        key: git[name]
        for name, key in key_of_setting.items()
        if name in git and (git[name] or key not in _LISTS)
    }
    if not texts:  # `kl.agents` alone, as every hook of an agent finds it, needs no reader of YAML
        return {}
    from kl_hooks.config.yaml import ListNode, NodeReader, TextNode

    values: dict[str, Any] = {}
    for key, text in texts.items():
        name = key.replace("_", "-")
        words = tuple(TextNode(word, 0, 0) for word in text.replace(",", " ").split())
        node = ListNode(words, 0, 0) if key in _LISTS else TextNode(text, 0, 0)
        values[key] = [_read_value(NodeReader(f"git config kl.{name}", problems), key, node), 0, 0]
    return values


_LIFECYCLE_KEYS: Final = Lifecycle._fields
_LIFECYCLE_FORMAT: Final = "lifecycle-1"


def load_lifecycle(root: Path, cache_dir: Path | None = None) -> tuple[Lifecycle, list[Problem]]:
    """The numbers for the repository at `root`, and what is wrong in its file. No file: the
    defaults.

    `cache_dir`: where the compiled form may rest. UsageProblem for what is no file, or a link that
    leads out.
    """
    text = read_small(root / LIFECYCLE_FILE, within=root)
    if text is None:
        return Lifecycle(), []
    plain = load_compiled(cache_dir, text, _LIFECYCLE_FORMAT, lambda: _compile_lifecycle(text))
    if not _is_lifecycle(plain):
        plain = _compile_lifecycle(text)
    return Lifecycle(**plain["numbers"]), [Problem(*row) for row in plain["problems"]]


def _compile_lifecycle(text: bytes) -> dict[str, Any]:
    from kl_hooks.config.yaml import NodeReader, load_yaml

    root, problems = load_yaml(LIFECYCLE_FILE, text)
    reader = NodeReader(LIFECYCLE_FILE, problems)
    numbers = {}
    if root:
        pairs = reader.keys(root, ("version", *_LIFECYCLE_KEYS))
    else:
        pairs = {}
    for key, (name, node) in pairs.items():
        before = len(problems)
        if key == "version":
            reader.choice(node, '"version"', ("1",))
            continue
        number = reader.number(node, f'"{name.value}"', 0, MOST_DAYS, 0)
        if len(problems) == before:
            numbers[key] = number
    return {"numbers": numbers, "problems": [list(problem) for problem in sorted(set(problems))]}


def _is_lifecycle(plain: Any) -> bool:
    """True for what `_compile_lifecycle` gives; a compiled form is data from a file and looked at
    before it is used.
    """
    if not isinstance(plain, dict) or plain.keys() != {"numbers", "problems"}:
        return False
    numbers = plain["numbers"]
    problems = plain["problems"]
    return (
        isinstance(numbers, dict)
        and all(
            key in _LIFECYCLE_KEYS and type(n) is int and 0 <= n <= MOST_DAYS
            for key, n in numbers.items()
        )
        and isinstance(problems, list)
        and all(
            isinstance(row, list) and [*map(type, row)] == [str, int, int, str, str]
            for row in problems
        )
    )
