"""No hookspec without an implementer."""

from __future__ import annotations

from kl_hooks import hookspecs
from kl_hooks.plugins import manager


def test_every_hookspec_has_a_built_in_implementer() -> None:
    made = manager()
    names = [name for name in vars(hookspecs) if name.startswith("kl_")]
    assert names
    assert [name for name in names if not getattr(made.hook, name).get_hookimpls()] == []


def test_built_in_entry_points_are_strings_and_plugins_imports_none_of_them() -> None:
    import subprocess
    import sys

    code = (
        "import sys, kl_hooks.plugins as p; "
        "assert all(isinstance(d, str) for d in p.BUILT_IN); "
        "print([d for d in p.BUILT_IN if d in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
