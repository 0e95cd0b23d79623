"""Contracts of import-linter: checked by import-linter itself, in a process of its own, on a copy
of the source.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from kl_hooks.arch.content import Content
from kl_hooks.arch.layer_check import ContractResult
from kl_hooks.arch.layers import ManifestProblems
from kl_hooks.arch.packages import package_folders, product_packages
from kl_hooks.code.modules import plain_name
from kl_hooks.config.compile_cache import load_compiled
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.git.files import UNREADABLE_BLOB, FileEntry
from kl_hooks.model.canonical import digest
from kl_hooks.model.contract import Breach, Contract, Step
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.model.manifest import Manifest
from kl_hooks.model.problem import Problem

MAX_EXPORTS: Final = 4
"""Exports."""
_LIST: Final = "files.json"
_TREE: Final = "tree"


def export_name(entries: Sequence[FileEntry]) -> str:
    """The name of the export of these files."""
    return digest("export/1", sorted([one.path, one.blob] for one in entries))[:32]


def export_files(
    cache: Path, content: Content, entries: Sequence[FileEntry]
) -> tuple[Path, list[str]]:
    """The folder with these files in it, and the paths of those whose content can't be had.

    EnvironmentProblem where it can't be written.
    """
    home = cache / "exports"
    place = home / export_name(entries)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not (place / _LIST).is_file():
            _write(home, place, content, entries)
        os.utime(place)  # the exports used last are the ones that stay
        _tidy(home, place)
        exported = json.loads((place / _LIST).read_bytes())
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(
            f"can't write a copy of the source: {error}.", place=str(home)
        ) from error
    return place / _TREE, [one.path for one in entries if one.path not in exported]


def _write(home: Path, place: Path, content: Content, entries: Sequence[FileEntry]) -> None:
    """Make the export in a folder of its own and rename it; of two that do so at once one wins."""
    # in `home`, because rename(2) does not cross file systems (EXDEV), and /tmp is often another
    # one
    export = Path(tempfile.mkdtemp(prefix="new-", dir=home))
    try:
        written = _fill(
            export / _TREE, _older(home), content, [one for one in entries if _harmless(one.path)]
        )
        # last: an export without its list does not count
        (export / _LIST).write_text(json.dumps(written), encoding="utf-8")
        # rename(2) replaces no folder that has files in it, so an export in use is never exchanged
        with contextlib.suppress(OSError):  # somebody else was faster
            export.rename(place)
    finally:
        shutil.rmtree(export, ignore_errors=True)


def _fill(
    tree: Path, older: tuple[Path, dict[str, str]], content: Content, entries: Sequence[FileEntry]
) -> dict[str, str]:
    """Write or links every file; path → blob id of those that are there now."""
    written: dict[str, str] = {}
    left = []
    tree.mkdir(mode=0o700)
    for entry in entries:
        # no file of an export is written again, so a hard link to an older one is as good as a copy
        target = tree / entry.path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if older[1].get(entry.path) == entry.blob and _linked(older[0] / entry.path, target):
            written[entry.path] = entry.blob
        else:
            left.append(entry)
    for entry, text in content.read(left):
        (tree / entry.path).write_bytes(text)
        written[entry.path] = entry.blob
    return written


def _older(home: Path) -> tuple[Path, dict[str, str]]:
    """The export used last, with its content."""
    for place in _by_age(home):
        with contextlib.suppress(OSError, ValueError):
            written = json.loads((place / _LIST).read_bytes())
            if isinstance(written, dict):
                return place / _TREE, written
    return home, {}


def _linked(source: Path, target: Path) -> bool:
    try:
        # fails without harm where a file system has no hard links, or too many of one file
        # (EMLINK): then it is written
        os.link(source, target, follow_symlinks=False)
    except OSError:
        return False
    return True


def _harmless(path: str) -> bool:
    """False for a path that leads elsewhere; git refuses to make such a tree, but not to list
    one.
    """
    return not path.startswith("/") and ".." not in PurePosixPath(path).parts and "\0" not in path


def _tidy(home: Path, current: Path) -> None:
    for place in _by_age(home)[MAX_EXPORTS:]:
        if place != current:
            shutil.rmtree(place, ignore_errors=True)


def _by_age(home: Path) -> list[Path]:
    """The exports, the one used last first."""
    exports = []
    for place in home.iterdir():
        with contextlib.suppress(OSError):
            exports.append((place.lstat().st_mtime_ns, place))
    return [place for _, place in sorted(exports, reverse=True)]


def _parse_answer(
    manifest: Manifest, answer: Any, paths: Sequence[str], folders: Mapping[str, Sequence[str]]
) -> ContractResult:
    """The answer in our nouns. ManifestProblems with everything that import-linter refuses.

    `paths`: the files it had; `folders`: package → where it lies.
    """
    files = _paths_by_module(paths, folders)
    wrong: list[Problem] = []
    breaches: list[Breach] = []
    problems = [
        Problem(path, 0, 0, "can't be read, so contracts are judged without it.")
        for path in answer["lost"]
    ]
    warnings: list[Problem] = []
    for contract, result in zip(manifest.contracts, answer["contracts"], strict=True):
        wrong += _refused(manifest.path, contract, result)
        problems += _stopping(result, paths)
        breaches += _breaches(manifest.path, contract, result, files)
        warnings += [
            Problem(manifest.path, contract.line, 1, f'contract "{contract.name}": {text}')
            for text in result.get("warnings", ())
        ]
    if wrong:
        raise ManifestProblems(wrong)
    return ContractResult(
        tuple(breaches), tuple(sorted(set(problems))), tuple(warnings), len(paths)
    )


def _stopping(result: Mapping[str, Any], paths: Sequence[str]) -> Iterator[Problem]:
    """The file that import-linter can't read, where there is one."""
    if "unparsed" in result:
        path, line = result["unparsed"]
        reason = "can't be parsed by import-linter, so contracts can't be judged."
        yield Problem(str(path), int(line), 1 if line else 0, reason)
    elif "unread" in result:
        reason = str(result["unread"])
        # the longest: `a.py` is in every message about `lib/a.py`
        path = max((path for path in paths if path in reason), key=len, default="contracts")
        yield Problem(
            path,
            0,
            0,
            f"can't be read by import-linter, so contracts can't be judged: {_sentence(reason)}",
        )


def _refused(path_name: str, contract: Contract, result: Mapping[str, Any]) -> Iterator[Problem]:
    lines = {option.key: option.line for option in contract.options}
    for key, reason in result.get("options", {}).items():
        message = f'contract "{contract.name}": "{key}": {_sentence(reason)}'
        yield Problem(path_name, lines.get(key, contract.line), 1, message)
    for reason in str(result.get("failed", "")).splitlines():
        if reason.startswith("No matches"):
            hint = "Take it out, or set unmatched_ignore_imports_alerting."
        else:
            hint = ""
        yield Problem(
            path_name, contract.line, 1, f'contract "{contract.name}": {_sentence(reason)}', hint
        )


def _sentence(text: str) -> str:
    return text.strip().rstrip(".") + "."


def _breaches(
    path_name: str, contract: Contract, result: Mapping[str, Any], files: Mapping[str, str]
) -> Iterator[Breach]:
    rule = f"{path_name}:{contract.line}"
    guidance = next(
        (str(x.value) for x in contract.options if x.key == "broken_contract_guidance"), ""
    )
    for importer, imported, chain, also in result.get("broken", ()):
        steps, others = (tuple(_step(one, files) for one in many) for many in (chain, also))
        yield Breach(
            contract.name,
            contract.type,
            importer,
            imported,
            steps,
            others,
            rule,
            contract.decision,
            "",
            guidance,
        )
    for module in result.get("undeclared", ()):
        reason = f"{module} is not listed as a layer, and the contract is exhaustive"
        yield Breach(
            contract.name, contract.type, "", "", (), (), rule, contract.decision, reason, guidance
        )


def _step(row: Sequence[Any], files: Mapping[str, str]) -> Step:
    importer, imported, lines = row
    return Step(importer, imported, files.get(importer, ""), tuple(lines))


def _paths_by_module(paths: Sequence[str], folders: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Module → file, by where its package lies; the `__init__.py` of a package before a module of
    the same name.
    """
    path_of_module: dict[str, str] = {}
    places = [(folder + "/", package) for package, many in folders.items() for folder in many]
    for path in sorted(paths, key=lambda path: path.endswith("/__init__.py")):
        for folder, package in places:
            if path.startswith(folder):
                inside = f"{package}/{path[len(folder) : -len('.py')]}"
                path_of_module[inside.removesuffix("/__init__").replace("/", ".")] = path
    return path_of_module


# next to the child's own RLIMIT_CPU, which does not count a process that only waits
TIMEOUT: Final = 300.0
"""Seconds for the child."""
# part of the entry's name in the cache, to be raised with the form of the answer
_KIND: Final = "contracts-1"
_START: Final = """\
import sys
sys.path.insert(0, sys.argv[1])
import kl_hooks
del sys.path[0]
from kl_hooks.arch.contracts_process import main
main()
"""
"""Our own package from where it lies, everything else from what is installed; `-I` keeps out the
rest.
"""
_MODULES: Final = (
    "source_modules",
    "forbidden_modules",
    "containers",
    "layers",
    "modules",
    "protected_modules",
    "allowed_importers",
    "ancestors",
)


class _Plan(NamedTuple):
    """A contract with the packages that it is judged on."""

    contract: Contract
    folders: dict[str, list[str]]


def check_contracts(
    cache: Path, content: Content, modules: Mapping[str, str], manifest: Manifest
) -> ContractResult:
    """Check the manifest's contracts by import-linter. `modules`: path → dotted name of every file.

    ManifestProblems for contracts that import-linter can't check as they are written (exit 2),
    EnvironmentProblem where it does not run at all.
    """
    plans = [_Plan(one, _folders(manifest.path, one, modules)) for one in manifest.contracts]
    folders = {name: places for plan in plans for name, places in plan.folders.items()}
    below = tuple(folder + "/" for places in folders.values() for folder in places)
    entries = [
        one for one in content.entries if one.path.endswith(".py") and one.path.startswith(below)
    ]
    entries = [one for one in entries if one.path.isascii() or _is_text(one.path)]
    # the versions are part of the cache's key: another import-linter or grimp may judge the same
    # files differently
    request = {
        "export": export_name(entries),
        "versions": _versions(),
        "contracts": [_asked(plan) for plan in plans],
    }

    def run() -> Any:
        tree, lost = export_files(cache, content, entries)
        return {"contracts": _relative(_child(tree, request), str(tree) + "/"), "lost": lost}

    # else the name of the export is not unique
    whole = all(entry.blob != UNREADABLE_BLOB for entry in entries)
    answer = load_compiled(
        cache if whole else None, json.dumps(request, sort_keys=True).encode(), _KIND, run
    )
    return _parse_answer(manifest, answer, [one.path for one in entries], folders)


def _folders(
    path_name: str, contract: Contract, modules: Mapping[str, str]
) -> dict[str, list[str]]:
    """Package → its folders; ManifestProblems for a package that is not there, or there twice."""
    named = [word for one in contract.options if one.key in _MODULES for word in _words(one.value)]
    known_packages = _checked_packages(modules, named)
    folders_of_package = {
        package: package_folders(package, modules)
        for package in contract.root_packages or known_packages
    }
    problems = []
    for package, folders in folders_of_package.items():
        if not folders:
            message = f'contract "{contract.name}": "{package}" is no package of this repository.'
            problems.append(
                Problem(
                    path_name,
                    contract.line,
                    1,
                    message,
                    f"Packages: {', '.join(known_packages) or 'none'}.",
                )
            )
        elif len(folders) > 1 and all(f"{folder}/__init__.py" in modules for folder in folders):
            message = (
                f'contract "{contract.name}": "{package}" is several packages:'
                f" {', '.join(folders)}."
            )
            problems.append(
                Problem(path_name, contract.line, 1, message, "Give another in root_packages.")
            )
    if not folders_of_package:
        message = f'contract "{contract.name}": there is no package in this repository.'
        problems.append(Problem(path_name, contract.line, 1, message, "Name it in root_packages."))
    if problems:
        raise ManifestProblems(problems)
    return folders_of_package


def _is_text(path: str) -> bool:
    """False for a name that is not UTF-8: no import can name it, and grimp ends its process on
    it.
    """
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _words(value: str | Sequence[str]) -> list[str]:
    """The module names of an option; a row of layers may hold several."""
    rows = [value] if isinstance(value, str) else value
    return [word.strip(" ()") for row in rows for word in row.replace(":", "|").split("|")]


def _asked(plan: _Plan) -> dict[str, Any]:
    contract = plan.contract
    return {
        "name": contract.name,
        "type": contract.type,
        "options": {
            x.key: x.value if isinstance(x.value, str) else list(x.value) for x in contract.options
        },
        "folders": plan.folders,
        "externals": contract.include_external_packages,
        "without_type_checking": contract.exclude_type_checking_imports,
    }


def _versions() -> list[str]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return [sys.version, version("import-linter"), version("grimp")]
    except PackageNotFoundError as missing:
        raise _absent(str(missing)) from missing


def _absent(reason: str) -> EnvironmentProblem:
    hint = "Install kl-hooks with what it depends on."
    return EnvironmentProblem(
        f"contracts need import-linter: {reason}.", place=sys.executable, hint=hint
    )


def _child(tree: Path, request: dict[str, Any]) -> Any:
    """The child's answer to the request, on the files in `tree`."""
    asked = [
        {
            **one,
            "folders": {
                name: [str(tree / x) for x in places] for name, places in one["folders"].items()
            },
        }
        for one in request["contracts"]
    ]
    home = str(Path(__file__).resolve().parents[2])
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _START, home],
            input=json.dumps({"contracts": asked}).encode(),
            # an empty environment and no folder of the checkout (ADR-0010)
            cwd=tree.parent,
            env={"LC_ALL": "C.UTF-8", "NO_COLOR": "1"},
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        hint = "Name fewer packages in root_packages of the contracts."
        raise EnvironmentProblem(
            f"import-linter did not finish within {TIMEOUT:.0f} s.", hint=hint
        ) from late
    except OSError as error:
        raise EnvironmentProblem(f"can't start: {error}.", place=sys.executable) from error
    try:
        if done.returncode == 0:
            return json.loads(done.stdout)
    except ValueError:
        pass
    last = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"])[-1]
    if "ModuleNotFoundError" in last or "ImportError" in last:
        raise _absent(last)
    # subprocess: minus the number of the signal that ended the child; it had no time for a message
    # of its own
    if done.returncode < 0:
        last = "no message"
        hint = (
            "A generated file that is nested very deeply can do that; take it out of the packages."
        )
    else:
        hint = "Run lint-imports to see whether it reports more."
    raise EnvironmentProblem(
        f"import-linter ended with {done.returncode}: {last[:300]}.", place="contracts", hint=hint
    )


def _relative(answer: Any, tree: str) -> Any:
    """The answer with paths from the repository's top, and with no trace of where the copy was."""
    for answer_row in answer:
        if "unparsed" in answer_row:
            answer_row["unparsed"][0] = str(answer_row["unparsed"][0]).removeprefix(tree)
        for key in ("failed", "unread"):
            if key in answer_row:
                answer_row[key] = answer_row[key].replace(tree, "")
    return answer


def _checked_packages(modules: Mapping[str, str], named: Iterable[str] = ()) -> list[str]:
    """The top-level packages of the product, and those others that contracts name by one of their
    modules.
    """
    tops = {plain_name(dotted).partition(".")[0] for dotted in modules.values()}
    wanted = {*product_packages(modules), *({name.partition(".")[0] for name in named} & tops)}
    return [top for top in sorted(wanted) if top and len(_proper(top, modules)) == 1]


def _proper(package: str, modules: Mapping[str, str]) -> list[str]:
    """Its folders, or one of them for a namespace package; none for a single module."""
    folders = package_folders(package, modules)
    init = [folder for folder in folders if f"{folder}/__init__.py" in modules]
    if len(init) > 1:
        return init
    return folders[:1]
