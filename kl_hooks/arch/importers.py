"""`kl arch import`: the configuration of tach or import-linter in the words of our manifest."""

from __future__ import annotations

import configparser
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kl_hooks.arch.content import load_content
from kl_hooks.arch.contracts import check_contracts
from kl_hooks.arch.import_survey import Survey, survey_imports
from kl_hooks.arch.layer_check import violations
from kl_hooks.arch.layers import ManifestProblems, covers
from kl_hooks.arch.manifest_parser import CONTRACT_TYPES, CUSTOM_TYPE
from kl_hooks.arch.packages import package_folders
from kl_hooks.arch.propose import yaml_quoted
from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.model.contract import Contract, Option
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.manifest import MANIFEST, Allowance, Layer, Manifest
from kl_hooks.model.problem import Problem, Problems
from kl_hooks.model.text import one_line
from kl_hooks.store.files import read_small
from kl_hooks.workspace import Workspace

_WIDTH = 110


@dataclass(frozen=True, slots=True)
class ImportedConfig:
    """What was read from another tool's configuration."""

    origin: str
    """The file it was read from."""
    layers: tuple[Layer, ...] = ()
    contracts: tuple[Contract, ...] = ()
    type_checking_imports: str = "ignore"
    exhaustive: bool = False
    exceptions: tuple[Allowance, ...] = ()
    comments: Mapping[str, str] = field(default_factory=dict)
    """Name of a layer or contract → where it comes from."""
    unassigned_imports: str = "follow"
    """`ignore` where the other tool looks at each import by itself."""
    left: tuple[str, ...] = ()
    """What could not be translated, a line each."""

    def manifest(self, path_name: str) -> Manifest:
        """As a manifest; its line numbers mean nothing."""
        further_settings = (
            self.type_checking_imports,
            self.exhaustive,
            self.exceptions,
            self.contracts,
        )
        return Manifest(
            path_name, self.layers, *further_settings, unassigned_imports=self.unassigned_imports
        )

    def manifest_text(self) -> str:
        """The text of `.kl/architecture.yaml`; reading it back gives what was found."""
        lines = [
            f"# From {_comment(self.origin)} by kl arch import. Review it, then see: kl arch check"
        ]
        lines += [f"# Not translated: {_comment(line)}" for line in self.left]
        lines += ["version: 1", ""]
        if self.layers:
            lines.append("layers:")
            for layer in self.layers:
                lines += [
                    *_origin_comment(self, layer.name),
                    f"  - name: {yaml_quoted(layer.name)}",
                ]
                lines += [
                    *_option_lines("paths", layer.paths),
                    *_option_lines("may_depend_on", layer.may_depend_on),
                ]
            lines += [
                "",
                f"type_checking_imports: {self.type_checking_imports}",
                f"exhaustive: {str(self.exhaustive).lower()}",
            ]
            if self.unassigned_imports != "follow":
                lines.append(f"unassigned_imports: {self.unassigned_imports}")
        if self.exceptions:
            lines.append("exceptions:")
            lines += [
                f"  - {{from: {yaml_quoted(one.source)}, to: {yaml_quoted(one.target)}}}"
                for one in self.exceptions
            ]
        if self.contracts:
            lines += (
                ["", "contracts:  # run by import-linter itself"] if self.layers else ["contracts:"]
            )
            for contract in self.contracts:
                lines += [*_origin_comment(self, contract.name), *_contract_lines(contract)]
        if not self.layers and not self.contracts:
            lines.append("layers: []")
        return "\n".join(lines) + "\n"


def _contract_lines(contract: Contract) -> Iterable[str]:
    yield f"  - name: {yaml_quoted(contract.name)}"
    yield f"    type: {contract.type}"
    for option in contract.options:
        yield from _option_lines(option.key, option.value)
    yield from _option_lines("root_packages", contract.root_packages)
    for key in ("include_external_packages", "exclude_type_checking_imports"):
        if getattr(contract, key):
            yield f"    {key}: true"


def _option_lines(key: str, value: str | tuple[str, ...]) -> list[str]:
    """A key with a text or a list: on one line where it fits, else one word a line."""
    if isinstance(value, str):
        if value in ("True", "False"):
            plain = value.lower()
        elif value.isdecimal():
            plain = value
        else:
            plain = yaml_quoted(value)
        return [f"    {key}: {plain}"]
    line = f"    {key}: [" + ", ".join(yaml_quoted(word) for word in value) + "]"
    if len(line) <= _WIDTH:
        return [line]
    return [f"    {key}:", *(f"      - {yaml_quoted(word)}" for word in value)]


def _origin_comment(imported: ImportedConfig, name: str) -> list[str]:
    if name not in imported.comments:
        return []
    return [f"  # {_comment(imported.comments[name])}"]


def _comment(line: str) -> str:
    return one_line(line, 300).replace("\n", " ")


ROOT: Final = "<root>"
_READ: Final = (
    "source_roots",
    "modules",
    "layers",
    "layers_explicit_depends_on",
    "root_module",
    "ignore_type_checking_imports",
)
_SILENT: Final = (
    "exact",
    "cache",
    "rules",
    "external",
    "disable_logging",
    "respect_gitignore",
    "use_regex_matching",
)
"""What changes nothing about imports between modules."""


class _Module(NamedTuple):
    """A module of tach with its files."""

    name: str
    paths: tuple[str, ...]
    depends_on: tuple[str, ...] | None
    cannot: tuple[str, ...]
    layer: str
    utility: bool
    unchecked: bool


def read_tach(path_name: str, text: bytes, files: Sequence[str]) -> ImportedConfig:
    """The modules as layers. `files`: the Python files of the repository. Problems for a file that
    is no TOML.
    """
    try:
        config = tomllib.loads(text.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise Problems(
            [Problem(path_name, 0, 0, f"can't be read: {' '.join(str(error).split())}.")]
        ) from error
    left: list[str] = _not_ours(config)
    base = path_name.rpartition("/")[0]
    roots = [_folder(f"{base}/{root}") for root in _texts(config.get("source_roots", ["."]))]
    entries = [module for module in config.get("modules", []) if isinstance(module, dict)]
    modules: dict[str, _Module] = {}
    for entry in entries:
        for pattern in _texts(entry.get("paths", [])) or _texts([entry.get("path", "")]):
            for name in _expanded(pattern, roots, files):
                paths = _paths(name, roots, files)
                if paths:
                    modules[name] = _module(name, paths, entry, left)
                else:
                    left.append(f'the module "{name}": it has no files here')
    _root(config, modules, roots)
    explicit = bool(config.get("layers_explicit_depends_on"))
    order = [
        str(module.get("name", "")) if isinstance(module, dict) else str(module)
        for module in config.get("layers", [])
    ]
    layers = tuple(_layer(module, modules, order, explicit) for module in modules.values())
    comments = {
        layer.name: f'{path_name}: module "{name}"'
        for layer, name in zip(layers, modules, strict=True)
    }
    if config.get("ignore_type_checking_imports") is False:
        mode = "enforce"
    else:
        mode = "ignore"
    return ImportedConfig(
        path_name,
        layers,
        (),
        mode,
        comments=comments,
        unassigned_imports="ignore",
        left=tuple(dict.fromkeys(left)),
    )


def _not_ours(config: Mapping[str, Any]) -> list[str]:
    """What our layers can't express, a line each."""
    left = []
    for key, value in config.items():
        if key == "exclude":
            listed = ", ".join(_texts(value))
            left.append(f"exclude ({listed}): files of modules among them are checked here")
        elif key not in (*_READ, *_SILENT) and value not in (False, [], {}):
            left.append(key)
    if any(isinstance(one, dict) and one.get("closed") for one in config.get("layers", [])):
        left.append("closed layers: here a layer may be skipped")
    return left


def _module(
    name: str, paths: tuple[str, ...], entry: Mapping[str, Any], left: list[str]
) -> _Module:
    for key in ("visibility", "depends_on_external", "cannot_depend_on_external", "strict"):
        if entry.get(key) not in (None, False, ["*"]):
            left.append(f'"{key}" of the module "{name}"')
    wanted = entry.get("depends_on")
    if wanted is None:
        needed = None
    else:
        needed = tuple(_texts([_path(one) for one in wanted]))
    cannot = tuple(_texts([_path(one) for one in entry.get("cannot_depend_on") or []]))
    flags = (bool(entry.get("utility")), bool(entry.get("unchecked")))
    return _Module(name, paths, needed, cannot, str(entry.get("layer", "")), *flags)


def _path(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    return entry.get("path", "")


def _root(config: Mapping[str, Any], modules: dict[str, _Module], roots: Sequence[str]) -> None:
    """What is in no module is a module of its own, unless it is ignored, as it is by default."""
    if config.get("root_module", "ignore") == "ignore":
        modules.pop(ROOT, None)
    elif ROOT not in modules:
        modules[ROOT] = _Module(
            ROOT, tuple(root or "./" for root in roots), (), (), "", False, False
        )


def _layer(
    module: _Module, modules: Mapping[str, _Module], order: Sequence[str], explicit: bool
) -> Layer:
    allowed = tuple(
        _name(other)
        for name, other in modules.items()
        if name != module.name and _may(module, other, order, explicit)
    )
    return Layer(_name(module), module.paths, allowed, 0)


def _name(module: _Module) -> str:
    if module.name == ROOT:
        return "root"
    return module.name


def _may(importer: _Module, imported: _Module, order: Sequence[str], explicit: bool) -> bool:
    """True if tach lets `importer` import `imported`; layers of tach are listed from the top down.

    `explicit`: what is allowed by the layers has to be declared as well.
    """
    if importer.unchecked:
        return True
    if importer.layer in order and imported.layer in order and importer.layer != imported.layer:
        if explicit and order.index(importer.layer) < order.index(imported.layer):
            return _declared(importer, imported)
        return order.index(importer.layer) < order.index(imported.layer)
    return _declared(importer, imported)


def _declared(importer: _Module, imported: _Module) -> bool:
    if any(_matches(pattern, imported.name) for pattern in importer.cannot):
        return False
    if imported.utility or importer.depends_on is None:
        return True
    return any(_matches(pattern, imported.name) for pattern in importer.depends_on)


def _matches(pattern: str, name: str) -> bool:
    """`a.*` is every module right below `a`, `a.**` every one at any depth."""
    signs = {"**": r".+", "*": r"[^.]+"}
    parts = [signs.get(part, re.escape(part)) for part in pattern.split(".")]
    return re.fullmatch(r"\.".join(parts), name) is not None


def _expanded(pattern: str, roots: Sequence[str], files: Sequence[str]) -> list[str]:
    """The module itself, or every module and package that a pattern matches."""
    if "*" not in pattern:
        return [pattern]
    names: set[str] = set()
    for root in roots:
        for file in files:
            if file.startswith(root) and file.endswith(".py"):
                parts = file[len(root) : -len(".py")].split("/")
                names.update(".".join(parts[:n]) for n in range(1, len(parts) + 1))
    return sorted(
        name for name in names if _matches(pattern, name) and not name.endswith("__init__")
    )


def _paths(name: str, roots: Sequence[str], files: Sequence[str]) -> tuple[str, ...]:
    """The folders (with `/`) and files of a module in the source roots."""
    if name == ROOT:
        return tuple(root or "./" for root in roots)
    module_paths = []
    for root in roots:
        place = root + name.replace(".", "/")
        if any(file.startswith(place + "/") for file in files):
            module_paths += [place + "/"]
        if place + ".py" in files:
            module_paths += [place + ".py"]
    return tuple(module_paths)


def _folder(root: str) -> str:
    """A source root with `/` at its end; empty for the top."""
    clean = "/".join(part for part in root.split("/") if part not in ("", "."))
    if not clean:
        return ""
    return clean + "/"


def _texts(values: Any) -> list[str]:
    items = values if isinstance(values, list) else [values]
    return [one for one in items if isinstance(one, str) and one]


_SECTION: Final = "importlinter"
_KNOWN: Final = (
    "root_package",
    "root_packages",
    "include_external_packages",
    "exclude_type_checking_imports",
)
_SHOWN_ONLY: Final = ("show_timings",)
"""Options that change no verdict."""


def read_importlinter(path_name: str, text: bytes) -> ImportedConfig | None:
    """Every contract in its own words; None where the file has none of import-linter's. Problems
    for a broken file.

    All contracts stay contracts here; which may become layers is another question (`layered`).
    """
    try:
        decoded = text.decode("utf-8")
        if path_name.endswith(".toml"):
            read = _toml(decoded)
        else:
            read = _ini(decoded)
    except (
        UnicodeDecodeError,
        tomllib.TOMLDecodeError,
        configparser.Error,
        RecursionError,
    ) as error:
        message = f"can't be read: {' '.join(str(error).split())}."
        raise Problems(
            [Problem(path_name, getattr(error, "lineno", 0) or 0, 0, message)]
        ) from error
    if read is None:
        return None
    session, contracts = read
    if CUSTOM_TYPE in session:
        left = [f'"{CUSTOM_TYPE}": such contracts are code of the checkout, and none of it is run']
    else:
        left = []
    left += [
        f'the option "{key}"' for key in session if key not in (*_KNOWN, *_SHOWN_ONLY, CUSTOM_TYPE)
    ]
    roots = _words(session.get("root_packages") or session.get("root_package") or [])
    read_contracts: list[Contract] = []
    comments: dict[str, str] = {}
    for number, raw in enumerate(contracts, 1):
        contract = _contract(raw, number, {one.name for one in read_contracts}, left)
        if contract is not None:
            externals, checking = (_true(session.get(key)) for key in _KNOWN[2:])
            read_contracts.append(
                contract._replace(
                    root_packages=roots,
                    include_external_packages=externals,
                    exclude_type_checking_imports=checking,
                )
            )
            comments[contract.name] = f"{path_name}: contract {raw.get('id') or number}"
    # import-linter looks at imports under TYPE_CHECKING by default; our default is the opposite
    if _true(session.get(_KNOWN[3])):
        mode = "ignore"
    else:
        mode = "enforce"
    return ImportedConfig(
        path_name, (), tuple(read_contracts), mode, comments=comments, left=tuple(left)
    )


def _toml(text: str) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
    tool = tomllib.loads(text).get("tool", {})
    if isinstance(tool, dict):
        session = tool.get(_SECTION)
    else:
        session = None
    if not isinstance(session, dict) or not session:
        return None
    contracts = session.pop("contracts", [])
    return session, [one for one in contracts if isinstance(one, dict)] if isinstance(
        contracts, list
    ) else []


def _ini(text: str) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
    # as import-linter itself reads it, interpolation included
    config = configparser.ConfigParser()
    config.read_string(text)
    if _SECTION not in config.sections():
        return None
    contracts = [
        {"id": name.split(":")[-1], **_values(config[name])}
        for name in config.sections()
        if name.startswith(f"{_SECTION}:")
    ]
    return _values(config[_SECTION]), contracts


def _values(section: Mapping[str, str]) -> dict[str, Any]:
    return {
        key: value.strip().split("\n") if "\n" in value else value for key, value in section.items()
    }


def _contract(
    raw: Mapping[str, Any], number: int, taken: set[str], left: list[str]
) -> Contract | None:
    """One contract, None for a custom type; what can't be translated goes to `left`."""
    name = str(raw.get("name") or raw.get("id") or f"contract {number}")
    sort = str(raw.get("type", ""))
    if sort not in CONTRACT_TYPES:
        left.append(f'contract "{name}": "{sort}" is not a built-in type of import-linter')
        return None
    fields = CONTRACT_TYPES[sort]
    unknown = [key for key in raw if key not in ("id", "name", "type", *fields)]
    left += [f'contract "{name}": import-linter has no option "{key}" there' for key in unknown]
    options = tuple(
        Option(key, _option(value, fields[key]), 0) for key, value in raw.items() if key in fields
    )
    unique, suffix_number = name, 2
    while unique in taken:
        unique, suffix_number = f"{name} ({suffix_number})", suffix_number + 1
    used = tuple(option for option in options if option.value or fields[option.key].endswith("!"))
    return Contract(unique, sort, used, 0)


def _option(value: Any, sort: str) -> str | tuple[str, ...]:
    if sort.startswith("list"):
        return _words(value)
    if isinstance(value, list):
        text = "\n".join(str(one) for one in value)
    else:
        text = str(value)
    if sort == "bool":
        return str(_true(value))
    return text.strip()


def _words(value: Any) -> tuple[str, ...]:
    """The lines or items that are not blank."""
    items = value if isinstance(value, list) else [value]
    return tuple(str(one).strip() for one in items if str(one).strip())


def _true(value: Any) -> bool:
    return str(value).lower() == "true"


_LayerRow = tuple[str, tuple[str, ...]]
"""`|`, `:` or nothing, and the modules of a layer without their brackets."""


def with_layers(
    imported: ImportedConfig, contract: Contract, modules: Mapping[str, str]
) -> tuple[ImportedConfig | None, str]:
    """The set-up with this contract as layers; None and the reason where it has to stay a contract.

    `modules`: path → dotted name of every Python file.
    """
    options = {option.key: option.value for option in contract.options}
    exceptions, reason = _exceptions(options)
    if reason:
        return None, reason
    containers = options.get("containers", ())
    rows = [_row(row) for row in _list(options.get("layers", ()))]
    if any("*" in word for _, words in rows for word in words) or any(
        "*" in word for word in containers
    ):
        return None, "it has wildcards"
    layers = _layers(rows, _list(containers), modules)
    if layers is None:
        return None, "a layer has no files here"
    outside = sorted(
        path
        for path in modules
        if not any(covers(p, path) for layer in layers for p in layer.paths)
    )
    reason = _reason(rows, contract, outside, modules)
    if reason:
        return None, reason
    other_contracts = tuple(
        other_contract for other_contract in imported.contracts if other_contract is not contract
    )
    comments = {
        **imported.comments,
        **{layer.name: imported.comments.get(contract.name, "") for layer in layers},
    }
    return replace(
        imported,
        layers=tuple(layers),
        contracts=other_contracts,
        exhaustive=bool(containers),
        exceptions=exceptions,
        comments=comments,
    ), ""


def _exceptions(options: Mapping[str, str | tuple[str, ...]]) -> tuple[tuple[Allowance, ...], str]:
    """Its ignored imports as exceptions, and why that can't be (empty: it can)."""
    ignored = _list(options.get("ignore_imports", ()))
    if any("*" in one for one in ignored):
        return (), "it ignores imports by wildcard"
    # `error` is import-linter's default
    if ignored and options.get("unmatched_ignore_imports_alerting", "error") == "error":
        return (), "it fails where an ignored import was removed, and an exception only warns"
    pairs = [one.partition("->") for one in ignored]
    return tuple(Allowance(a.strip(), b.strip()) for a, _, b in pairs), ""


def _list(value: str | tuple[str, ...]) -> Sequence[str]:
    if isinstance(value, str):
        return (value,)
    return value


def _row(row: str) -> _LayerRow:
    if "|" in row:
        mark = "|"
    elif ":" in row:
        mark = ":"
    else:
        mark = ""
    words = row.split(mark) if mark else [row]
    return mark, tuple(word.strip().strip("()").strip() for word in words)


def _reason(
    rows: Sequence[_LayerRow],
    contract: Contract,
    outside: Sequence[str],
    modules: Mapping[str, str],
) -> str:
    """Why layers would allow more, or something else; empty: they mean the same. `outside`: files
    in no layer.
    """
    folders = tuple(
        folder + "/" for root in contract.root_packages for folder in package_folders(root, modules)
    )
    inside = [path for path in outside if path.startswith(folders)]
    if inside:
        names = ", ".join(inside[:2]) + (", ..." if len(inside) > 2 else "")
        return f"it also forbids chains through modules that are in no layer ({names})"
    options = {option.key: option.value for option in contract.options}
    if not options.get("containers"):
        same = {word for _, words in rows for word in words} == set(contract.root_packages)
        if same:
            return ""
        return "modules that are added later could be in no layer"
    if options.get("exhaustive") != "True" or options.get("exhaustive_ignores"):
        return "modules that are added later could be in no layer"
    if outside:
        return "it is exhaustive for its package, layers here are for the whole repository"
    return ""


def _layers(
    rows: Sequence[_LayerRow], containers: Sequence[str], modules: Mapping[str, str]
) -> list[Layer] | None:
    """Our layers from the bottom up; None where a module of a row has no files or two have one
    name.
    """
    layers: list[Layer] = []
    # import-linter lists the highest layer first, our manifest the lowest
    for mark, words in reversed(rows):
        below = tuple(layer.name for layer in layers)
        same = []
        for word in words:
            names = [f"{container}.{word}" for container in containers] or [word]
            paths = tuple(path for name in names for path in _module_paths(name, modules))
            if not paths:
                return None
            # siblings with `:` may import each other, those with `|` may not (import-linter's
            # layers contract)
            if mark == ":":
                beside = tuple(other for other in words if other != word)
            else:
                beside = ()
            same.append(Layer(word, paths, below + beside, 0))
        layers += same
    if len({layer.name for layer in layers}) == len(layers):
        return layers
    return None


def _module_paths(name: str, modules: Mapping[str, str]) -> list[str]:
    """The folders (with `/`) of a package, or the file of a module, by its dotted name."""
    files = [
        path
        for path, dotted in modules.items()
        if dotted == name and not path.endswith("/__init__.py")
    ]
    return [folder + "/" for folder in package_folders(name, modules)] + sorted(files)


_CONFIG_FILES: Final = ("setup.cfg", ".importlinter", "pyproject.toml", "tach.toml")
"""Where set-ups are looked for, in import-linter's order."""
_TACH: Final = "tach.toml"


def find_config(ws: Workspace) -> str | None:
    """Return the first file on disk with a configuration that can be imported; None without one."""
    for name in _CONFIG_FILES:
        try:
            text = read_small(ws.root / name, within=ws.root)
        except UsageProblem:
            continue
        if text is not None and (name == _TACH or (b"importlinter" in text and _holds(name, text))):
            return name
    return None


def _holds(name: str, text: bytes) -> bool:
    try:
        return read_importlinter(name, text) is not None
    except UsageProblem:
        return True  # theirs, and broken: kl arch import reports it


def import_config(ws: Workspace, name: str | None = None) -> ImportedConfig:
    """The set-up in the file `name` (from the root; None: the first there is). UsageProblem where
    there is none.
    """
    chosen = name or find_config(ws)
    if chosen is None:
        hint = "Name the file, or propose layers with: kl init"
        raise UsageProblem(
            f"no set-up of import-linter or tach here (looked for {', '.join(_CONFIG_FILES)}).",
            hint=hint,
        )
    text = read_small(ws.root / chosen, within=ws.root)
    if text is None:
        raise UsageProblem("there is no such file.", place=chosen)
    survey = survey_imports(ws, load_content(ws))
    if chosen.endswith(_TACH):
        return read_tach(chosen, text, sorted(survey.python_modules))
    imported = read_importlinter(chosen, text)
    if imported is None:
        raise UsageProblem(
            "holds no set-up of import-linter.",
            place=chosen,
            hint="It has [importlinter] sections.",
        )
    return _layered(ws, survey, _here(imported, survey))


def _here(imported: ImportedConfig, survey: Survey) -> ImportedConfig:
    """Without the root packages that are not in this repository: we look at no others."""
    roots = {root for contract in imported.contracts for root in contract.root_packages}
    removed = sorted(root for root in roots if not package_folders(root, survey.python_modules))
    contracts = tuple(
        contract_here._replace(
            root_packages=tuple(
                root for root in contract_here.root_packages if root not in removed
            ),
        )
        for contract_here in imported.contracts
    )
    left = [f'the root package "{root}": it is not in this repository' for root in removed]
    return replace(imported, contracts=contracts, left=(*imported.left, *left))


def _layered(ws: Workspace, survey: Survey, imported: ImportedConfig) -> ImportedConfig:
    """Turn the first contract that can become layers into layers; comment the others with the
    reason.
    """
    comments = dict(imported.comments)
    for contract in [candidate for candidate in imported.contracts if candidate.type == "layers"]:
        with_layers_instead, reason = with_layers(imported, contract, survey.python_modules)
        if with_layers_instead is not None and imported.layers:
            reason = "there are layers already"
        elif with_layers_instead is not None and not _same(
            ws, survey, contract, with_layers_instead
        ):
            reason = "import-linter sees other imports here than kl does"
        if with_layers_instead is None or reason:
            comments[contract.name] += f"; stays a contract: {reason}"
        else:
            imported = with_layers_instead
    return replace(
        imported,
        comments={**comments, **{k: v for k, v in imported.comments.items() if k not in comments}},
    )


def _same(ws: Workspace, survey: Survey, contract: Contract, layered: ImportedConfig) -> bool:
    """True if import-linter and our layers give one verdict on what is here now."""
    ours = violations(layered.manifest(MANIFEST), survey.links, survey.modules)
    alone = ImportedConfig(layered.origin, contracts=(contract,)).manifest(MANIFEST)
    try:
        theirs = check_contracts(ws.state.cache, survey.content, survey.python_modules, alone)
    except (ManifestProblems, EnvironmentProblem):
        return False
    return bool(ours) == bool(theirs.breaches) and not theirs.problems
