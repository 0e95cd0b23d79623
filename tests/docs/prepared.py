"""What the pages of the documentation take for granted before their first command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.support import Checkout, checkout

_ORDER: Final = """\
from shop.cart import Cart


def total(cart: Cart) -> int:
    return cart.total()
"""
_CART: Final = '''\
"""Carts."""


class Cart:
    def __init__(self, prices):
        self.prices = prices

    def total(self):
        """In cents."""
        return int(0.5 + sum(self.prices))


def empty():
    return Cart([])
'''
_BASKET: Final = """\
class Basket:
    def add(self, price):
        return price

    def total(self):
        return self.add(0)
"""
_TESTS: Final = """\
from shop.cart import Cart, empty


def test_total():
    assert Cart([1, 2]).total() == 3


def test_empty():
    assert empty().total() == 0
"""
_LAYERS: Final = """\
version: 1
layers:
- name: cart
  paths: [src/shop/cart.py]
- name: core
  paths: [src/shop/core/]
  may_depend_on: [cart]
- name: api
  paths: [src/shop/api/]
  may_depend_on: [core, cart]
"""
FILES: Final = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "1"\n\n'
    '[tool.pytest.ini_options]\npythonpath = ["src"]\n',
    "README.md": "# Shop\n\nA shop that rounds once. See [storage](docs/storage.md).\n",
    "CHANGELOG.md": "# Changes\n",
    ".gitignore": "__pycache__/\n.pytest_cache/\n",
    ".kl/architecture.yaml": _LAYERS,
    "src/shop/__init__.py": "",
    "src/shop/cart.py": _CART,
    "src/shop/core/__init__.py": "",
    "src/shop/core/order.py": _ORDER,
    "src/shop/core/basket.py": _BASKET,
    "src/shop/api/__init__.py": "",
    "src/shop/api/http.py": "def current_user() -> str:\n    return 'ann'\n",
    "src/shop/store/__init__.py": "",
    "src/shop/store/rows.py": "def rows() -> list[int]:\n    return []\n",
    "tests/test_cart.py": _TESTS,
    "docs/storage.md": "# Storage\n\nRows are in SQLite: see ADR-0001, `Basket` and `Cart.total`.\n",
    "docs/guide.md": "# Guide\n\n## Loading carts\n\nCarts are loaded lazily, by `empty`.\n",
}


@dataclass(frozen=True)
class Preparation:
    """What is done to the repository for one page."""

    files: Mapping[str, str] = field(default_factory=dict)
    commands: Sequence[str] = ()
    """Lines for a shell, before the page's first command."""
    before: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """How a command of the page begins → what happened meanwhile."""
    replaced: Mapping[str, str] = field(default_factory=dict)
    """An ID that the page shows → the command that prints the one of this repository."""


def shop(folder: Path) -> Checkout:
    """The repository that every page begins with."""
    return checkout(folder, FILES, kl=False)


_RECORDED: Final = ("git add --all && git commit --quiet --message kl", "pytest --quiet")
_DECISION: Final = (
    'kl decision new "Use SQLite for receipts" --context "One writer." --decision "SQLite."'
    " --governs src/shop/store/"
)
_PDF_FORMS: Final = """\
---
name: pdf-forms
description: Fill in the fields of a PDF form.
---

# PDF forms

1. Read the names of the fields.
"""
_MADR: Final = """\
# Use Redis for carts

## Context and Problem Statement

Carts are lost at a restart.

## Decision Outcome

Chosen option: "Redis", because carts survive a restart.
"""
_FOUND_BY_GREP: Final = """\
{"hook_event_name": "PostToolUse", "session_id": "s", "tool_name": "Grep", "cwd": ".",
 "tool_input": {"pattern": "Basket"}, "tool_response": {"filenames": ["src/shop/cart.py"]}}
"""
_TRANSCRIPT: Final = """\
{"type": "assistant", "sessionId": "s", "message": {"role": "assistant", "content": [\
{"type": "tool_use", "id": "t", "name": "Grep", "input": {"pattern": "Basket"}}]}}
{"type": "user", "sessionId": "s", "message": {"role": "user", "content": [\
{"type": "tool_result", "tool_use_id": "t", "content": "src/shop/core/basket.py"}]}}
"""
_LCOV: Final = "TN:\nSF:web/src/format.ts\nFN:1,formatPrice\nFNDA:1,formatPrice\nend_of_record\n"
_JUNIT: Final = """\
<testsuites><testsuite name="web" tests="1"><testcase classname="cart" name="adds" file="web/src/cart.test.ts"/>
</testsuite></testsuites>
"""
_SLOT: Final = "class _Slot:\n    def __init__(self):\n        self.inprogress = set()\n"
_INDEXES: Final = """\
class CoordinateTransformIndex:
    def create_variables(self):
        return {}
"""

PAGES: Final[Mapping[str, Preparation]] = {
    "README.md": Preparation(
        before={"git commit": ("git add --all",)},
    ),
    "docs/claims.md": Preparation(commands=_RECORDED),
    "docs/context.md": Preparation(commands=_RECORDED),
    "docs/code-graph.md": Preparation(commands=_RECORDED),
    "docs/decisions.md": Preparation(
        files={"docs/adr/0001-use-redis-for-carts.md": _MADR},
        before={
            "kl decision supersede": (
                _DECISION,
                "cd .kl/knowledge/decisions && sed s/ADR-0002/ADR-0007/ ADR-0002-*.md"
                " > ADR-0007-receipts.md && rm ADR-0002-*.md",
            ),
            "kl decision renumber": (
                "cd .kl/knowledge/decisions && cp ADR-0007-receipts.md ADR-0007-from-the-branch.md",
            ),
        },
    ),
    "docs/documents.md": Preparation(
        before={
            "kl document add": (
                "mkdir ../runbooks && echo '# Restart: the disk is full' > ../runbooks/restart.md",
            ),
        }
    ),
    "docs/interview.md": Preparation(
        files={
            "docs/features/FEAT-AUTH-12-sign-in.md": "# Sign in\n\nPeople sign in by a link.\n",
            "docs/overview.md": "# Shop\n\nA shop that rounds once.\n",
            "docs/agents/rules.md": "# Rules\n\nAgents run the tests.\n",
            "docs/runbook/disk.md": "# Disk\n\nRemove old logs.\n",
            "answers.yaml": "purpose: It sells maps.\n",
        }
    ),
    "docs/kinds.md": Preparation(commands=('kl objective create --title "Ship" --tasks a,b',)),
    "docs/languages.md": Preparation(
        files={
            "web/src/format.ts": "export function formatPrice(cents: number) { return `${cents}` }\n",
            "report.xml": _JUNIT,
            "coverage/lcov.info": _LCOV,
        }
    ),
    "docs/layers.md": Preparation(
        before={
            "git commit": (
                "echo 'from shop.api import http' >> src/shop/core/order.py && git add --all",
            )
        }
    ),
    "docs/links.md": Preparation(commands=(_DECISION,)),
    "docs/reference/agents.md": Preparation(commands=("kl agents install claude",)),
    "docs/reference/code-graph.md": Preparation(
        files={
            "docs/pricing.md": "# Prices\n\nSee `Basket.total`.\n",
            "scrapy/core/engine.py": _SLOT,
            "xarray/core/indexes.py": _INDEXES,
        }
    ),
    "docs/reference/context.md": Preparation(
        commands=("git tag v1.4",),
        replaced={"cp-3f9a": "kl context 'next step' --format json | pick package_id"},
    ),
    "docs/reference/layers.md": Preparation(
        before={
            "kl arch allow": (
                "kl arch mv src/shop/api src/shop/web && echo 'PAGE = 1' > src/shop/web/page.py",
                "echo 'from shop.web import page' >> src/shop/core/order.py",
            )
        }
    ),
    "docs/reference/test-runs.md": Preparation(
        files={"tests/test_basket.py": "def test_sum():\n    assert 1 + 1 == 2\n"},
        before={
            "kl claim show": ("kl claim add 'carts round once' --about src/shop/cart.py",),
        },
        replaced={"3f9a ": "kl claim list --format json | pick claims 0 id"},
    ),
    "docs/sharing.md": Preparation(
        commands=(
            "git clone --quiet --bare . ../origin.git && git remote add origin ../origin.git",
            "ssh-keygen -q -t ed25519 -N '' -f ci && mkdir -p ~/.ssh",
        )
    ),
    "docs/skills.md": Preparation(
        files={".claude/skills/pdf-forms/SKILL.md": _PDF_FORMS},
        commands=("git add --all && git commit --quiet --message skills",),
    ),
    "docs/tasks.md": Preparation(before={"kl gate for": ("kl seed --system",)}),
    "docs/test-runs.md": Preparation(before={"pytest": ("git add --all",)}),
    "docs/tiers.md": Preparation(
        before={
            "kl pool write default build.status": ("kl pool write default build.status red",) * 4
        },
        replaced={
            "3f9a1c2b4d5e": "kl memory context show glossary --format json | pick snapshots 0 id"
        },
    ),
    "docs/upkeep.md": Preparation(
        files={
            "tool-result.json": _FOUND_BY_GREP,
            "session.jsonl": _TRANSCRIPT,
        }
    ),
}
