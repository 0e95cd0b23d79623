"""Turns import-linter's answer about contracts into breaches, problems and warnings with places. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kl_hooks.arch.mistakes import ManifestProblems
from kl_hooks.arch.verdict import Judged
from kl_hooks.model.contract import Breach, Contract, Step
from kl_hooks.model.manifest import Manifest
from kl_hooks.model.problem import Problem


def understand(manifest: Manifest, answer: Any, paths: Sequence[str], folders: Mapping[str, Sequence[str]]) -> Judged:
    """The answer in our nouns. ManifestProblems with everything that import-linter refuses.

    `paths`: the files it had; `folders`: package → where it lies.
    """
    files = _files(paths, folders)
    wrong: list[Problem] = []
    breaches: list[Breach] = []
    problems = [Problem(path, 0, 0, "can't be read, so contracts are judged without it.") for path in answer["lost"]]
    warnings: list[Problem] = []
    for contract, said in zip(manifest.contracts, answer["contracts"], strict=True):
        wrong += _refused(manifest.path, contract, said)
        problems += _stopping(said, paths)
        breaches += _breaches(manifest.path, contract, said, files)
        warnings += [Problem(manifest.path, contract.line, 1, f'contract "{contract.name}": {text}')
                     for text in said.get("warnings", ())]  # fmt: skip
    if wrong:
        raise ManifestProblems(wrong)
    return Judged(tuple(breaches), tuple(sorted(set(problems))), tuple(warnings), len(paths))


def _stopping(said: Mapping[str, Any], paths: Sequence[str]) -> Iterator[Problem]:
    """The file that import-linter can't read, where there is one."""
    if "unparsed" in said:
        path, line = said["unparsed"]
        reason = "can't be parsed by import-linter, so contracts can't be judged."
        yield Problem(str(path), int(line), 1 if line else 0, reason)
    elif "unread" in said:
        reason = str(said["unread"])
        path = max((path for path in paths if path in reason), key=len, default="contracts")
        yield Problem(path, 0, 0, f"can't be read by import-linter, so contracts can't be judged: {_sentence(reason)}")


def _refused(path_name: str, contract: Contract, said: Mapping[str, Any]) -> Iterator[Problem]:
    lines = {option.key: option.line for option in contract.options}
    for key, reason in said.get("options", {}).items():
        message = f'contract "{contract.name}": "{key}": {_sentence(reason)}'
        yield Problem(path_name, lines.get(key, contract.line), 1, message)
    for reason in str(said.get("failed", "")).splitlines():
        hint = "Take it out, or set unmatched_ignore_imports_alerting." if reason.startswith("No matches") else ""
        yield Problem(path_name, contract.line, 1, f'contract "{contract.name}": {_sentence(reason)}', hint)


def _sentence(text: str) -> str:
    return text.strip().rstrip(".") + "."


def _breaches(
    path_name: str, contract: Contract, said: Mapping[str, Any], files: Mapping[str, str]
) -> Iterator[Breach]:
    rule = f"{path_name}:{contract.line}"
    guidance = next((str(x.value) for x in contract.options if x.key == "broken_contract_guidance"), "")
    for importer, imported, chain, also in said.get("broken", ()):
        steps, others = (tuple(_step(one, files) for one in many) for many in (chain, also))
        yield Breach(
            contract.name, contract.type, importer, imported, steps, others, rule, contract.decision, "", guidance
        )
    for module in said.get("undeclared", ()):
        reason = f"{module} is not listed as a layer, and the contract is exhaustive"
        yield Breach(contract.name, contract.type, "", "", (), (), rule, contract.decision, reason, guidance)


def _step(row: Sequence[Any], files: Mapping[str, str]) -> Step:
    importer, imported, lines = row
    return Step(importer, imported, files.get(importer, ""), tuple(lines))


def _files(paths: Sequence[str], folders: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Module → file, by where its package lies; the `__init__.py` of a package before a module beside it."""
    found: dict[str, str] = {}
    places = [(folder + "/", package) for package, many in folders.items() for folder in many]
    for path in sorted(paths, key=lambda path: path.endswith("/__init__.py")):
        for folder, package in places:
            if path.startswith(folder):
                inside = f"{package}/{path[len(folder) : -len('.py')]}"
                found[inside.removesuffix("/__init__").replace("/", ".")] = path
    return found
