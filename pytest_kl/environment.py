"""In which environment a run happened: pytest, plugins, lock files, and the plugin code that lies in the repository."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

LOCKS = (
    "uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock", "requirements.txt", "requirements-dev.txt",
    "constraints.txt", "conda-lock.yml", "pixi.lock",
)  # fmt: skip
"""Files at the root that say which packages are installed."""


def environment_of(config: pytest.Config, root: Path) -> dict[str, Any]:
    """`{"pid", "pytest", "plugins", "local_plugins", "locks", "way", "rootdir"}`, each where there is any.

    `plugins` maps an installed distribution to its version, `local_plugins` a conftest or plugin file below `root` to
    16 digits of its digest, `locks` a lock file to the same; `way` is how the tests are run, see `way_of`; `rootdir` is
    pytest's, where it is not `root`. `pid`: the process in which pytest runs; where `kl run` started that very process,
    its exit status is pytest's.
    """
    found: dict[str, Any] = {
        "pid": os.getpid(),
        "pytest": pytest.__version__,
        "plugins": _distributions(config),
        "local_plugins": _local(config, root),
        "locks": {name: digest for name in LOCKS if (digest := _digest(root / name))},
        "way": way_of(config),
    }
    if (rootdir := config.rootpath.resolve()) != root:
        found["rootdir"] = str(rootdir.relative_to(root) if rootdir.is_relative_to(root) else rootdir)
    return {key: value for key, value in found.items() if value}


def way_of(config: pytest.Config) -> dict[str, Any]:
    """`{"distributed": workers}`, 0 for one process; where tests are shuffled also `random_order` and `seed`.

    Read from the options of pytest-xdist, pytest-randomly and pytest-random-order, as they are in force.
    """
    plugins = config.pluginmanager
    workers = config.getoption("tx", None) if config.getoption("dist", "no") != "no" else None
    found: dict[str, Any] = {"distributed": _processes(workers or ())}
    if plugins.hasplugin("randomly") and config.getoption("randomly_reorganize", False):
        found |= {"random_order": "pytest-randomly", "seed": _seed(config.getoption("randomly_seed", None))}
    elif plugins.hasplugin("random_order") and _random_order(config):
        seed = str(config.getoption("random_order_seed", "")).removeprefix("default:")
        found |= {"random_order": "pytest-random-order", "seed": seed}
    return found


def _processes(specs: Iterable[object]) -> int:
    """How many workers xdist starts: `3*popen` are three."""
    counts = (str(spec).partition("*")[0] for spec in specs)
    return sum(int(count) if count.isdecimal() else 1 for count in counts)


def _seed(value: object) -> int | str | None:
    return value if isinstance(value, int) else None  # "default" and "last" are words for a seed not chosen yet


def _random_order(config: pytest.Config) -> bool:
    """Whether pytest-random-order shuffles: asked for as such, or by a bucket or a seed (its own rule)."""
    asked = [str(config.getoption(name, "default:")) for name in ("random_order_bucket", "random_order_seed")]
    return bool(config.getoption("random_order_enabled", False)) or any(
        not value.startswith("default:") for value in asked
    )


def _distributions(config: pytest.Config) -> dict[str, str]:
    listed = config.pluginmanager.list_plugin_distinfo()
    return {str(dist.project_name): str(dist.version) for _, dist in listed}


def _local(config: pytest.Config, root: Path) -> dict[str, str]:
    found = {}
    for plugin in config.pluginmanager.get_plugins():
        file = plugin.__file__ if isinstance(plugin, ModuleType) else None
        if file and (path := Path(file)).is_relative_to(root) and (digest := _digest(path)):
            found[path.relative_to(root).as_posix()] = digest
    return dict(sorted(found.items()))


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError:
        return None
