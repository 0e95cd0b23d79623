"""A small shop under git, with layers, for tests that need a real one."""

from __future__ import annotations

from pathlib import Path

from kl_hooks.workspace import Workspace, open_workspace
from tests.git.repos import make

LAYERS = """\
version: 1
layers:
  - name: core
    paths: [src/shop/core/]
    may_depend_on: []
    decision: ADR-0004
  - name: web
    paths: [src/shop/web/]
    may_depend_on: below
"""
FILES = {
    "src/shop/__init__.py": "",
    "src/shop/core/__init__.py": "",
    "src/shop/core/order.py": "def total() -> int:\n    return 1\n",
    "src/shop/web/__init__.py": "",
    "src/shop/web/page.py": "from ..core.order import total\n",
    "tests/test_order.py": "from shop.core import order\nfrom shop.web import page\n",
}
MANIFEST = ".kl/architecture.yaml"
DRIFT = "def total() -> int:\n    from shop.web import page\n    return 1\n"
ORDER = "src/shop/core/order.py"


def shop(folder: Path, more: dict[str, str] | None = None) -> Path:
    """A repository with one commit of the shop, its manifest, and more."""
    make(folder, {**FILES, MANIFEST: LAYERS, **(more or {})})
    return folder


def opened(folder: Path) -> Workspace:
    """Its workspace; home and configuration are folders next to it."""
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    return open_workspace(folder, environ={"HOME": str(home)})
