"""What a test stores in a value that a function computed once, or in what has no name of its own."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from pytest_kl import states
from pytest_kl.tracer import Tracer
from tests.support import Checkout, checkout

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="symbols are recorded from 3.12 on"
)
PRICE = "def price():\n    return {}\n"
SESSION = (
    "from price import price\n\n\nclass Session:\n    limit = 0\n\n    def __init__(self):\n"
    "        self.items = []\n\n    def add(self):\n        self.items.append(price())\n\n\n"
)
WAYS = {
    "a list in a cache": (
        "from functools import cache\n\n\n@cache\ndef registry():\n    return []\n",
        "registry().append(price())",
        "registry() == [10]",
    ),
    "a cache that one function asks": (
        "from functools import cache\n\n\n@cache\ndef registry():\n    return []\n\n\n"
        "def items():\n    return registry()\n",
        "items().append(price())",
        "items() == [10]",
    ),
    "an object in a cache": (
        "from functools import lru_cache\n\n\n@lru_cache\ndef settings():\n    return Session()\n",
        "settings().add()",
        "settings().items == [10]",
    ),
    "a context variable": (
        "from contextvars import ContextVar\n\nCURRENT = ContextVar('session')\n\n\n"
        "def current():\n    try:\n        return CURRENT.get()\n    except LookupError:\n"
        "        CURRENT.set(Session())\n        return CURRENT.get()\n",
        "current().add()",
        "current().items == [10]",
    ),
    "a metaclass": (
        "class Meta(type):\n    made = {}\n\n    def __call__(cls):\n"
        "        if cls not in cls.made:\n            cls.made[cls] = super().__call__()\n"
        "        return cls.made[cls]\n\n\nclass Service(metaclass=Meta):\n    limit = 0\n",
        "Service().limit = price()",
        "Service().limit == 10",
    ),
    "an attribute of a thread": (
        "import threading\n\n\nclass Local(threading.local):\n    def __init__(self):\n"
        "        self.limit = None\n\n\nLOCAL = Local()\n",
        "LOCAL.limit = price()",
        "LOCAL.limit == 10",
    ),
    "a list of a thread": (
        "import threading\n\nLOCAL = threading.local()\nLOCAL.items = []\n",
        "LOCAL.items.append(price())",
        "LOCAL.items == [10]",
    ),
    "a member of an enumeration": (
        "import enum\n\n\nclass Kind(enum.Enum):\n    BOOK = []\n",
        "Kind.BOOK.value.append(price())",
        "Kind.BOOK.value == [10]",
    ),
    "a logger": (
        "from logging import getLogger\n",
        "getLogger('shop').limit = price()",
        "getLogger('shop').limit == 10",
    ),
    "an object that only its methods have": (
        "def methods():\n    session = Session()\n    return session.add, session.__getattribute__\n"
        "\n\nADD, GET = methods()\n\n\ndef items():\n    return ADD.__self__.items\n",
        "ADD()",
        "items() == [10]",
    ),
}


def recorded(folder: Path, source: str, stores: str, expects: str) -> Checkout:
    files = {
        "pytest.ini": "[pytest]\npythonpath = .\n",
        "price.py": PRICE.format(10),
        "shop.py": SESSION + source,
        "test_shop.py": (
            f"from shop import *\n\n\ndef test_first():\n    {stores}\n\n\n"
            f"def test_second():\n    assert {expects}\n"
        ),
    }
    repo = checkout(folder, files=files)
    assert repo.pytest("-q").returncode == 0
    return repo


def assert_symbols_were_recorded(repo: Checkout) -> None:
    """A change of what no test executes is transferred only then."""
    text = (repo.root / "shop.py").read_text()
    repo.write("shop.py", f"{text}\n\ndef unused():\n    return 1\n")
    repo.commit()
    assert repo.kl("verify").returncode == 0


@pytest.mark.parametrize("way", WAYS)
def test_who_gets_it_must_run_with_who_stored_it(tmp_path: Path, home: Path, way: str) -> None:
    repo = recorded(tmp_path / "shop", *WAYS[way])
    repo.write("price.py", PRICE.format(200))
    repo.commit()
    assert repo.pytest("-q", "--kl-impacted").returncode == 1
    assert repo.kl("verify").returncode == 1


def test_a_value_that_stays_as_it_was_returned_binds_nothing(tmp_path: Path, home: Path) -> None:
    source = (
        "from functools import lru_cache\n\n\n@lru_cache\ndef settings():\n    return Session()\n"
        "\n\ndef name():\n    return 'shop'\n"
    )
    repo = recorded(
        tmp_path / "shop", source, "assert settings() and name()", "settings().items == []"
    )
    text = (repo.root / "shop.py").read_text()
    repo.write("shop.py", text.replace("'shop'", "'another shop'"))
    repo.commit()
    impacted = repo.kl("proof", "impacted").stdout
    assert "test_first" in impacted
    assert "test_second" not in impacted


def test_a_value_that_died_keeps_nobody_bound(tmp_path: Path, home: Path) -> None:
    source = (
        "CURRENT = None\n\n\ndef current():\n    global CURRENT\n    if CURRENT is None:\n"
        "        CURRENT = Session()\n    return CURRENT\n\n\ndef reset():\n    global CURRENT\n"
        "    CURRENT = None\n"
    )
    repo = recorded(tmp_path / "shop", source, "current().add(); reset()", "current().items == []")
    repo.write("price.py", PRICE.format(200))
    repo.commit()
    impacted = repo.kl("proof", "impacted").stdout
    assert "test_first" in impacted
    assert "test_second" not in impacted


def test_a_recording_begins_where_loggers_refer_to_much(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Context:
        def __init__(self, depth: int) -> None:
            self.inner = [Context(depth - 1) for _ in range(3 if depth else 0)]

    logger = logging.getLogger("shop.early")
    monkeypatch.setattr(logger, "context", Context(4), raising=False)
    tracer = Tracer(str(tmp_path), states=states)
    assert tracer.states is not None
    assert not tracer.trouble


def test_a_method_may_have_something_else_than_a_function(tmp_path: Path, home: Path) -> None:
    source = (
        "from types import MethodType\n\n\nclass Function:\n    def __call__(self, session):\n"
        "        session.add()\n\n    def __getattr__(self, name):\n"
        "        raise RuntimeError(name)\n\n\n"
        "SESSION = Session()\nADD = MethodType(Function(), SESSION)\n\n\n"
        "def items():\n    return SESSION.items\n"
    )
    repo = recorded(tmp_path / "shop", source, "ADD()", "items() == [10]")
    assert_symbols_were_recorded(repo)
    repo.write("price.py", PRICE.format(200))
    repo.commit()
    assert repo.pytest("-q", "--kl-impacted").returncode == 1


def test_a_thread_whose_set_up_fails_ends_no_recording(tmp_path: Path, home: Path) -> None:
    source = (
        "import threading\n\n\nclass Local(threading.local):\n    def __init__(self):\n"
        "        if threading.current_thread() is threading.main_thread():\n"
        "            raise RuntimeError('for workers')\n        self.limit = price()\n\n\n"
        "MADE = []\nWORKER = threading.Thread(target=lambda: MADE.append(Local()))\n"
        "WORKER.start()\nWORKER.join()\n"
    )
    repo = recorded(tmp_path / "shop", source, "assert MADE", "len(MADE) == 1")
    assert_symbols_were_recorded(repo)
