"""Has grimp build the import graph of packages that lie in known folders.

grimp finds packages through Python's import system, which looks at `sys.path` and at what is loaded
already. Here it is given the folders: nothing of the source needs to be importable, and no folder
of it ever comes onto `sys.path`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class KnownFolders:
    """grimp's package finder, with the answer given beforehand."""

    def __init__(self, folders: Mapping[str, Sequence[str]]) -> None:
        self._folders = folders

    def determine_package_directories(self, package_name: str, file_system: Any) -> set[str]:
        """The folders of a package; several for a namespace package. KeyError for a package that is
        not known.
        """
        return set(self._folders[package_name])

    def determine_package_directory(self, package_name: str, file_system: Any) -> str:
        """What older versions of grimp ask for. ValueError where one folder is not the whole
        package.
        """
        first, *others = self._folders[package_name]
        if others:
            raise ValueError(
                f"this version of grimp can't read {package_name}, which lies in several folders"
            )
        return first


def build(
    folders: Mapping[str, Sequence[str]], *, externals: bool, without_type_checking: bool
) -> Any:
    """The graph of these packages (name → its folders), by grimp itself and without its cache.

    For a process of its own: grimp's settings are changed. Raises what grimp raises,
    SourceSyntaxError first of all.
    """
    import grimp
    from grimp.application.config import settings

    settings.configure(PACKAGE_FINDER=KnownFolders(folders))
    return grimp.build_graph(
        *folders,
        include_external_packages=externals,
        exclude_type_checking_imports=without_type_checking,
        cache_dir=None,
    )


def place_of_syntax_error(problem: Exception) -> tuple[str, int] | None:
    """File and line (0: not known) where grimp could not parse; None for any other trouble."""
    from grimp.exceptions import SourceSyntaxError

    if not isinstance(problem, SourceSyntaxError):
        return None
    return (str(problem.filename), problem.lineno or 0)
