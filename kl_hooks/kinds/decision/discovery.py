"""Discovery of decisions that the code has taken and no record states: declared dependencies, layout, patterns.

What it finds are proposals. Only a person accepts them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.kinds.catalog import DECISION
from kl_hooks.model.symbol import Symbol
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.records.write import create_records
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace


_THRESHOLD: Final = 70
"""Percent from which a proposal is shown."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Never more than a proposal: only a person accepts it."""

    key: str
    """What it is about, the same in every run: `dependency:fastapi`."""
    title: str
    decision: str
    evidence: tuple[str, ...]
    """What was seen, a line each."""
    confidence: int
    """Percent."""
    governs: tuple[str, ...] = ()
    """Files and folders that it holds for."""

    @property
    def source(self) -> str:
        """As the record keeps it, so that it is proposed once only."""
        return f"discovered:{self.key}"


_LIBRARIES: Final[Mapping[str, tuple[str, str, str]]] = {
    name: (shown, module, use)
    for use, rows in {
        "the web API": (
            "fastapi FastAPI fastapi", "flask Flask flask", "django Django django", "starlette Starlette starlette",
            "litestar Litestar litestar", "aiohttp aiohttp aiohttp", "tornado Tornado tornado",
            "djangorestframework REST-framework rest_framework", "grpcio gRPC grpc",
            "strawberry-graphql Strawberry strawberry",
        ),
        "access to the database": (
            "sqlalchemy SQLAlchemy sqlalchemy", "sqlmodel SQLModel sqlmodel", "peewee Peewee peewee",
            "tortoise-orm Tortoise tortoise", "psycopg Psycopg psycopg", "psycopg2 Psycopg2 psycopg2",
            "psycopg2-binary Psycopg2 psycopg2", "asyncpg asyncpg asyncpg",
            "pymongo MongoDB pymongo", "pymysql PyMySQL pymysql",
            "duckdb DuckDB duckdb",
        ),
        "schema migrations": ("alembic Alembic alembic", "yoyo-migrations Yoyo yoyo"),
        "caching and queues": (
            "redis Redis redis", "celery Celery celery", "rq RQ rq", "dramatiq Dramatiq dramatiq", "kombu Kombu kombu",
            "aiokafka Kafka aiokafka", "confluent-kafka Kafka confluent_kafka", "kafka-python Kafka kafka",
            "pika RabbitMQ pika",
            "diskcache DiskCache diskcache",
        ),
        "validation of data": (
            "pydantic Pydantic pydantic", "attrs attrs attr", "marshmallow Marshmallow marshmallow",
            "msgspec msgspec msgspec",
        ),
        "the command line": ("click click click", "typer Typer typer", "fire Fire fire", "docopt docopt docopt"),
        "HTTP requests": ("httpx HTTPX httpx", "requests Requests requests"),
        "plugins": ("pluggy pluggy pluggy", "stevedore Stevedore stevedore"),
        "logging": ("structlog structlog structlog", "loguru Loguru loguru"),
        "tabular data": ("pandas pandas pandas", "polars Polars polars"),
        "machine learning": (
            "torch PyTorch torch", "tensorflow TensorFlow tensorflow", "scikit-learn scikit-learn sklearn",
        ),
        "async code": ("anyio AnyIO anyio", "trio Trio trio"),
        "syntax trees": ("libcst LibCST libcst",),
    }.items()
    for name, shown, module in (row.split() for row in rows)
}  # fmt: skip
"""Name in the package index → (as people write it, the module it is imported as, what it is for)."""
_TOOLS: Final[Mapping[str, tuple[str, str]]] = {
    "ruff": ("Ruff", "linting and formatting"), "mypy": ("mypy", "type checks"), "pyright": ("Pyright", "type checks"),
    "pytest": ("pytest", "tests"), "hypothesis": ("Hypothesis", "property tests"), "black": ("Black", "formatting"),
    "import-linter": ("import-linter", "layers"), "tox": ("tox", "test environments"),
    "nox": ("nox", "test environments"),
    "pre-commit": ("pre-commit", "checks before a commit"),
}  # fmt: skip
"""The same for tools that no module imports."""


_DEPENDENCY_FILES: Final = ("pyproject.toml", "requirements.txt")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def declared_dependencies(files: Mapping[str, str]) -> dict[str, str]:
    """Name of each dependency → the file that declares it. A file that can't be read declares nothing."""
    found: dict[str, str] = {}
    for path, text in files.items():
        names = _in_requirements(text) if path.endswith(".txt") else _in_pyproject(text)
        for name in names:
            found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), path)
    return found


def from_dependencies(dependencies: Mapping[str, str], importers: Mapping[str, list[str]]) -> Iterator[Proposal]:
    """A proposal for each library that decides something. `importers`: module → the files that import it."""
    for name, path in sorted(dependencies.items()):
        if name in _LIBRARIES:
            shown, module, use = _LIBRARIES[name]
            files = sorted(importers.get(module, ()))
            evidence = [f"{path} declares {name}."]
            if files:
                more = f" and {len(files) - 3} more" if len(files) > 3 else ""
                evidence.append(f"{', '.join(files[:3])}{more} import{'s' if len(files) == 1 else ''} it.")
            confidence = 95 if len(files) > 2 else 85 if files else 60
            yield _use(f"dependency:{name}", shown, use, evidence, confidence, path)
        elif name in _TOOLS:
            shown, use = _TOOLS[name]
            yield _use(f"tool:{name}", shown, use, [f"{path} declares {name}."], 75, path)


def _use(key: str, shown: str, use: str, evidence: list[str], confidence: int, path: str) -> Proposal:
    says = f"{shown} is used for {use}."
    return Proposal(key, f"Use {shown} for {use}", says, tuple(evidence), confidence, (path,))


def _in_pyproject(text: str) -> Iterator[str]:
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    project, tool = _table(data, "project"), _table(data, "tool")
    poetry = _table(tool, "poetry")
    lists = [project.get("dependencies"), *_table(project, "optional-dependencies").values()]
    lists += _table(data, "dependency-groups").values()
    for one in lists:
        yield from _names(one)
    for table in (poetry, *(group for group in _table(poetry, "group").values() if isinstance(group, dict))):
        yield from (name for key in ("dependencies", "dev-dependencies") for name in _table(table, key))


def _in_requirements(text: str) -> Iterator[str]:
    yield from _names([line for line in text.splitlines() if not line.lstrip().startswith(("#", "-"))])


def _names(rows: Any) -> Iterator[str]:
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, str) and (found := _NAME.match(row.strip())):
            yield found[0]


def _table(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = data.get(key)
    return found if isinstance(found, dict) else {}


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


_LEAST: Final = 3
"""Classes of a pattern that make it one."""
_ENDINGS: Final = (
    ("Repository", "Reach stored data through repositories"),
    ("Service", "Put what the program does into services"),
    ("Factory", "Make objects through factories"),
    ("Handler", "Answer events with handlers"),
    ("Adapter", "Reach other systems through adapters"),
    ("UseCase", "Give every use case a class of its own"),
    ("Command", "Make every command an object"),
)
"""Ending of class names, and the decision that they show."""


def from_patterns(symbols: Sequence[Symbol]) -> Iterator[Proposal]:
    """Proposals from everything that is defined, tests left out."""
    own = [one for one in symbols if not one.path.startswith(("tests/", "test/"))]
    classes = [one for one in own if one.id.startswith(("type:", "interface:"))]
    for ending, title in _ENDINGS:
        found = [one for one in classes if re.search(rf"[a-z0-9]{ending}$", one.id)]
        if len(found) >= _LEAST:
            yield _of(f"pattern:{ending.lower()}", title, found, min(95, 70 + 5 * len(found)))
    yield from _share(classes, "pattern:frozen", "Make data classes frozen", _is_data, _is_frozen)
    yield from _ports(classes)
    functions = [one for one in own if one.id.startswith(("function:", "method:"))]
    waiting = [one for one in functions if one.signature.startswith("async ")]
    if len(waiting) >= 10 and len(waiting) * 4 >= len(functions):
        percent = min(95, 60 + 100 * len(waiting) // len(functions))
        yield _of("pattern:async", "Write what waits as coroutines", waiting, percent)


def _ports(classes: Sequence[Symbol]) -> Iterator[Proposal]:
    protocols = [one for one in classes if re.search(r"\((?:.*\W)?Protocol\b", one.signature)]
    abstract = [one for one in classes if re.search(r"\((?:.*\W)?ABC\b", one.signature)]
    for key, title, found, others in (
        ("protocols", "Describe interfaces as protocols", protocols, abstract),
        ("abc", "Describe interfaces as abstract classes", abstract, protocols),
    ):
        if len(found) >= _LEAST and len(found) > 3 * len(others):
            yield _of(f"pattern:{key}", title, found, min(90, 70 + 4 * len(found)))


def _share(
    symbols: Sequence[Symbol], key: str, title: str, one_of: Callable[[Symbol], bool], like: Callable[[Symbol], bool]
) -> Iterator[Proposal]:
    """A proposal where nearly all symbols of a sort are alike."""
    some = [one for one in symbols if one_of(one)]
    found = [one for one in some if like(one)]
    if len(some) >= 5 and len(found) * 10 >= len(some) * 8:
        yield _of(key, title, found, 100 * len(found) // len(some) - 5, f"{len(found)} of {len(some)}")


def _is_data(one: Symbol) -> bool:
    return any(re.match(r"@(?:\w+\.)?dataclass\b", mark) for mark in one.decorators)


def _is_frozen(one: Symbol) -> bool:
    return any("frozen=True" in mark for mark in one.decorators)


def _of(key: str, title: str, found: Sequence[Symbol], confidence: int, counted: str = "") -> Proposal:
    names = [one.id.partition(":")[2] for one in found]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    seen = f"{counted or len(names)}: {', '.join(names[:3])}{more}."
    paths = sorted({one.path for one in found})
    folders = sorted({path.rpartition("/")[0] + "/" for path in paths if "/" in path})
    return Proposal(key, title, f"{title}.", (seen,), confidence, tuple(paths if len(paths) <= 5 else folders[:10]))


def discover_decisions(ws: Workspace, threshold: int = _THRESHOLD) -> tuple[list[Proposal], int]:
    """(proposals that no record was made of yet, the surest first; how many were proposed before).

    What was proposed once is not proposed again, whatever became of it. EnvironmentProblem without git.
    """
    if ws.repo is None:
        raise EnvironmentProblem("there is no git repository to look at.", place=str(ws.root))
    found = [one for one in _all(ws) if one.confidence >= threshold]
    known = {
        one.text("source") for one in list_records(ws, RecordFilter((DECISION.name,), archived=True, expired=True))
    }
    fresh = [one for one in found if one.source not in known]
    return sorted(fresh, key=lambda one: (-one.confidence, one.key)), len(found) - len(fresh)


def record_proposals(ws: Workspace, proposals: Sequence[Proposal]) -> list[Record]:
    """Writes proposals as proposed records, all or none; nobody but a person accepts them."""
    return (
        create_records(ws, DECISION, [_raw(one) for one in proposals], by="kl decision discover") if proposals else []
    )


def _raw(one: Proposal) -> dict[str, Any]:
    return {
        "title": one.title,
        "status": "proposed",
        "context": "Seen in the code:\n\n" + "\n".join(f"- {line}" for line in one.evidence),
        "decision": one.decision,
        "governs": list(one.governs),
        "trigger": "discovered",
        "confidence": one.confidence,
        "authority": "auto",
        "source": one.source,
    }


def _all(ws: Workspace) -> list[Proposal]:
    from kl_hooks.code.query.lookup import select_symbols
    from kl_hooks.code.query.session import open_graph
    from kl_hooks.git import files

    assert ws.repo is not None
    paths = [one.path for one in files.worktree_files(ws.repo) if not one.path.startswith(".kl/")]
    dependencies = declared_dependencies({path: _text(ws, path) for path in _DEPENDENCY_FILES if path in paths})
    with open_graph(ws) as graph:
        symbols = select_symbols(graph.db, "1 = 1", ())
        importers = {module: _importers(graph.db, module) for _, module, _ in _LIBRARIES.values()}
    return [*from_dependencies(dependencies, importers), *from_layout(paths), *from_patterns(symbols)]


def _importers(db: Any, module: str) -> list[str]:
    """The files outside tests that import a module that is not of this repository."""
    from kl_hooks.graph import links

    found = links.incoming(db, f"namespace:{module}", "imports")
    return sorted({one.path for one in found if not one.path.startswith(("tests/", "test/"))})


def _text(ws: Workspace, path: str) -> str:
    try:
        return (read_small(ws.root / path, within=ws.root) or b"").decode("utf-8", "replace")
    except UsageProblem:
        return ""
