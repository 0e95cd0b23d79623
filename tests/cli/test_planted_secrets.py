"""Secrets that only the words around them reveal, planted in every input: whatever is derived from
a text (names, keywords, titles, file names, words of an index) must not have them either.

`test_secrets` plants tokens, which are recognized by themselves, so a derived value is redacted
wherever it is written. A password is a plain word once `password:` is no longer in front of it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.kinds.plugin import kl_kinds
from kl_hooks.records.write import create_record
from tests.records.test_every_kind import TEXTUAL, least
from tests.shares import by_steps
from tests.support import Checkout, checkout

from .test_secrets import everything

SHAPES = (
    'api_key="{}"',
    "password: '{}'",
    "DB_PASSWORD={}",
    'client_secret: "{}"',
    "X-Auth-Token: {}",
    "the password is {}",
    "mysql -u root -p{} shop",
    "sshpass -p {} ssh host",
    "curl -u admin:{} https://shop.example",
    "Kennwort: {}",
    "postgresql" + "://shop:{}@db.example/shop",
)
"""How a person writes a secret. `{}` is a word that reads as a name of code."""


class Planted:
    """Texts with a secret in each; every secret is a word that is nowhere else."""

    def __init__(self, step: int) -> None:
        """`step`: each input gets one of so many shapes."""
        self._step, self._turns = step, itertools.count()
        self.words: dict[str, tuple[str, str]] = {}
        """The word, in small letters → (the input, the shape)."""

    def text(self, place: str, shape: str) -> str:
        """A sentence with a new secret in this shape, for this input."""
        word = f"zyqu{len(self.words):04d}xv"
        self.words[word] = (place, shape)
        return f"Fix total. {shape.format(f'{word}_Wagon_7')}\nThen look at the tests."

    def each(self, place: str) -> list[str]:
        """Such a text in each shape, or in a share of them: inputs take turns."""
        first = next(self._turns) % self._step
        return [self.text(place, shape) for shape in SHAPES[first :: self._step]]

    def leaks(self, contents: Iterable[tuple[str, bytes]]) -> dict[str, list[str]]:
        """Input and shape → where its secret is."""
        leaks: dict[str, list[str]] = {}
        for where, content in contents:
            small = content.lower()
            if b"zyqu" not in small:
                continue
            for word, (place, shape) in self.words.items():
                if word.encode() in small:
                    leaks.setdefault(f"{place}: {shape}", []).append(where)
        return leaks


def hook(repo: Checkout, event: str, **more: Any) -> None:
    payload = {
        "cwd": str(repo.root),
        "session_id": "s1",
        "transcript_path": "/dev/null",
        "hook_event_name": event,
        **more,
    }
    done = repo.kl("agents", "hook", event, "--agent", "claude", input=json.dumps(payload))
    assert done.returncode == 0, done.stderr


def tool(repo: Checkout, name: str, **values: Any) -> None:
    done = repo.kl("tool", name, json.dumps(values), "--allow-write")
    assert done.returncode == 0, (name, done.stdout, done.stderr)


def prompt(repo: Checkout, planted: Planted) -> None:
    for text in planted.each("prompt"):
        hook(repo, "UserPromptSubmit", prompt=text)


def call_of_a_tool(repo: Checkout, planted: Planted) -> None:
    for text in planted.each("command of an agent"):
        hook(
            repo,
            "PostToolUse",
            tool_name="Bash",
            tool_input={"command": f"pytest -q; {text}"},
            tool_response={
                "stdout": planted.text("output for an agent", SHAPES[1]),
                "exit_code": 1,
            },
        )


def task(repo: Checkout, planted: Planted) -> None:
    for text in planted.each("task"):
        assert repo.kl("context", text).returncode == 0
    for text in planted.each("query of a package"):
        assert repo.kl("context", "fix total", "--query", text).returncode == 0
    for text in planted.each("task of a tool"):
        tool(repo, "context", task=text)
    critical = repo.kl("context", "critical", "--task", planted.text("critical", SHAPES[0]))
    assert critical.returncode == 0, critical.stderr


def search(repo: Checkout, planted: Planted) -> None:
    for text in planted.each("search"):
        assert repo.kl("search", text).returncode in (0, 1)
    for text in planted.each("search of a tool"):
        # one line and long: what is recorded of it is cut
        tool(repo, "search_documents", query=("word " * 33 + text).replace("\n", " "))


def tiers(repo: Checkout, planted: Planted) -> None:
    for number, text in enumerate(planted.each("value")):
        for tier in ("working", "short", "long", "shared"):
            assert repo.kl("remember", f"k{number}", text, "--tier", tier).returncode == 0
        assert repo.kl("pool", "write", "default", f"a.b{number}", text).returncode == 0
    value = {"note": planted.text("value in JSON", SHAPES[0]), "list": planted.each("list")}
    assert repo.kl("remember", "j", json.dumps(value), "--tier", "working").returncode == 0
    assert repo.kl("session", "save").returncode == 0


def records(repo: Checkout, planted: Planted) -> None:
    for kind in kl_kinds():
        values: dict[str, Any] = dict(least(kind))
        for field in kind.all_fields:
            if field.type not in TEXTUAL or field.pattern or field.internal:
                continue
            if field.name in ("status", "name") or (kind.name == "skill" and field.name == "title"):
                continue  # its words are those of a list, or form an ID
            text = planted.text(f"{kind.name}.{field.name}", SHAPES[len(values) % len(SHAPES)])
            line = text.replace("\n", " ")
            values[field.name] = {
                "line": line,
                "text": text,
                "lines": [line, line],
                "map": {"note": line},
            }[field.type]
        body = f"# {planted.text(kind.name, SHAPES[0])}"
        create_record(repo.workspace(), kind, values, body=body)
    for text in planted.each("memory"):
        assert repo.kl("memory", "add", text.replace("\n", " ")).returncode in (0, 1, 2)
    for text in planted.each("failure"):
        assert repo.kl("failure", "record", text, "--cause", text).returncode == 0


def documents(repo: Checkout, planted: Planted) -> None:
    outside = repo.root.parent / "outside"
    outside.mkdir()
    for number, text in enumerate(planted.each("document")):
        (outside / f"n{number}.md").write_text(f"# Shop {number}\n\n{text}\n\n## {text}\n")
    assert repo.kl("document", "add", str(outside)).returncode == 0
    for text in planted.each("document from stdin"):
        assert repo.kl("document", "add", "-", input=text).returncode == 0
    for text in planted.each("title"):
        title = text.replace("\n", " ")
        assert repo.kl("document", "add", "-", "--title", title, input="x y").returncode == 0
    pages = "\n\n".join(f"# {text}\n\n{text}" for text in planted.each("page"))
    repo.write("docs/guide.md", pages)


def evidence(repo: Checkout, planted: Planted) -> None:
    for text in planted.each("command"):
        assert repo.kl("run", "--", "sh", "-c", f": {text!r}; exit 1").returncode
    for text in planted.each("output"):
        repo.write("out.txt", text)
        assert repo.kl("run", "--", "sh", "-c", "cat out.txt; exit 1").returncode == 1
    (repo.root / "out.txt").unlink()
    for text in planted.each("claim"):
        added = repo.kl("claim", "add", text, "--about", "file:shop/cart.py")
        assert added.returncode == 0, added.stderr
    for text in planted.each("commit"):
        repo.commit(f"{text}\n\n{text}\n\nNote: {text}".replace("\n\nThen", " then"))
    cases = "".join(
        f"<testcase classname='a' name='t{number}'><failure>{text}</failure></testcase>"
        for number, text in enumerate(planted.each("junit"))
    ).replace('"', "&quot;")
    (repo.root.parent / "r.xml").write_text(f"<testsuite>{cases}</testsuite>")
    imported = repo.kl("evidence", "import", "junit", str(repo.root.parent / "r.xml"))
    assert imported.returncode == 0, imported.stderr


def source(repo: Checkout, planted: Planted) -> None:
    texts = planted.each("docstring")
    code = [f'def f{number}():\n    """{text}"""\n' for number, text in enumerate(texts)]
    for shape in ('password = "{}"', 'def g(password="{}"): ...', "connect(password='{}')"):
        word = planted.text("source", shape).partition("\n")[0].removeprefix("Fix total. ")
        code.append(f"{word}\n")
    repo.write("shop/secrets_of.py", "\n".join(code))


def environment(repo: Checkout, planted: Planted) -> None:
    word = planted.text("environment", "{}").split()[2]
    env = {"SHOP_API_KEY": word}
    assert (
        repo.kl_process("run", "--", "sh", "-c", "echo $SHOP_API_KEY; exit 1", env=env).returncode
        == 1
    )
    assert repo.kl_process("context", f"why is {word} refused", env=env).returncode == 0
    assert repo.kl_process("remember", "e", f"it is {word}", env=env).returncode == 0


INPUTS: Mapping[str, Callable[[Checkout, Planted], None]] = {
    function.__name__: function
    for function in (
        documents,
        source,
        evidence,
        records,
        prompt,
        call_of_a_tool,
        task,
        search,
        tiers,
        environment,
    )
}

EXPORTS = (
    ("evidence", "export"),
    ("knowledge", "export", *(word for kind in ("memory",) for word in ("--kind", kind))),
    ("knowledge", "export", "--kind", "failure"),
    ("decision", "export"),
    ("knowledge", "registry"),
    ("evidence", "list", "--format", "json"),
    ("claim", "list", "--format", "json"),
    ("status", "--format", "json"),
    ("commits", "trailer"),
    ("keys",),
    ("pool", "read", "default"),
)


@pytest.fixture
def shop(tmp_path: Path, home: Path) -> Checkout:
    made = checkout(
        tmp_path / "shop",
        {
            "shop/__init__.py": "",
            "shop/cart.py": "def total(prices):\n    return sum(prices)\n",
            "tests/test_cart.py": "def test_total():\n    pass\n",
        },
    )
    made.git("config", "kl.agents", "claude")
    return made


@pytest.mark.slow
@pytest.mark.local_database
@pytest.mark.parametrize("name", INPUTS)
@by_steps(3)
def test_nothing_that_is_derived_has_the_secret(
    name: str, shop: Checkout, home: Path, step: int
) -> None:
    planted = Planted(step)
    INPUTS[name](shop, planted)
    assert shop.kl("context", "fix total").returncode == 0
    assert shop.kl("search", "total").returncode in (0, 1)
    exports = [(" ".join(args), shop.kl(*args).stdout.encode()) for args in EXPORTS]
    authored = [] if name == "source" else [shop.root / ".kl"]
    stored = list(everything(shop.state, home, *authored))
    assert len(stored) > 10 and planted.words
    assert any(b"[redacted:" in content for _, content in stored), "nothing of it was stored"
    assert planted.leaks([*stored, *exports]) == {}
