"""Run contracts by import-linter itself; the inside of a limited child process that has no way into
the checkout.

It is given packages by their folders and reads their files as text. Request and answer are JSON,
see `main`.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Final

MEMORY_BYTES: Final = 4 * 1024**3
"""Bytes of address space."""
CPU_SECONDS: Final = 300
"""Seconds."""
_CLASSES: Final = {
    "forbidden": "ForbiddenContract",
    "layers": "LayersContract",
    "independence": "IndependenceContract",
    "protected": "ProtectedContract",
    "acyclic_siblings": "AcyclicSiblingsContract",
}


def main() -> None:
    """Request on stdin, answer on stdout.

    Request: `{"contracts": [{"name", "type", "options", "folders", "externals",
    "without_type_checking"}]}`. Answer: a list, for each contract `{"broken", "undeclared",
    "warnings"}`, or `{"options": {key: reason}}` for options that are wrong, `{"failed": reason}`
    for a contract that can't be checked, `{"unparsed": [path, line]}` or `{"unread": reason}` for a
    file that stops it. A broken one is `[importer, imported, chain, also]`, a step of a chain
    `[importer, imported, [line, …]]`.
    """
    # before any other import: grimp and what is read from stdin are bound by the limits too
    _limit()
    answer_stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what else is printed goes to stderr
    request = json.load(sys.stdin)
    from importlinter import configuration

    # a contract's check asks import-linter's settings for a timer, and its import alone does not
    # set them up
    configuration.configure()
    graphs: dict[str, Any] = {}
    with answer_stream:
        json.dump([_judge(contract, graphs) for contract in request["contracts"]], answer_stream)


def _limit() -> None:
    import resource

    # no core file: it could be as large as the memory
    for resource_limit, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(resource_limit)
        # setrlimit(2): without privileges a hard limit can only be lowered, so a stricter one of
        # the caller stays
        if hard == resource.RLIM_INFINITY or hard > most:
            resource.setrlimit(resource_limit, (most, most))


def _judge(contract: dict[str, Any], graphs: dict[str, Any]) -> dict[str, Any]:
    """The answer about one contract. `graphs` keeps what was built for others."""
    from importlinter.domain.contract import InvalidContractOptions
    from importlinter.domain.helpers import MissingImport

    try:
        linter_contract = _contract(contract)
        graph = _graph(contract, graphs)
        if isinstance(graph, dict):
            return graph
        return _answer(linter_contract.check(graph, verbose=False), contract["type"], graph)
    except InvalidContractOptions as wrong:
        return {"options": {key: str(reason) for key, reason in wrong.errors.items()}}
    except ImportError:
        return {
            "failed": (
                f"this version of import-linter has no contracts of type {contract['type']};"
                " upgrade it"
            )
        }
    except (ValueError, MissingImport) as wrong:
        return {"failed": str(wrong)}
    except Exception as wrong:  # grimp's own
        return {"failed": f"{type(wrong).__name__}: {wrong}"}


def _contract(contract: dict[str, Any]) -> Any:
    """The contract as import-linter has it. InvalidContractOptions for options that it refuses."""
    from importlib import import_module

    module = import_module(f"importlinter.contracts.{contract['type']}")
    session = {
        "root_packages": list(contract["folders"]),
        "include_external_packages": str(contract["externals"]),
        "exclude_type_checking_imports": str(contract["without_type_checking"]),
    }
    options = {"name": contract["name"], "type": contract["type"], **contract["options"]}
    contract_class = getattr(module, _CLASSES[contract["type"]])
    return contract_class(name=contract["name"], session_options=session, contract_options=options)


def _graph(contract: dict[str, Any], graphs: dict[str, Any]) -> Any:
    """A graph of one's own for each contract, as checking may change it; an answer where the source
    can't be read.
    """
    from copy import deepcopy

    graph_options = [contract[key] for key in ("folders", "externals", "without_type_checking")]
    key = json.dumps(graph_options, sort_keys=True)
    if key not in graphs:
        graphs[key] = _built(*graph_options)
    return deepcopy(graphs[key])


def _built(folders: dict[str, list[str]], externals: bool, without_type_checking: bool) -> Any:
    from kl_hooks.code.grimp_graph import build, place_of_syntax_error

    try:
        return build(folders, externals=externals, without_type_checking=without_type_checking)
    except Exception as wrong:
        place = place_of_syntax_error(wrong)
        if place is None:
            return {"unread": str(wrong)}
        return {"unparsed": list(place)}


def _answer(check: Any, sort: str, graph: Any) -> dict[str, Any]:
    """A check in our terms; import-linter has another metadata layout for each type."""
    metadata = check.metadata
    rows: list[list[Any]] = []
    if sort == "layers":
        for metadata_row in metadata["invalid_dependencies"]:
            rows += [
                _row(metadata_row["importer"], metadata_row["imported"], route)
                for route in metadata_row["routes"]
            ]
    elif sort == "protected":
        for metadata_row in metadata["illegal_imports"]:
            rows += [
                [link["importer"], metadata_row.top_level_module, [_step(link)], []]
                for link in metadata_row.illegal_links
            ]
    elif sort == "acyclic_siblings":
        for package, pairs in metadata["cycle_breakers_by_package"].items():
            rows += [[package, package, [_details(graph, *pair)], []] for pair in pairs]
    else:
        for metadata_row in metadata["invalid_chains"]:
            rows += [
                _row(metadata_row["downstream_module"], metadata_row["upstream_module"], route)
                for route in metadata_row["chains"]
            ]
    undeclared = sorted(metadata.get("undeclared_modules", ()))
    if not check.kept and not rows and not undeclared:
        raise ValueError("import-linter calls it broken without a place")
    return {"broken": sorted(rows), "undeclared": undeclared, "warnings": list(check.warnings)}


def _row(importer: str, imported: str, route: Any) -> list[Any]:
    """A chain; import-linter lists alternative first and last steps with some."""
    if isinstance(route, dict):
        also = [*route["extra_firsts"], *route["extra_lasts"]]
        return [
            importer,
            imported,
            [_step(link) for link in route["chain"]],
            [_step(link) for link in also],
        ]
    return [importer, imported, [_step(link) for link in route], []]


def _step(link: Any) -> list[Any]:
    return [link["importer"], link["imported"], [line for line in link["line_numbers"] if line]]


def _details(graph: Any, importer: str, imported: str) -> list[Any]:
    details = graph.get_import_details(importer=importer, imported=imported)
    return [importer, imported, sorted({detail["line_number"] for detail in details})]
