"""The ranking of code: the recipe's formulas, and what is true of it whatever the task and the
files are.
"""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kl_hooks.code.languages import own_scanners
from kl_hooks.code.scanner.python import scan_python
from kl_hooks.context.gather import code_of, near_code
from kl_hooks.context.ranking import (
    CodeRanking,
    Failure,
    RankedFile,
    RankedSymbol,
    _Scores,
    _without_words_of_tests,
    code_candidates,
    is_about_tests,
    merge,
    rank,
    rank_code,
)
from kl_hooks.context.replay import MemoryCode, Source, read_source
from kl_hooks.index.history import Change, MemoryHistory, PastCommit, StoredHistory, message_terms
from kl_hooks.index.postings import SOURCE, WEIGHTS, Field, corpus_of, path_terms, read_query, terms
from kl_hooks.proof.symbol_tests import Suspect
from kl_hooks.workspace import Workspace
from tests.support import Checkout, checkout


def _read(text: str, path: str) -> Source:
    source = read_source(text.encode(), path, own_scanners())
    assert source is not None
    return source


FILES = {
    "src/shop/price.py": (
        '"""Prices."""\nfrom shop.cart import Cart\n\n\ndef round_total(cents: int) -> int:\n'
        '    """Round a checkout total half up."""\n    return cents\n'
    ),
    "src/shop/cart.py": (
        "class Cart:\n    def checkout(self) -> int:\n        # the session knows the total\n"
        "        return self.items\n\n    def add_item(self, item): self.items.append(item)\n"
    ),
    "src/shop/mail.py": (
        'def send_mail(to: str) -> None:\n    """Send a letter."""\n    raise OSError("no'
        ' session")\n'
    ),
    "src/shop/web.py": (
        "from shop.price import round_total\n\ndef view(cart):\n    return"
        " round_total(cart.total())\n"
    ),
}
COMMITS = [
    ("Round totals half up", "src/shop/price.py"),
    ("Letters have a subject", "src/shop/mail.py"),
    ("Cart remembers its session", "src/shop/cart.py"),
]


def code(files: dict[str, str], commits: list[tuple[str, str]] = COMMITS) -> MemoryCode:
    past = [
        PastCommit(f"c{n}", 10_000_000 - n * 86_400, message_terms(message), (Change(path),))
        for n, (message, path) in enumerate(commits)
    ]
    return MemoryCode(
        {path: _read(text, path) for path, text in files.items()},
        MemoryHistory(past),
    )


def bm25f(files: dict[str, str], task: str) -> dict[str, float]:
    """Path → BM25F of its best symbol, straight from the formula of the recipe."""
    docs = []
    for path, text in files.items():
        for _, name, owner, words in read_texts(text):
            fields: dict[Field, list[str]] = {one: [] for one in Field}
            fields[Field.NAME], fields[Field.OWNER] = terms([name]), terms([owner])
            fields[Field.PATH] = path_terms(path)
            field = Field.BODY
            for word in words.split():
                marks = {
                    ".": Field.BODY,
                    "#": Field.COMMENT,
                    '"': Field.STRING,
                    "(": Field.SIGNATURE,
                    "'": Field.DOC,
                }
                if word in marks:
                    field = marks[word]
                else:
                    fields[field] += terms([word])
            docs.append((path, fields))
    average = {one: sum(len(fields[one]) for _, fields in docs) / len(docs) for one in Field}
    best: dict[str, float] = {}
    for path, fields in docs:
        score = 0.0
        for term, weight in read_query(task).weights.items():
            having = sum(any(term in some for some in other.values()) for _, other in docs)
            x = 0.0
            for one in Field:
                if term in fields[one]:
                    x += (
                        WEIGHTS[one]
                        * fields[one].count(term)
                        / (0.5 + 0.5 * len(fields[one]) / average[one])
                    )
            score += (
                weight
                * math.log(1 + (len(docs) - having + 0.5) / (having + 0.5))
                * 1.9
                * x
                / (x + 0.9)
            )
        best[path] = max(best.get(path, 0.0), score)
    return best


def read_texts(text: str) -> list[list[str]]:
    return scan_python(text.encode(), "a.py", "m")["text"]


@pytest.mark.parametrize(
    "task", ["round checkout totals", "session of a cart", "send_mail raises OSError", "Cart"]
)
def test_words_count_as_in_the_formula(task: str) -> None:
    expected = bm25f(FILES, task)
    top = max(expected.values())
    found = {one.path: one.parts.get("symmax", 0) for one in rank(code(FILES), task).files}
    for path, value in expected.items():
        assert found.get(path, 0) == pytest.approx(1.7 * value / top * 1_000_000, abs=2)


def test_the_file_that_is_meant_comes_first() -> None:
    found = rank(code(FILES), "Checkout totals must be rounded half up")
    assert found.files[0].path == "src/shop/price.py"
    assert found.symbols[0].qualname == "round_total"
    assert found.symbols[0].line == 5
    assert sum(found.files[0].parts.values()) == pytest.approx(found.files[0].score, abs=9)


def test_who_imports_what_is_meant_is_lifted() -> None:
    parts = {one.path: one.parts for one in rank(code(FILES), "round total half up").files}
    assert parts["src/shop/web.py"]["imports"] > 0
    assert "imports" not in parts["src/shop/cart.py"]


@pytest.mark.parametrize("verb", ["make", "making", "use"])
def test_a_verb_does_not_outrank_a_class_that_the_task_names(verb: str) -> None:
    # "lru" is in many names here, the verb in one
    caches = "".join(f"def lru_{n}(): pass\ndef other_{n}(): pass\n" for n in range(8))
    files = {
        "caches.py": f"class LRUCache:\n    def get(self): pass\n{caches}",
        "keys.py": "def make_key(): pass\ndef use_key(): pass\n",
    }
    found = rank(code(files), f"{verb} LRU cache thread safe")
    assert (found.files[0].path, found.symbols[0].id) == ("caches.py", "type:caches.LRUCache")
    assert rank(code(files), "`make_key` is slow").symbols[0].id == "function:keys.make_key"


def test_past_commits_lead_to_files_without_a_word_of_the_task() -> None:
    history = [*COMMITS, ("Newsletter for subscribers", "src/shop/mail.py")]
    found = rank(code(FILES, history), "newsletter subscribers")
    assert [one.path for one in found.files] == ["src/shop/mail.py"]
    assert set(found.files[0].parts) == {"past commits", "messages"}


def test_a_module_is_never_shown() -> None:
    found = rank(code({"a.py": "prices = [1]\n"}), "prices")
    assert [one.path for one in found.files] == ["a.py"]
    assert found.symbols == ()


@settings(max_examples=25)
@given(
    st.permutations(sorted(FILES)),
    st.sampled_from(["round checkout totals", "session", "mail cart view"]),
)
def test_the_order_of_files_does_not_matter(order: list[str], task: str) -> None:
    assert rank(code({path: FILES[path] for path in order}), task) == rank(code(FILES), task)


@pytest.mark.parametrize(
    "task", ["round checkout totals", "session cookie", "send a letter by mail"]
)
def test_a_file_about_something_else_leaves_the_order(task: str) -> None:
    more = {**FILES, "src/shop/zoo.py": "def feed(lion):\n    return lion.eat()\n"}
    assert [one.path for one in rank(code(more), task).files if one.path in FILES] == [
        one.path for one in rank(code(FILES), task).files
    ]


@settings(max_examples=50)
@given(st.text())
def test_any_text_is_answered(task: str) -> None:
    found = rank(code({"a.py": FILES["src/shop/mail.py"]}), task)
    assert [one.path for one in found.files] in ([], ["a.py"])
    assert {one.path for one in found.symbols} <= {one.path for one in found.files}


@pytest.mark.parametrize(
    "task",
    [
        "",
        "   ",
        "the of and",
        "🛒🛒",
        '"round" OR total* NEAR(x)',
        "корзина",
        "a" * 1_000_000,
        "round " * 200_000,
    ],
)
def test_odd_tasks_are_answered(task: str) -> None:
    found = rank(code(FILES), task)
    assert bool(found.files) == ("round" in task), (
        "of these tasks only those with a word of the code find some"
    )
    assert [one.score for one in found.files] == sorted(
        (one.score for one in found.files), reverse=True
    )


def test_nothing_to_rank() -> None:
    assert rank(code({}), "round totals") == CodeRanking()
    assert rank(code({"a.py": "def f(:\n"}, []), "round totals") == CodeRanking()


def test_tests_come_after_source_unless_the_task_is_about_them() -> None:
    source = rank(code(FILES), "round totals")
    other = rank(
        code({"tests/test_price.py": FILES["src/shop/price.py"]}), "round totals", is_source=False
    )
    last = merge(source, other, "round totals")
    assert [one.path for one in last.files] == [
        *(one.path for one in source.files),
        "tests/test_price.py",
    ]
    among = merge(source, other, "round totals in the test of prices")
    assert [one.path for one in among.files][1] == "tests/test_price.py"
    assert is_about_tests("see tests/test_price.py")
    assert not is_about_tests("the latest contest")


def test_candidates_are_files_then_symbols_best_first() -> None:
    found = rank(code(FILES), "round checkout totals of a cart session")
    made = code_candidates(found, 600)
    assert [one.id for one in made] == [
        *(f"file:{one.path}" for one in found.files),
        *(one.id for one in found.symbols),
    ]
    assert [one.kind for one in made] == ["file"] * len(found.files) + ["symbol"] * len(
        found.symbols
    )
    assert all(one.score and one.tier is None for one in made if one.kind == "file")
    by_id = {one.id: one for one in made}
    assert by_id["function:src.shop.price.round_total"].summary == "Round a checkout total half up."
    assert "has words of the task" in by_id["file:src/shop/price.py"].reasons
    assert len(code_candidates(found, 3)) == 3


def test_what_is_far_below_the_best_is_marked_and_reported() -> None:
    folder = ("tests/", "")
    files = [
        RankedFile(f"{folder[n < 3]}{n}.py", score, {}, n < 3)
        for n, score in enumerate((1000, 40, 39, 500, 125, 124))
    ]
    symbols = [
        RankedSymbol(
            f"function:{n}.f{score}", f"{folder[n < 3]}{n}.py", 1, "f", "function", score, {}, n < 3
        )
        for n, score in ((0, 900), (0, 90), (0, 89), (2, 900), (3, 40), (3, 9))
    ]
    made = code_candidates(CodeRanking(tuple(files), tuple(symbols)), 600)
    assert [one.id for one in made if one.beyond] == [
        "file:2.py",
        "file:tests/5.py",
        "function:0.f89",
        "function:2.f900",
        "function:3.f9",
    ]
    about = code_candidates(CodeRanking(tuple(files), tuple(symbols)), 600, about_tests=True)
    assert [one.id for one in about if one.beyond][:2] == ["file:2.py", "function:0.f89"]
    code, omissions = near_code(code_of({"code": made}))
    assert len(code.files) == 4 and len(code.symbols) == 3 and len(omissions) == 5
    assert (
        omissions[0].reason
        == "below the relevance threshold: less than 4 % of the score of the best one"
    )
    # the paths of weak files, not of weak tests, from 4,000 tokens on
    code, omissions = near_code(code_of({"code": made}), 16_000)
    assert [one.candidate.path for one in code.files if one.candidate.beyond] == ["2.py"]
    assert len(code.symbols) == 3 and len(omissions) == 4


def commit_all(repo: Checkout) -> None:
    for message, path in reversed(COMMITS):
        repo.write(path, FILES[path] + "\n")
        repo.commit(message)


@pytest.fixture
def repo(tmp_path: Path, home: Path) -> Checkout:
    made = checkout(tmp_path / "repo", FILES)
    commit_all(made)
    return made


def test_what_is_stored_ranks_as_what_is_in_memory(repo: Checkout) -> None:
    chance = random.Random(5)
    for step in range(4):
        ws = repo.workspace()
        for task in ("round checkout totals", "session of a cart", "send mail", "view"):
            ranked = rank_code(ws, task)
            files = {path: (repo.root / path).read_text() for path in _source(repo)}
            memory = code(files)
            expected = rank(_with_history(memory, ws), task)
            assert [(one.path, one.score) for one in ranked.files] == [
                (one.path, one.score) for one in expected.files
            ]
            assert [(one.qualname, one.path, one.line) for one in ranked.symbols] == [
                (one.qualname, one.path, one.line) for one in expected.symbols
            ]
        path = chance.choice(sorted(FILES))
        repo.write(path, FILES[path] + f"\n\ndef extra_{step}(cart):\n    return cart.session\n")


def _source(repo: Checkout) -> list[str]:
    return [
        path
        for path in repo.git("ls-files").split()
        if path.endswith(".py") and corpus_of(path) == SOURCE
    ]


def _with_history(memory: MemoryCode, ws: Workspace) -> MemoryCode:
    with ws.store.reading("graph") as db:
        assert db is not None
        history = StoredHistory(db)
        found = history.find(
            ["round", "total", "session", "cart", "mail", "view", "send", "checkout"]
        )
        copy = MemoryHistory([])
        copy.times, copy.lengths = list(history.times), list(history.lengths)
        copy.files, copy.postings = [tuple(some) for some in history.files], found
    return MemoryCode(memory.files, copy)


@pytest.mark.slow
@pytest.mark.sweep
def test_a_real_library(tmp_path: Path, home: Path) -> None:
    """click as it is installed, through `kl context`: what people would ask about it."""
    folder = Path(click.__file__).parent
    files = {
        f"src/click/{one.name}": one.read_text(encoding="utf-8") for one in folder.glob("*.py")
    }
    made = checkout(tmp_path / "repo", files)
    for task, path in [
        ("the progress bar shows a wrong time to the end", "src/click/_termui_impl.py"),
        ("fish completion script quotes descriptions wrongly", "src/click/shell_completion.py"),
        ("CliRunner isolation keeps stderr apart", "src/click/testing.py"),
        ("wrap text in help columns", "src/click/formatting.py"),
    ]:
        done = made.kl("context", task, "--budget", "1000tok")
        assert done.returncode == 0, done.stderr
        code = done.stdout.partition("## code\n")[2]
        assert code.startswith(f"- {path}\n"), code[:200]


NAMED = {
    "src/net/resolver.py": "class Resolver:\n    def look(self): pass\n",
    "src/net/client.py": (
        "from net.resolver import Resolver\n\nclass TimeoutClient:\n    resolver: Resolver\n"
        "    def timeout_ignored(self, timeout):\n        # the resolver ignores the timeout "
        "given\n        return self.resolver.look(timeout)\n"
    ),
    "src/net/tools.py": "def retry(call): return call()\n\ndef find_host(name): pass\n",
    **{f"src/net/many{n}.py": "class Handler:\n    pass\n" for n in range(4)},
}


@pytest.mark.parametrize(
    ("task", "path", "symbol"),
    [
        (
            "Resolver ignores the timeout that was given",
            "resolver.py",
            "type:src.net.resolver.Resolver",
        ),
        ("The timeout is ignored by retry", "tools.py", "function:src.net.tools.retry"),
        (
            "The timeout given is ignored in find_host",
            "tools.py",
            "function:src.net.tools.find_host",
        ),
    ],
)
def test_a_name_of_the_task_that_is_defined_just_so_comes_first(
    task: str, path: str, symbol: str
) -> None:
    ranking = rank(code(NAMED, []), task)
    assert ranking.files[0].path == f"src/net/{path}"
    assert symbol in [ranked.id for ranked in ranking.symbols[:3]]
    # what was near to the best file stays near to it
    client = next(file for file in ranking.files if file.path == "src/net/client.py")
    assert client.score * 100 >= ranking.files[0].score * 60


@pytest.mark.parametrize(
    "task",
    [
        "the resolver ignores the timeout that was given",  # in small letters it is no class
        "Handler ignores the timeout that was given",  # too many files define it
    ],
)
def test_a_word_that_names_no_one_place_lifts_none(task: str) -> None:
    ranking = rank(code(NAMED, []), task)
    assert ranking.files[0].path == "src/net/client.py"
    assert not any("exact name" in file.parts for file in ranking.files)


def test_stored_and_read_code_define_the_same_names(tmp_path: Path, home: Path) -> None:
    repo = checkout(tmp_path / "repo", NAMED)
    ranking = rank_code(repo.workspace(), "Resolver ignores the timeout that was given")
    assert ranking.files[0].path == "src/net/resolver.py"
    assert "exact name" in ranking.files[0].parts


def test_a_pasted_failure_leads_to_its_frames_and_to_what_changed_with_its_test() -> None:
    files = {
        "web.py": "def answer(request): return run(request)\n",
        "core.py": "def run(request): return request\n",
        "tools.py": "def other(): pass\n",
        "far.py": "def request(): pass\n",
    }
    changes = [
        ("tests/test_web.py", "tools.py"),
        ("tests/test_web.py", "tools.py"),
        ("far.py", "web.py"),
    ]
    past = [
        PastCommit(f"{n}", 1_000_000 - n, {}, tuple(Change(path) for path in some))
        for n, some in enumerate(changes)
    ]
    reader = MemoryCode(
        {path: _read(text, path) for path, text in files.items()},
        MemoryHistory(past),
    )
    plain = [one.path for one in rank(reader, "a request to answer").files]
    assert "tools.py" not in plain[:2]
    failure = Failure(frozenset({"tests/test_web.py"}), ("core.py", "web.py"))
    found = rank(reader, "a request to answer", failure=failure)
    parts = {one.path: one.parts for one in found.files}
    assert parts["tools.py"]["failing tests"] > 0 and "failing tests" not in parts["far.py"]
    assert parts["core.py"]["traceback"] > parts["web.py"]["traceback"] > 0
    assert [one.path for one in found.files][-1] == "far.py"
    # what the failing tests executed and few others did, and what changed since they passed
    suspects = (
        Suspect("function:tools.other", "tools.py", 0.8),
        Suspect("function:core.run", "core.py", 0.2),
    )
    executed = rank(reader, "a request to answer", failure=Failure(suspects=suspects))
    parts = {one.path: one.parts for one in executed.files}
    assert (
        parts["tools.py"]["executed"] == 4 * parts["core.py"]["executed"] > 0
        and "executed" not in parts["far.py"]
    )
    changed = Failure(
        changed=(("function:far.request", "far.py"), ("namespace:tests.a", "tests/a.py"))
    )
    found = rank(reader, "answer", failure=changed)
    assert found.files[0].path == "far.py" and "changed" in found.files[0].parts
    assert [one.id for one in found.symbols if "changed" in one.parts] == ["function:far.request"]
    shown = {one.id: one.reasons for one in code_candidates(found, 9)}
    assert "changed since the failing test passed" in shown["function:far.request"]
    shown = {one.id: one.reasons for one in code_candidates(executed, 9)}
    assert "executed by the failing test and by few that pass" in shown["file:tools.py"]


def test_words_of_many_tests_count_less_in_a_pasted_failure() -> None:
    tests = "".join(
        f"def test_{n}(runner):\n    runner.invoke(price{'' if n else '_list'})\n\n\n"
        for n in range(20)
    )
    reader = code({"tests/test_many.py": tests})
    weights = _without_words_of_tests(read_query("runner list basket"), reader.postings).weights
    assert weights["runner"] < weights["list"] / 2 < weights["list"] < weights["basket"] == 2.0


@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 6))
@settings(max_examples=8, deadline=None)
def test_the_best_symbols_are_those_of_the_whole_ranking(seed: int, most: int, shown: int) -> None:
    """Against all symbols as the oracle: what is not read can't be among the best of the files that
    are shown.
    """
    chance = random.Random(seed)
    words = ["cart", "total", "price", "mail", "session", "round", "item", "get"]
    files = {}
    for number in range(chance.randint(1, 8)):
        body = "".join(
            f"class {chance.choice(words).title()}{n}:\n    def"
            f" {chance.choice(words)}_{chance.choice(words)}(self):\n        return"
            f" self.{chance.choice(words)}()\n\n\ndef {chance.choice(words)}_{n}():\n   "
            f" {chance.choice(words)}\n\n\n"
            for n in range(chance.randint(0, 6))
        )
        files[f"src/{chance.choice(words)}_{number}.py"] = f"import os\n\n\n{body}"
    reader = code(files)
    changed = Failure(
        changed=tuple((one.id, one.path) for one in rank(reader, "cart").symbols[-1:])
    )
    scores = _Scores(reader, read_query("round the price total of a cart session"), changed)
    ranked = scores.files(True)
    whole = scores.symbols(ranked, len(ranked), sys.maxsize)
    pruned = scores.symbols(ranked, shown, most)
    paths = {one.path for one in ranked[:shown]}
    assert [one for one in pruned if one.path in paths][:most] == [
        one for one in whole if one.path in paths
    ][:most]
    assert pruned[:1] == whole[:1] and all(one in whole for one in pruned)


def test_of_what_is_shown_only_the_best_symbols_are_read() -> None:
    files = {
        "src/a.py": "".join(
            f"def cart_{n}(): return {'cart_total()' if n < 5 else n}\n\n\n" for n in range(200)
        )
    }
    assert len(rank(code(files), "cart total", most=5).symbols) < 20
    assert len(rank(code(files), "cart total").symbols) == 200
