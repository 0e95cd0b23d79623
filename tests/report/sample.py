"""Sample data of the report page (kl.report/1): a small project, a big one, and hostile names.

`python -m tests.report.sample small|big|hostile|empty FILE` writes the page of one.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

STATES = ("here", "transferred", "stale", "unexecuted", "unassessed")
REASONS = {
    "here": "executed by 12 tests that passed on this content",
    "transferred": "executed by tests that passed at 4f1c2aa; nothing they rest on has "
    "changed since",
    "stale": "changed since the tests that execute it passed",
    "unexecuted": "no recorded test executes it",
    "unassessed": "no run recorded which code it executes",
}
LAYERS = (
    ("model", 0, "Data types and pure functions", ""),
    ("store", 1, "Tables and files", "ADR-0003"),
    ("git", 1, "Every call of git", ""),
    ("core", 2, "Rules of the shop", "ADR-0001"),
    ("api", 3, "What programs call", ""),
    ("cli", 4, "What people type", "ADR-0004"),
)
WORDS = ("order", "price", "cart", "tax", "stock", "user", "address", "refund", "ship", "report")


def small(seed: int = 7) -> dict[str, Any]:
    """A project of 6 layers, 48 files, 160 tests and 30 runs; one forbidden import."""
    return _report(random.Random(seed), modules=42, tests=160, decisions=12)


def big(seed: int = 7) -> dict[str, Any]:
    """2,000 modules, 20,000 tests, 30 runs, 200 decisions."""
    return _report(random.Random(seed), modules=2000, tests=20_000, decisions=200)


def empty() -> dict[str, Any]:
    """A repository in which nothing was recorded: no manifest, no run, no record."""
    report = _report(random.Random(1), modules=0, tests=0, decisions=0)
    report["now"] = {
        "verdict": "nothing recorded",
        "sentence": "Nothing is recorded of this content.",
        "tests": dict.fromkeys(report["now"]["tests"], 0),
        "runs": [],
        "missing": ["no test run was recorded"],
        "command": "pytest",
        "hints": [],
        "violations": {"forbidden": 0, "accepted": 0, "checked": False},
        "flaky": [],
        "stale_claims": [],
        "waiting": {},
        "notes": [],
    }
    report |= {"layers": [], "contracts": [], "imports": [], "runs": []}
    report |= {"change": None, "omitted": {}}
    report["tests"] = {name: [] for name in report["tests"]}
    report["knowledge"] = {
        "decisions": [],
        "objectives": [],
        "failures": [],
        "memories": [],
        "links": [],
        "about": {},
    }
    return report


def folders() -> dict[str, Any]:
    """The small project without a manifest of layers."""
    report = small()
    report["layers"] = []
    report["contracts"] = []
    for file in report["files"]:
        file["layer"] = None
    report["imports"] = [row for row in report["imports"] if row[3] == 0]
    report["now"]["violations"] = {"forbidden": 0, "accepted": 0, "checked": False}
    return report


def unassessed() -> dict[str, Any]:
    """The small project whose runs recorded no symbols."""
    report = small()
    for file in report["files"]:
        file |= {"state": "unassessed", "failing": 0}
    return report


def week() -> dict[str, Any]:
    """The small project, all of whose decisions are of one week."""
    report = small()
    report["made"]["at"] = "2026-11-30T12:00:00Z"
    for number, decision in enumerate(report["knowledge"]["decisions"]):
        decision["date"] = f"2026-11-{22 + number % 8}"
    return report


def cycle() -> dict[str, Any]:
    """The small project with a manifest that lets the layer `store` import `cli`, too."""
    report = small()
    layers = [file["layer"] for file in report["files"]]
    store, cli = (layers.index(number) for number in (1, len(LAYERS) - 1))
    report["imports"].append([store, cli, 1, 0, "", ""])
    return report


CANARY = "window.canary=1"
HOSTILE = (
    f"</script><script>{CANARY}</script>",
    f'"><img src=x onerror="{CANARY}">',
    f"<!--<script>{CANARY}//",
    f"javascript:{CANARY}",
    f"'-({CANARY})-'",
    f"{{{{ {CANARY} }}}} {{% raw %}} ${{{CANARY}}}",
    f"<svg/onload={CANARY}>",
    "user\u202etxt.exe\u2066\u2069\u200b",
    f"]]><a href=javascript:{CANARY}>x</a>",
    f"__proto__ constructor {CANARY}",
    "\u2028\u2029\x00\x1b[31m",
    f"</style><style onload={CANARY}>*{{display:none}}",
)
"""Texts that run or deceive where a page does not escape what it shows."""


def hostile(seed: int = 7) -> dict[str, Any]:
    """The small project with a hostile text in the place of every string, one of them of 1 MB."""
    report = small(seed)
    counter = iter(range(10**9))

    def text(value: str) -> str:
        return f"{HOSTILE[next(counter) % len(HOSTILE)]} {value}"

    keywords = {"schema", "viewer", "verdict", "state", "strip", "outcome", "at", "date"}
    poisoned = _texts_replaced(report, text, keywords)
    assert isinstance(poisoned, dict)
    poisoned["files"][3]["path"] = "<b>" + "x" * 1_000_000 + "/" + HOSTILE[0]
    poisoned["tests"]["name"][4] = HOSTILE[1] + "y" * 1_000_000
    poisoned["now"]["waiting"] = {HOSTILE[0]: 3, "__proto__": 1}
    poisoned["knowledge"]["decisions"][1]["path"] = f"javascript:{CANARY}"
    poisoned["knowledge"]["decisions"][2]["status"] = HOSTILE[1]
    poisoned["knowledge"]["decisions"][3]["date"] = HOSTILE[1]
    poisoned["runs"][2]["at"] = HOSTILE[0]
    poisoned["runs"][3]["status"] = HOSTILE[0]
    return poisoned


def _texts_replaced(value: Any, replace: Callable[[str], str], keep: set[str]) -> Any:
    if isinstance(value, str):
        return replace(value)
    if isinstance(value, list):
        return [_texts_replaced(element, replace, keep) for element in value]
    if isinstance(value, dict):
        return {
            key: child if key in keep else _texts_replaced(child, replace, keep)
            for key, child in value.items()
        }
    return value


def _report(rng: random.Random, *, modules: int, tests: int, decisions: int) -> dict[str, Any]:
    files = _files(rng, modules)
    symbols = _symbols(rng, files, tests)
    imports = _imports(rng, files)
    test_table = _tests(rng, tests, files)
    forbidden = sum(row[3] == 1 for row in imports)
    accepted = sum(row[3] == 2 for row in imports)
    failing = [i for i, code in enumerate(test_table["outcome"]) if code == "f"]
    counts = [test_table["state"].count(code) for code in range(4)]
    return {
        "schema": "kl.report/1",
        "viewer": "full",
        "made": {"at": "2026-11-29T02:40:00Z", "kl": "0.9.0"},
        "repository": {
            "name": "shop",
            "branch": "main",
            "head": "9c1f0a7be2d4",
            "subject": "Prices are rounded once, at the end",
            "changed": 2,
        },
        "change": {
            "base": "main",
            "head": "HEAD",
            "files": list(range(0, min(len(files), 9), 2)),
            "symbols": list(range(0, min(len(symbols), 14), 2)),
        },
        "now": {
            "verdict": "partly",
            "sentence": f"Partly proven: {counts[0]} of {tests} tests passed on this content.",
            "tests": {
                "here": counts[0],
                "transferred": counts[1],
                "stale": counts[2],
                "failing": len(failing),
                "missing": counts[3],
                "known_failures": 1,
                "running": 0,
                "unfinished": 2 if tests else 0,
                "uncollected_files": 0,
            },
            "hints": ["fix the failing tests: kl test failing"] if failing else [],
            "runs": [27, 29] if tests else [],
            "missing": [
                "src/shop/core/price.py changed after the last run",
                "tests/test_tax.py was never run on this branch",
            ],
            "command": "pytest --kl-impacted",
            "violations": {"forbidden": forbidden, "accepted": accepted, "checked": True},
            "flaky": [i for i in range(min(tests, 90)) if i % 29 == 3],
            "stale_claims": [
                {
                    "id": "CLM-0004",
                    "statement": "total() never returns a negative price",
                    "reason": "src/shop/core/price.py changed on 2026-11-27",
                }
            ],
            "waiting": {"memory": 4, "decision": 1},
            "notes": ["The run of 2026-11-28 had another Python (3.11.2)."],
        },
        "layers": [
            {
                "name": layer,
                "rank": rank,
                "description": description,
                "decision": decision,
                "violations": sum(
                    row[3] == 1 and files[row[0]]["layer"] == index for row in imports
                ),
            }
            for index, (layer, rank, description, decision) in enumerate(LAYERS)
        ],
        "contracts": [
            {"name": "Siblings are apart", "type": "independence", "breaches": 0, "decision": ""},
            {"name": "No web below", "type": "forbidden", "breaches": 2, "decision": "ADR-0001"},
        ],
        "files": files,
        "symbols": symbols,
        "imports": imports,
        "runs": _runs(rng, tests),
        "tests": test_table,
        "knowledge": _knowledge(rng, decisions, files),
        "omitted": {"memories": 3},
    }


def _files(rng: random.Random, modules: int) -> list[dict[str, Any]]:
    files: list[dict[str, Any]] = []
    for number in range(modules):
        layer = number % len(LAYERS)
        word = WORDS[(number // len(LAYERS)) % len(WORDS)]
        folder = f"part_{number // 60}/" if modules > 100 else ""
        suffix = f"_{number // (len(LAYERS) * len(WORDS))}" if number >= 60 else ""
        state = rng.choices(STATES, (50, 20, 10, 12, 8))[0]
        files.append(
            {
                "path": f"src/shop/{LAYERS[layer][0]}/{folder}{word}{suffix}.py",
                "layer": layer,
                "lines": int(rng.lognormvariate(4.6, 0.9)) + 3,
                "test": False,
                "language": "python",
                "state": state,
                "reason": REASONS[state],
                "symbols": [0, 0],
                "failing": int(state == "stale" and rng.random() < 0.3),
                "proven": [0] * 5,
            }
        )
    for number in range(max(6, modules // 8)):
        word = WORDS[number % len(WORDS)]
        files.append(
            {
                "path": f"tests/part_{number // 20}/test_{word}_{number}.py",
                "layer": None,
                "lines": int(rng.lognormvariate(4.8, 0.6)) + 5,
                "test": True,
                "language": "python",
                "state": "here",
                "reason": "a test file",
                "symbols": [0, 0],
                "failing": 0,
                "proven": [0] * 5,
            }
        )
    return files


def _symbols(rng: random.Random, files: list[dict[str, Any]], tests: int) -> list[list[Any]]:
    symbols: list[list[Any]] = []
    for index, file in enumerate(files):
        first_index, line = len(symbols), 4
        while line < file["lines"] and not file["test"] and len(symbols) - first_index < 12:
            length = rng.randint(4, 40)
            covering = sorted(rng.sample(range(tests), min(tests, rng.randint(0, 8))))
            state = STATES.index(file["state"])
            if not covering and state < 3:
                state = 3
            kind = rng.choice(("function", "method", "class"))
            word = rng.choice(WORDS)
            symbols.append(
                [
                    f"{word}_{line}" if kind != "class" else word.title(),
                    kind,
                    index,
                    line,
                    line + length,
                    len(covering) * 3,
                    covering,
                    state,
                ]
            )
            file["proven"][state] += length
            line += length + 2
        file["symbols"] = [first_index, len(symbols)]
    return symbols


def _imports(rng: random.Random, files: list[dict[str, Any]]) -> list[list[Any]]:
    code = [index for index, file in enumerate(files) if not file["test"]]
    imports: list[list[Any]] = []
    for source in code:
        for target in rng.sample(code, min(len(code), 5)):
            upper, lower = files[source]["layer"], files[target]["layer"]
            if source != target and LAYERS[upper][1] > LAYERS[lower][1]:
                imports.append([source, target, rng.randint(1, 20), 0, "", ""])
    for number, source in enumerate(code[:13:4]):
        target = code[-1 - number]
        if LAYERS[files[source]["layer"]][1] < LAYERS[files[target]["layer"]][1]:
            reason = (
                f"{LAYERS[files[source]['layer']][0]} may not import "
                f"{LAYERS[files[target]['layer']][0]}"
            )
            kind = 2 if number % 2 else 1
            imports.append([source, target, rng.randint(1, 20), kind, reason, "ADR-0001"])
    return imports


def _tests(rng: random.Random, count: int, files: list[dict[str, Any]]) -> dict[str, Any]:
    test_files = [index for index, file in enumerate(files) if file["test"]]
    table: dict[str, Any] = {
        "name": [],
        "file": [],
        "outcome": [],
        "state": [],
        "strip": [],
        "ms": [],
        "red_since": [],
        "since": [],
    }
    for number in range(count):
        file = test_files[number % len(test_files)]
        word = WORDS[number % len(WORDS)]
        table["name"].append(f"{files[file]['path']}::test_{word}_{number}[{number % 3}]")
        table["file"].append(file)
        strip = ["p"] * 30
        red_since: int | None = None
        if number % 29 == 3:
            strip = ["f" if rng.random() < 0.3 else "p" for _ in range(29)] + ["p"]
        elif number % 53 == 5:
            red_since = rng.randint(8, 28)
            strip = ["p"] * red_since + ["f"] * (30 - red_since)
        elif number % 17 == 1:
            strip = ["s"] * 30
        elif number % 61 == 7:
            strip = ["x"] * 30
        elif number % 71 == 9:
            strip = ["p"] * 20 + ["u", "k"] * 5
        elif number % 97 == 8:
            strip = ["p"] * 28 + ["e"] * 2
        for run in range(30):
            if run % 7 == 5 and number % 3 and run < 29:
                strip[run] = "."
            if run % 11 == 4:
                strip[run] = strip[run].upper()
        if number % 13 == 2:
            strip = ["."] * rng.randint(10, 29) + strip
            strip = strip[:30]
        base = rng.lognormvariate(2.5, 1.3)
        trend = 1 + (number % 41 == 0) * 0.1
        table["ms"].append(
            None
            if number % 37 == 36
            else [
                None if strip[run] == "." else round(base * trend**run * rng.uniform(0.8, 1.25))
                for run in range(30)
            ]
        )
        table["strip"].append("".join(strip))
        table["outcome"].append(strip[-1].lower())
        state = 0
        if strip[-1] == ".":
            state = 3
        elif number % 5 == 4:
            state = 1
        elif number % 19 == 6:
            state = 2
        table["state"].append(state)
        table["red_since"].append(red_since)
        since = "src/shop/core/price.py: total, rounded changed" if red_since is not None else ""
        table["since"].append(since)
    return table


def _runs(rng: random.Random, tests: int) -> list[dict[str, Any]]:
    runs = []
    for number in range(30 if tests else 0):
        failed = rng.randint(0, 4)
        runs.append(
            {
                "id": f"run-{number:02}",
                "at": f"2026-11-{number // 2 + 10:02}T{7 + number % 12:02}:15:00Z",
                "head": f"{rng.getrandbits(48):012x}",
                "status": "failed" if failed else "passed",
                "passed": tests - failed - tests // 17,
                "failed": failed,
                "skipped": tests // 17,
                "ms": rng.randint(20_000, 90_000),
                "by": "ci" if number % 3 == 0 else "here",
                "environment": "CPython 3.11.2, Linux"
                if number % 11 == 4
                else "CPython 3.13.0, Linux",
            }
        )
    return runs


def _knowledge(rng: random.Random, count: int, files: list[dict[str, Any]]) -> dict[str, Any]:
    decisions: list[dict[str, Any]] = []
    for number in range(1, count + 1):
        year, month = divmod(number * 24 // max(count, 1), 12)
        verb = rng.choice(("Use", "Keep", "Drop", "Split"))
        superseded = number % 5 == 2 and number + 3 <= count
        decisions.append(
            {
                "id": f"ADR-{number:04}",
                "title": f"{verb} the {rng.choice(WORDS)} of the {rng.choice(WORDS)}",
                "status": "superseded"
                if superseded
                else ("proposed" if number == count else "accepted"),
                "date": f"{2024 + year}-{month + 1:02}-{number % 27 + 1:02}",
                "superseded_by": f"ADR-{number + 3:04}" if superseded else None,
                "about": [files[number % len(files)]["path"]],
                "path": f".kl/knowledge/decisions/adr-{number:04}.md",
            }
        )
    objectives = [
        {
            "id": f"OBJ-{number:04}",
            "title": f"Every {rng.choice(WORDS)} is proven on each commit",
            "status": status,
            "progress": progress,
            "about": [files[number]["path"]],
        }
        for number, (status, progress) in enumerate(
            (("open", 0.4), ("open", 0.85), ("done", 1.0), ("open", None)), 1
        )
    ]
    failures = [
        {
            "id": f"FAIL-{number:04}",
            "title": f"Rounded the {rng.choice(WORDS)} twice",
            "status": "resolved" if number % 2 else "open",
            "date": f"2026-0{number}-12",
            "about": [files[number]["path"]],
        }
        for number in range(1, 5)
    ]
    memories = [
        {
            "id": f"MEM-{number:04}",
            "title": f"The {rng.choice(WORDS)} table is read before the cart",
            "status": "candidate",
            "date": f"2026-11-{number + 10}",
            "about": [files[number]["path"]],
            "evidence": "seen in 3 runs; 2 tests fail without it",
        }
        for number in range(1, 5)
    ]
    links = [
        [f"ADR-{rng.randint(1, max(count, 1)):04}", "constrains", f"OBJ-{number % 4 + 1:04}"]
        for number in range(min(count, 14))
    ]
    links += [[f"FAIL-{number:04}", "led to", f"ADR-{number * 2:04}"] for number in range(1, 5)]
    links += [
        [row["superseded_by"], "supersedes", row["id"]] for row in decisions if row["superseded_by"]
    ]
    about = {f"file:{row['about'][0]}": [row["id"]] for row in decisions}
    return {
        "decisions": decisions,
        "objectives": objectives,
        "failures": failures,
        "memories": memories,
        "links": links,
        "about": about,
    }


SAMPLES: dict[str, Callable[[], dict[str, Any]]] = {
    "small": small,
    "big": big,
    "hostile": hostile,
    "empty": empty,
    "folders": folders,
    "unassessed": unassessed,
    "week": week,
    "cycle": cycle,
}

if __name__ == "__main__":
    from kl_hooks.report.page import render

    Path(sys.argv[2]).write_text(render(SAMPLES[sys.argv[1]]()), encoding="utf-8")
