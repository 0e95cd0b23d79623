"""Has import-linter judge the contracts of a manifest, in a limited child process, on a copy of the judged content.

The answer is kept under the hash of everything it depends on (files, contracts, versions): the same content is judged
once.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kl_hooks.arch.contracts.answer import understand
from kl_hooks.arch.contracts.export import export, name_of
from kl_hooks.arch.mistakes import ManifestProblems
from kl_hooks.arch.packages import folders_of, known_packages
from kl_hooks.arch.source import Content
from kl_hooks.arch.verdict import Judged
from kl_hooks.config.compiled import compiled
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.git.files import UNREADABLE
from kl_hooks.model.contract import Contract
from kl_hooks.model.manifest import Manifest
from kl_hooks.model.problem import Problem

PATIENCE: Final = 300.0
"""Seconds for the child."""
_KIND: Final = "contracts-1"
_START: Final = """\
import sys
sys.path.insert(0, sys.argv[1])
import kl_hooks
del sys.path[0]
from kl_hooks.arch.contracts.child import main
main()
"""
"""Our own package from where it lies, everything else from what is installed; `-I` keeps out the rest."""
_MODULES: Final = (
    "source_modules", "forbidden_modules", "containers", "layers", "modules", "protected_modules", "allowed_importers",
    "ancestors",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Plan:
    """A contract with the packages that it is judged on."""

    contract: Contract
    folders: dict[str, list[str]]


def judge_contracts(cache: Path, content: Content, modules: Mapping[str, str], manifest: Manifest) -> Judged:
    """What import-linter says about the manifest's contracts. `modules`: path → dotted name of every file.

    ManifestProblems for contracts that import-linter can't check as they are written (exit 2), EnvironmentProblem where
    it does not run at all.
    """
    plans = [_Plan(one, _folders(manifest.path, one, modules)) for one in manifest.contracts]
    folders = {name: places for plan in plans for name, places in plan.folders.items()}
    below = tuple(folder + "/" for places in folders.values() for folder in places)
    entries = [one for one in content.entries if one.path.endswith(".py") and one.path.startswith(below)]
    entries = [one for one in entries if one.path.isascii() or _is_text(one.path)]
    request = {"export": name_of(entries), "versions": _versions(), "contracts": [_asked(plan) for plan in plans]}

    def run() -> Any:
        tree, lost = export(cache, content, entries)
        return {"contracts": _relative(_child(tree, request), str(tree) + "/"), "lost": lost}

    whole = all(entry.blob != UNREADABLE for entry in entries)  # else the name of the export says too little
    answer = compiled(cache if whole else None, json.dumps(request, sort_keys=True).encode(), _KIND, run)
    return understand(manifest, answer, [one.path for one in entries], folders)


def _folders(path_name: str, contract: Contract, modules: Mapping[str, str]) -> dict[str, list[str]]:
    """Package → its folders; ManifestProblems for a package that is not there, or there twice."""
    named = [word for one in contract.options if one.key in _MODULES for word in _words(one.value)]
    known = known_packages(modules, named)
    found = {package: folders_of(package, modules) for package in contract.root_packages or known}
    problems = []
    for package, folders in found.items():
        if not folders:
            said = f'contract "{contract.name}": "{package}" is no package of this repository.'
            problems.append(Problem(path_name, contract.line, 1, said, f"Packages: {', '.join(known) or 'none'}."))
        elif len(folders) > 1 and all(f"{folder}/__init__.py" in modules for folder in folders):
            said = f'contract "{contract.name}": "{package}" is several packages: {", ".join(folders)}.'
            problems.append(Problem(path_name, contract.line, 1, said, "Give another in root_packages."))
    if not found:
        said = f'contract "{contract.name}": there is no package in this repository.'
        problems.append(Problem(path_name, contract.line, 1, said, "Name it in root_packages."))
    if problems:
        raise ManifestProblems(problems)
    return found


def _is_text(path: str) -> bool:
    """False for a name that is not UTF-8: no import can say it, and grimp dies of it."""
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
    one = plan.contract
    return {
        "name": one.name,
        "type": one.type,
        "options": {x.key: x.value if isinstance(x.value, str) else list(x.value) for x in one.options},
        "folders": plan.folders,
        "externals": one.include_external_packages,
        "without_type_checking": one.exclude_type_checking_imports,
    }


def _versions() -> list[str]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return [sys.version, version("import-linter"), version("grimp")]
    except PackageNotFoundError as missing:
        raise _absent(str(missing)) from missing


def _absent(reason: str) -> EnvironmentProblem:
    hint = "Install kl-hooks with what it depends on."
    return EnvironmentProblem(f"contracts need import-linter: {reason}.", place=sys.executable, hint=hint)


def _child(tree: Path, request: dict[str, Any]) -> Any:
    """The child's answer to the request, on the files in `tree`."""
    asked = [
        {**one, "folders": {name: [str(tree / x) for x in places] for name, places in one["folders"].items()}}
        for one in request["contracts"]
    ]
    home = str(Path(__file__).resolve().parents[2])
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _START, home],
            input=json.dumps({"contracts": asked}).encode(),
            cwd=tree.parent, env={"LC_ALL": "C.UTF-8", "NO_COLOR": "1"}, capture_output=True, timeout=PATIENCE,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        hint = "Name fewer packages in root_packages of the contracts."
        raise EnvironmentProblem(f"import-linter did not finish within {PATIENCE:.0f} s.", hint=hint) from late
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
    if done.returncode < 0:
        last, hint = (
            "no message",
            "A generated file that is nested very deeply can do that; take it out of the packages.",
        )
    else:
        hint = "See whether lint-imports says more."
    raise EnvironmentProblem(f"import-linter ended with {done.returncode}: {last[:300]}.", place="contracts", hint=hint)


def _relative(answer: Any, tree: str) -> Any:
    """The answer with paths from the repository's top, and with no trace of where the copy was."""
    for one in answer:
        if "unparsed" in one:
            one["unparsed"][0] = str(one["unparsed"][0]).removeprefix(tree)
        for key in ("failed", "unread"):
            if key in one:
                one[key] = one[key].replace(tree, "")
    return answer
