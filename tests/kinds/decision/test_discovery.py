"""What folders, dependencies and patterns show of decisions, and what they do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.kinds.catalog import DECISION
from kl_hooks.kinds.decision.discovery import (
    declared_dependencies,
    from_dependencies,
    from_layout,
    from_patterns,
)
from kl_hooks.model.symbol import Symbol
from kl_hooks.records.validate import validate

PROJECT = """
[project]
dependencies = ["FastAPI[all]>=0.1", "nothing-known"]
[project.optional-dependencies]
test = ["pytest"]
[dependency-groups]
dev = ["mypy", {include-group = "test"}]
[tool.poetry.group.docs.dependencies]
click = "^8"
"""


def classes(*names: str, mark: str = "", bases: str = "") -> list[Symbol]:
    return [
        Symbol(
            f"type:shop.{one}",
            "shop/a.py",
            1,
            1,
            f"class {one}{bases}",
            "",
            "",
            (mark,) if mark else (),
        )
        for one in names
    ]


@pytest.mark.requirement("B24")
def test_dependencies_weigh_by_who_imports_them() -> None:
    found = declared_dependencies(
        {
            "pyproject.toml": PROJECT,
            "requirements.txt": "# x\n-r y\nredis==5 ; python_version > '3'\n",
        }
    )
    assert set(found) == {"fastapi", "nothing-known", "pytest", "mypy", "click", "redis"}
    percent = {
        one.key: one.confidence
        for one in from_dependencies(found, {"click": ["a.py"], "redis": ["a", "b", "c"]})
    }
    assert percent == {
        "dependency:fastapi": 60,
        "dependency:click": 85,
        "dependency:redis": 95,
        "tool:pytest": 75,
        "tool:mypy": 75,
    }


@pytest.mark.requirement("B24")
def test_folders() -> None:
    paths = [
        "src/shop/__init__.py",
        ".github/workflows/ci.yml",
        "src/shop/domain/a.py",
        "src/shop/application/b.py",
        "src/shop/infrastructure/c.py",
        *(f"tests/test_{name}.py" for name in "abcde"),
    ]
    found = {one.key: one for one in from_layout(paths)}
    assert set(found) == {
        "layout:src",
        "layout:github-actions",
        "layers:application-domain-infrastructure",
        "layout:tests",
    }
    assert found["layers:application-domain-infrastructure"].governs[1] == "src/shop/domain/"
    assert "named after the modules" in found["layout:tests"].title
    assert list(from_layout(["a.py", "tests/test_a.py", "models/x.txt"])) == []


@pytest.mark.requirement("B24")
def test_patterns() -> None:
    frozen = classes(*"ABCDE", mark="@dataclass(frozen=True, slots=True)")
    ports = classes("X", "Y", "Z", bases="(Protocol)")
    some = [
        *classes("OrderRepository", "UserRepository", "ItemRepository", "Repository"),
        *frozen,
        *ports,
    ]
    found = {one.key: one.confidence for one in from_patterns(some)}
    assert found == {"pattern:repository": 85, "pattern:frozen": 95, "pattern:protocols": 82}
    assert list(from_patterns(classes("AService", "BService"))) == []
    assert (
        list(from_patterns([Symbol(one.id, "tests/a.py", 1, 1, "", "", "") for one in some])) == []
    )


@given(st.lists(st.text(max_size=30), max_size=8), st.text(max_size=200))
def test_whatever_the_repository_every_proposal_is_a_valid_record(
    paths: list[str], project: str
) -> None:
    found = [
        *from_layout(paths),
        *from_dependencies(
            declared_dependencies({"pyproject.toml": project, "requirements.txt": project}), {}
        ),
    ]
    for one in found:
        raw = {
            "title": one.title,
            "context": one.evidence[0],
            "decision": one.decision,
            "confidence": one.confidence,
        }
        assert validate(DECISION, raw, lambda name: (name, 0, 0))[1] == []
