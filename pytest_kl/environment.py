"""In which environment a run happened: pytest, plugins, lock files, and the plugin code that lies in the repository."""

from __future__ import annotations

import hashlib
import os
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
    """`{"pid", "pytest", "plugins", "local_plugins", "locks", "rootdir"}`, each where there is any.

    `plugins` maps an installed distribution to its version, `local_plugins` a conftest or plugin file below `root` to
    16 digits of its digest, `locks` a lock file to the same; `rootdir` is pytest's, where it is not `root`. `pid`: the
    process in which pytest runs; where `kl run` started that very process, its exit status is pytest's.
    """
    found: dict[str, Any] = {
        "pid": os.getpid(),
        "pytest": pytest.__version__,
        "plugins": _distributions(config),
        "local_plugins": _local(config, root),
        "locks": {name: digest for name in LOCKS if (digest := _digest(root / name))},
    }
    if (rootdir := config.rootpath.resolve()) != root:
        found["rootdir"] = str(rootdir.relative_to(root) if rootdir.is_relative_to(root) else rootdir)
    return {key: value for key, value in found.items() if value}


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
