"""Inputs that people, agents and machines write, changed at random: kl reports what is wrong with
them, and never ends with a traceback.

`KL_MUTATED_INPUTS=1289 pytest -s tests/whole/test_mutated_inputs.py` tries as many.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from kl_hooks.errors import INTERNAL_ERROR
from tests.support import Checkout

NUMBER: Final = int(os.environ.get("KL_MUTATED_INPUTS") or 60)
_EVENT: Final = {
    "hook_event_name": "PostToolUse",
    "session_id": "s",
    "tool_name": "Edit",
    "tool_input": {"file_path": "src/shop.py", "old_string": "1", "new_string": "2"},
}
_DECISION: Final = (
    "---\nid: ADR-0001\ntitle: Use SQLite\nstatus: accepted\ndate: 2026-01-01\ngoverns: [src/]\n"
    "---\n\n## Context\n\nc\n\n## Decision\n\nd [[ADR-0001]]\n"
)
_NOTEBOOK: Final = {
    "cells": [{"cell_type": "markdown", "source": ["# Shop\n", "text"]}],
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {},
}


class Input(NamedTuple):
    """A file of some form, and the command that reads it."""

    path: str
    text: str
    command: tuple[str, ...]
    is_stdin: bool = False


_LAYERS: Final = (
    "version: 1\nlayers:\n  - {name: shop, paths: [src/], may_depend_on: []}\n"
    "contracts:\n  - {name: c, type: forbidden, source: [src], target: [os]}\n"
)
_POLICY: Final = "version: 1\nrules:\n  - {name: a, deny: {paths: [hr/**], actors: [agent]}}\n"
_KIND: Final = (
    "version: 1\nname: runbook\nprefix: RUN\ndescription: How.\nfields:\n"
    "  command: {type: line, required: true, description: What.}\n"
)
_JUNIT: Final = (
    '<testsuite name="a" tests="2"><testcase classname="a" name="b" time="0.1"/>'
    '<testcase classname="a" name="c"><failure message="m">t</failure></testcase></testsuite>\n'
)
_TRANSCRIPT: Final = (
    json.dumps({"role": "user", "content": "Important: never call load twice."})
    + "\n"
    + json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": "ok"}]}})
    + "\n"
)
_PDF: Final = (
    "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>"
    "endobj\ntrailer<</Root 1 0 R>>\n"
)
_ANSWERS: Final = {"answers": [{"id": "MEM-1", "do": "approve"}]}
INPUTS: Final = (
    Input("in.xml", _JUNIT, ("evidence", "import", "junit", "in.xml")),
    Input(
        "in.jsonl", '{"schema": "kl.receipt/1", "run": "a"}\n', ("sync", "--receipts", "in.jsonl")
    ),
    Input(
        "in.jsonl", '{"payload": "e30=", "signatures": []}\n', ("evidence", "verify", "in.jsonl")
    ),
    Input(".coverage", "SQLite format 3\x00", ("evidence", "import", "coverage", ".coverage")),
    Input(".kl/architecture.yaml", _LAYERS, ("arch", "check")),
    Input(".kl/architecture.yaml", _LAYERS, ("arch", "show")),
    Input("other.yaml", _LAYERS, ("arch", "check", "--manifest", "other.yaml")),
    Input("tach.toml", '[[modules]]\npath = "src"\ndepends_on = []\n', ("arch", "import")),
    Input(".importlinter", "[importlinter]\nroot_package = src\n", ("arch", "import")),
    Input(".kl/policy.yaml", _POLICY, ("context", "shop")),
    Input(".kl/config.yaml", "version: 1\nbudget: 3000\ndocs: [docs/]\n", ("config",)),
    Input(".kl/kinds/runbook.yaml", _KIND, ("knowledge", "list")),
    Input(".kl/knowledge/lifecycle.yaml", "version: 1\nrun_rows_days: 9\n", ("maintain",)),
    Input(".kl/knowledge/decisions/ADR-0001-a.md", _DECISION, ("decision", "show", "ADR-0001")),
    Input(".kl/knowledge/decisions/ADR-0001-a.md", _DECISION, ("knowledge", "check")),
    Input(
        "docs/adr/0001-a.md", "# A\n\n## Status\n\nAccepted\n", ("decision", "import", "docs/adr")
    ),
    Input("docs/page.md", "# Page\n\nSee [a](b.md#c) and [[ADR-0001]].\n", ("search", "page")),
    Input("docs/page.rst", "Page\n====\n\n.. confval:: a\n\n   text\n", ("search", "page")),
    Input("in.html", "<h1>A</h1><script>x</script><p>b</p>", ("document", "add", "in.html")),
    Input("in.ipynb", json.dumps(_NOTEBOOK), ("document", "add", "in.ipynb")),
    Input("in.pdf", _PDF, ("document", "add", "in.pdf")),
    Input(
        "src/shop.py",
        "import os\n\n\ndef total(x):\n    return x\n",
        ("graph", "symbols", "src/shop.py"),
    ),
    Input(
        "facts.json",
        '[{"title": "A", "text": "b"}]',
        ("knowledge", "import", "--kind", "fact", "facts.json"),
    ),
    Input(
        "mem.json",
        '[{"pattern": "Use a b c", "category": "pattern"}]',
        ("memory", "import", "mem.json"),
    ),
    Input("t.jsonl", _TRANSCRIPT, ("memory", "mine", "--transcript", "t.jsonl")),
    Input("t.jsonl", _TRANSCRIPT, ("finding", "import", "t.jsonl")),
    Input("a.json", json.dumps(_ANSWERS), ("memory", "review", "--answers", "a.json")),
    Input("a.yaml", "purpose: It sells.\n", ("interview", "--answers", "a.yaml")),
    Input(
        "task.md", "# T\n\n## Summary\n\ns\n", ("outcome", "capture", "--from-task-file", "task.md")
    ),
    Input(
        "p.yaml",
        "agents:\n  - {name: a, produces: [artifact:b]}\n",
        ("task", "plan", "--from", "p.yaml"),
    ),
    Input("", json.dumps(_EVENT), ("agents", "hook", "PostToolUse", "--agent", "claude"), True),
    Input("", json.dumps({"query": "shop"}), ("tool", "knowledge_search", "-"), True),
    Input("", "Fix the total of an order", ("context", "-"), True),
    Input(
        ".claude/skills/a/SKILL.md",
        "---\nname: a\ndescription: Reads.\n---\n\n# A\n",
        ("skill", "check"),
    ),
)


def _changed(data: bytearray, rng: random.Random) -> None:
    """Change a text at one place, as an editor, a bad disk or an attacker would."""
    at = rng.randrange(len(data) + 1)
    end = min(len(data), at + rng.choice((1, 1, 3, 20)))
    pieces = (
        b"\x00",
        b"\xff",
        b"\xe2\x80\xae",
        b"[" * 300,
        b"9" * 40,
        b"\n",
        b":",
        b"- ",
        b"{",
        b'"',
    )
    change: Callable[[], None] = rng.choice(
        (
            lambda: data.__delitem__(slice(at, end)),
            lambda: data.__setitem__(slice(at, end), rng.choice(pieces)),
            lambda: data.__setitem__(slice(at, at), rng.choice(pieces)),
            lambda: data.__setitem__(
                slice(at, at), data[max(0, at - 40) : at] * rng.choice((1, 50))
            ),
            lambda: data.__delitem__(slice(at, len(data))),
        )
    )
    change()


def mutated(text: str, rng: random.Random) -> bytes:
    """Return a text that is changed at one to four places."""
    data = bytearray(text.encode())
    for _ in range(rng.randint(1, 4)):
        _changed(data, rng)
    return bytes(data)


def test_no_changed_input_is_an_internal_error(repo: Checkout) -> None:
    assert repo.kl("init", "--yes").returncode == 0
    repo.commit("set up")
    ends, wrong = Counter[int](), list[str]()
    for number in range(NUMBER):
        kind = INPUTS[number % len(INPUTS)]
        data = mutated(kind.text, random.Random(number))
        path, before = _written(repo, kind, data)
        given = data.decode("utf-8", "replace") if kind.is_stdin else ""
        done = repo.kl(*kind.command, input=given)
        ends[done.returncode] += 1
        shown = done.stdout + done.stderr
        if done.returncode >= INTERNAL_ERROR or "Traceback" in shown:
            wrong.append(f"{number}: kl {' '.join(kind.command)}: {data[:300]!r}\n{shown[-800:]}")
        if path is not None:
            path.unlink(missing_ok=True)
            if before is not None:
                path.write_bytes(before)
    print(f"{NUMBER} inputs, exit codes {dict(sorted(ends.items()))}")
    assert not wrong, "\n".join(wrong)


def _written(repo: Checkout, kind: Input, data: bytes) -> tuple[Path | None, bytes | None]:
    """Write the input; return its file and what was there before."""
    if kind.is_stdin:
        return None, None
    path = repo.root / kind.path
    before = path.read_bytes() if path.is_file() else None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path, before
