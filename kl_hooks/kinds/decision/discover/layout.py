"""Decisions in the folders of a repository: how it is laid out, and what it is run and built with. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath
from typing import Final

from kl_hooks.kinds.decision.discover.proposal import Proposal

_LAYERS: Final = (
    ({"domain", "application", "infrastructure"}, "domain, application and infrastructure apart"),
    ({"models", "views", "templates"}, "models, views and templates apart"),
    ({"controllers", "services", "repositories"}, "controllers, services and repositories apart"),
    ({"api", "services", "models"}, "API, services and models apart"),
    ({"adapters", "ports"}, "ports and adapters"),
)
"""Names of folders beside each other, and the decision that they show."""
_FILES: Final = (
    (r"(?:.*/)?Dockerfile(?:\..+)?", "container", "Ship in a container image", 90),
    (r"(?:docker-)?compose\.ya?ml", "compose", "Run the services with Compose", 80),
    (r"\.github/workflows/.+\.ya?ml", "github-actions", "Run the checks in GitHub Actions", 90),
    (r"\.gitlab-ci\.yml", "gitlab-ci", "Run the checks in GitLab CI", 90),
    (r"(?:.*/)?(?:alembic/versions|migrations)/.+\.py", "migrations", "Change the database by migrations", 85),
    (r".+\.tf", "terraform", "Describe the infrastructure with Terraform", 85),
    (r"(?:.*/)?[^/]+\.proto", "protobuf", "Describe messages with Protocol Buffers", 85),
    (r"(?:.*/)?Chart\.yaml", "helm", "Deploy with Helm charts", 85),
    (r"\.pre-commit-config\.yaml", "pre-commit", "Check every commit with pre-commit", 80),
)  # fmt: skip
"""Pattern of a path, key, decision, percent."""


def from_layout(paths: Collection[str]) -> Iterator[Proposal]:
    """Proposals from the paths of a repository."""
    yield from _source_folder(paths)
    yield from _tests(paths)
    yield from _layers(paths)
    for pattern, key, title, percent in _FILES:
        found = sorted(path for path in paths if re.fullmatch(pattern, path))
        if found:
            folder = str(PurePosixPath(found[0]).parent)
            governs = found[0] if len(found) == 1 or folder == "." else f"{folder}/"
            yield Proposal(f"layout:{key}", title, f"{title}.", (_some(found),), percent, (governs,))


def _source_folder(paths: Collection[str]) -> Iterator[Proposal]:
    packages = sorted(path for path in paths if re.fullmatch(r"src/[^/]+/__init__\.py", path))
    if packages:
        title = "Keep the packages in a folder of their own (src)"
        says = "What is imported is the installed package, never the folder that happens to be current."
        yield Proposal("layout:src", title, says, (_some(packages),), 85, ("src/",))


def _tests(paths: Collection[str]) -> Iterator[Proposal]:
    """Tests beside the code, or in a folder of their own whose files are called like the modules."""
    tests = [path for path in paths if re.fullmatch(r"(?:.*/)?test_[^/]+\.py", path)]
    apart = [path for path in tests if path.startswith(("tests/", "test/"))]
    modules = {PurePosixPath(path).name for path in paths if path.endswith(".py")}
    mirrored = [path for path in apart if PurePosixPath(path).name.removeprefix("test_") in modules]
    if len(apart) >= 5 and len(apart) * 10 >= len(tests) * 9:
        folder = apart[0].partition("/")[0] + "/"
        alike = len(mirrored) * 2 >= len(apart)
        title = f"Keep tests in {folder}" + (
            ", named after the modules they test" if alike else ", apart from the code"
        )
        seen = f"{len(apart)} of {len(tests)} test files; {len(mirrored)} are named after a module."
        yield Proposal("layout:tests", title, f"{title}.", (seen,), 85 if alike else 75, (folder,))


def _layers(paths: Collection[str]) -> Iterator[Proposal]:
    below: dict[str, set[str]] = {}
    for path in paths:
        parts = PurePosixPath(path).parts
        if path.endswith(".py"):
            for depth in range(len(parts) - 1):
                below.setdefault("/".join(parts[:depth]), set()).add(parts[depth])
    for names, words in _LAYERS:
        for folder, inside in sorted(below.items()):
            if names <= inside:
                place = f"{folder}/" if folder else ""
                seen = f"{place or 'the root'} holds {', '.join(sorted(names))}."
                title = f"Keep {words}" if "apart" in words else f"Build on {words}"
                governs = tuple(f"{place}{name}/" for name in sorted(names))
                says = f"{title}, in {place or 'the root'}."
                yield Proposal(f"layers:{'-'.join(sorted(names))}", title, says, (seen,), 80, governs)
                break


def _some(paths: Collection[str]) -> str:
    found = sorted(paths)
    return f"{', '.join(found[:3])}{f' and {len(found) - 3} more' if len(found) > 3 else ''}."
