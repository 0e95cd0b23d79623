"""Discovery of decisions that the code embodies and no record states: dependencies, layout,
patterns.

What it finds are proposals. Only a person accepts them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import EnvironmentProblem, UsageProblem
from kl_hooks.kinds.catalog import DECISION
from kl_hooks.model.definitions import NamedTuple, lazy_pattern
from kl_hooks.model.symbol import Symbol
from kl_hooks.model.text import name_list
from kl_hooks.records.query import RecordFilter, list_records
from kl_hooks.records.write import create_records
from kl_hooks.store.files import read_small

if TYPE_CHECKING:
    from kl_hooks.model.record import Record
    from kl_hooks.workspace import Workspace

_THRESHOLD: Final = 70
"""Percent from which a proposal is shown."""
_DEPENDENCY_FILES: Final = ("pyproject.toml", "requirements.txt")
_NAME: Final = lazy_pattern(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TESTS: Final = ("tests/", "test/")
_LEAST: Final = 3
"""Classes that make a pattern."""


class Proposal(NamedTuple):
    """A decision that the code seems to follow."""

    key: str
    """What it is about, the same in every run: `dependency:fastapi`."""
    title: str
    decision: str
    evidence: tuple[str, ...]
    """A line each."""
    confidence: int
    """Percent."""
    governs: tuple[str, ...] = ()
    """Files and folders that it applies to."""

    @property
    def source(self) -> str:
        """The source of its record, by which it is proposed once only."""
        return f"discovered:{self.key}"


def discover_decisions(
    ws: Workspace,
    threshold: int = _THRESHOLD,
    is_shown: Callable[[str], bool] = lambda path: True,
) -> tuple[list[Proposal], int]:
    """Return (new proposals, the surest first; how many were proposed before, whatever became of
    them). `is_shown`: whether a file may be looked at, by its path.

    EnvironmentProblem without git.
    """
    if ws.repo is None:
        raise EnvironmentProblem("there is no git repository to look at.", place=str(ws.root))
    proposals = [one for one in _all_proposals(ws, is_shown) if one.confidence >= threshold]
    # rejected and archived ones too: what a person refused is not proposed again
    records = list_records(ws, RecordFilter((DECISION.name,), archived=True, expired=True))
    known_sources = {one.text("source") for one in records}
    new = [one for one in proposals if one.source not in known_sources]
    return sorted(new, key=lambda one: (-one.confidence, one.key)), len(proposals) - len(new)


def record_proposals(ws: Workspace, proposals: Sequence[Proposal]) -> list[Record]:
    """Record these as proposed decisions, all or none."""
    raws = [
        {
            "title": one.title,
            "status": "proposed",
            "decision": one.decision,
            "governs": list(one.governs),
            "context": "Seen in the code:\n\n" + "\n".join(f"- {line}" for line in one.evidence),
            "trigger": "discovered",
            "confidence": one.confidence,
            "authority": "auto",
            "source": one.source,
        }
        for one in proposals
    ]
    if not raws:
        return []
    return create_records(ws, DECISION, raws, by="kl decision discover")


def _all_proposals(ws: Workspace, is_shown: Callable[[str], bool]) -> list[Proposal]:
    from kl_hooks.code.query.lookup import select_symbols
    from kl_hooks.code.query.session import open_graph
    from kl_hooks.git import files

    assert ws.repo is not None
    # without .kl/: what kl wrote is no decision that the code has taken
    paths = [
        file.path
        for file in files.worktree_files(ws.repo)
        if not file.path.startswith(".kl/") and is_shown(file.path)
    ]
    dependencies = declared_dependencies(
        {path: _text(ws, path) for path in _DEPENDENCY_FILES if path in paths}
    )
    with open_graph(ws) as graph:
        symbols = [
            symbol for symbol in select_symbols(graph.db, "1 = 1", ()) if is_shown(symbol.path)
        ]
        importers = {
            module: [path for path in _importers(graph.db, module) if is_shown(path)]
            for _, module, _ in _LIBRARIES.values()
        }
    return [
        *from_dependencies(dependencies, importers),
        *from_layout(paths),
        *from_patterns(symbols),
    ]


def _importers(db: Any, module: str) -> list[str]:
    """The files outside of tests that import a module that is not of this repository."""
    from kl_hooks.graph import links

    # a library that only tests import decides nothing about the program
    import_links = links.incoming(db, f"namespace:{module}", "imports")
    return sorted({one.path for one in import_links if not one.path.startswith(_TESTS)})


def _text(ws: Workspace, path: str) -> str:
    try:
        return (read_small(ws.root / path, within=ws.root) or b"").decode("utf-8", "replace")
    except UsageProblem:
        return ""


_LIBRARIES: Final[Mapping[str, tuple[str, str, str]]] = {
    name: (shown, module, use)
    for use, rows in {
        "the web API": (
            "fastapi FastAPI fastapi",
            "flask Flask flask",
            "django Django django",
            "starlette Starlette starlette",
            "litestar Litestar litestar",
            "aiohttp aiohttp aiohttp",
            "tornado Tornado tornado",
            "djangorestframework REST-framework rest_framework",
            "grpcio gRPC grpc",
            "strawberry-graphql Strawberry strawberry",
        ),
        "access to the database": (
            "sqlalchemy SQLAlchemy sqlalchemy",
            "sqlmodel SQLModel sqlmodel",
            "peewee Peewee peewee",
            "tortoise-orm Tortoise tortoise",
            "psycopg Psycopg psycopg",
            "psycopg2 Psycopg2 psycopg2",
            "psycopg2-binary Psycopg2 psycopg2",
            "asyncpg asyncpg asyncpg",
            "pymongo MongoDB pymongo",
            "pymysql PyMySQL pymysql",
            "duckdb DuckDB duckdb",
        ),
        "schema migrations": ("alembic Alembic alembic", "yoyo-migrations Yoyo yoyo"),
        "caching and queues": (
            "redis Redis redis",
            "celery Celery celery",
            "rq RQ rq",
            "dramatiq Dramatiq dramatiq",
            "kombu Kombu kombu",
            "aiokafka Kafka aiokafka",
            "confluent-kafka Kafka confluent_kafka",
            "kafka-python Kafka kafka",
            "pika RabbitMQ pika",
            "diskcache DiskCache diskcache",
        ),
        "validation of data": (
            "pydantic Pydantic pydantic",
            "attrs attrs attr",
            "marshmallow Marshmallow marshmallow",
            "msgspec msgspec msgspec",
        ),
        "the command line": (
            "click click click",
            "typer Typer typer",
            "fire Fire fire",
            "docopt docopt docopt",
        ),
        "HTTP requests": ("httpx HTTPX httpx", "requests Requests requests"),
        "plugins": ("pluggy pluggy pluggy", "stevedore Stevedore stevedore"),
        "logging": ("structlog structlog structlog", "loguru Loguru loguru"),
        "tabular data": ("pandas pandas pandas", "polars Polars polars"),
        "machine learning": (
            "torch PyTorch torch",
            "tensorflow TensorFlow tensorflow",
            "scikit-learn scikit-learn sklearn",
        ),
        "async code": ("anyio AnyIO anyio", "trio Trio trio"),
        "syntax trees": ("libcst LibCST libcst",),
    }.items()
    for name, shown, module in (row.split() for row in rows)
}
"""Name in the package index → (as people write it, the module it is imported as, what it is for).
"""
_TOOLS: Final[Mapping[str, tuple[str, str]]] = {
    "ruff": ("Ruff", "linting and formatting"),
    "mypy": ("mypy", "type checks"),
    "pyright": ("Pyright", "type checks"),
    "pytest": ("pytest", "tests"),
    "hypothesis": ("Hypothesis", "property tests"),
    "black": ("Black", "formatting"),
    "import-linter": ("import-linter", "layers"),
    "tox": ("tox", "test environments"),
    "nox": ("nox", "test environments"),
    "pre-commit": ("pre-commit", "checks before a commit"),
}
"""The same for tools that no module imports."""


def declared_dependencies(files: Mapping[str, str]) -> dict[str, str]:
    """Return name of each dependency → the file that declares it.

    An invalid file declares nothing.
    """
    file_of_dependency: dict[str, str] = {}
    for path, text in files.items():
        # lines with a dash are options of pip's format: `-r other.txt`, `-e .`, `--hash=…`
        lines = [line for line in text.splitlines() if not line.lstrip().startswith(("#", "-"))]
        for name in _names(lines) if path.endswith(".txt") else _in_pyproject(text):
            # names are compared as PEP 503 normalizes them
            file_of_dependency.setdefault(re.sub(r"[-_.]+", "-", name).lower(), path)
    return file_of_dependency


def _in_pyproject(text: str) -> Iterator[str]:
    try:
        data = tomllib.loads(text)
    # tomllib recurses into nested arrays and tables, and RecursionError is no TOMLDecodeError
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    project = _table(data, "project")
    poetry = _table(_table(data, "tool"), "poetry")
    lists = [project.get("dependencies"), *_table(project, "optional-dependencies").values()]
    # PEP 621 has the first two, PEP 735 the groups
    for requirement_list in (*lists, *_table(data, "dependency-groups").values()):
        yield from _names(requirement_list)
    # Poetry has groups since 1.2; older projects list theirs under dev-dependencies
    for table in (
        poetry,
        *(group for group in _table(poetry, "group").values() if isinstance(group, dict)),
    ):
        yield from (
            name for key in ("dependencies", "dev-dependencies") for name in _table(table, key)
        )


def _names(rows: Any) -> Iterator[str]:
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, str) and (match := _NAME.match(row.strip())):
            yield match[0]


def _table(data: Mapping[str, Any], key: str) -> dict[str, Any]:
    table = data.get(key)
    if isinstance(table, dict):
        return table
    return {}


def from_dependencies(
    dependencies: Mapping[str, str], importers: Mapping[str, list[str]]
) -> Iterator[Proposal]:
    """Yield a proposal for each library that decides something. `importers`: module → the files
    that import it.
    """
    for name, path in sorted(dependencies.items()):
        evidence, shown, use, confidence = (
            [f"{path} declares {name}."],
            *_TOOLS.get(name, ("", "")),
            75,
        )
        if name in _LIBRARIES:
            shown, module, use = _LIBRARIES[name]
            files = sorted(importers.get(module, ()))
            # imported nowhere: 60 is below the threshold, since what is declared may be a leftover
            if len(files) > 2:
                confidence = 95
            elif files:
                confidence = 85
            else:
                confidence = 60
            if files:
                evidence.append(f"{name_list(files, 3)} import{'s' if len(files) == 1 else ''} it.")
        if shown:
            key = f"{'dependency' if name in _LIBRARIES else 'tool'}:{name}"
            decision = f"{shown} is used for {use}."
            yield Proposal(
                key, f"Use {shown} for {use}", decision, tuple(evidence), confidence, (path,)
            )


_LAYERS: Final = (
    ({"domain", "application", "infrastructure"}, "domain, application and infrastructure apart"),
    ({"models", "views", "templates"}, "models, views and templates apart"),
    ({"controllers", "services", "repositories"}, "controllers, services and repositories apart"),
    ({"api", "services", "models"}, "API, services and models apart"),
    ({"adapters", "ports"}, "ports and adapters"),
)
"""Names of sibling folders, and the decision that they show."""
_FILES: Final = (
    (r"(?:.*/)?Dockerfile(?:\..+)?", "container", "Ship in a container image", 90),
    (r"(?:docker-)?compose\.ya?ml", "compose", "Run the services with Compose", 80),
    (r"\.github/workflows/.+\.ya?ml", "github-actions", "Run the checks in GitHub Actions", 90),
    (r"\.gitlab-ci\.yml", "gitlab-ci", "Run the checks in GitLab CI", 90),
    (
        r"(?:.*/)?(?:alembic/versions|migrations)/.+\.py",
        "migrations",
        "Change the database by migrations",
        85,
    ),
    (r".+\.tf", "terraform", "Describe the infrastructure with Terraform", 85),
    (r"(?:.*/)?[^/]+\.proto", "protobuf", "Describe messages with Protocol Buffers", 85),
    (r"(?:.*/)?Chart\.yaml", "helm", "Deploy with Helm charts", 85),
    (r"\.pre-commit-config\.yaml", "pre-commit", "Check every commit with pre-commit", 80),
)
"""Pattern of a path, key, decision, percent."""


def from_layout(paths: Collection[str]) -> Iterator[Proposal]:
    """Yield proposals from the paths of a repository: its layout, and what it is run and built
    with.
    """
    packages = _matching(paths, r"src/[^/]+/__init__\.py")
    if packages:
        title = "Keep the packages in a folder of their own (src)"
        decision = (
            "What is imported is the installed package, never the folder that happens to be"
            " current."
        )
        yield Proposal(
            "layout:src", title, decision, (f"{name_list(packages, 3)}.",), 85, ("src/",)
        )
    yield from _tests_folder(paths)
    yield from _layers(paths)
    for pattern, key, title, percent in _FILES:
        if matching := _matching(paths, pattern):
            folder = str(PurePosixPath(matching[0]).parent)
            if len(matching) == 1 or folder == ".":
                governs = matching[0]
            else:
                governs = f"{folder}/"
            yield Proposal(
                f"layout:{key}",
                title,
                f"{title}.",
                (f"{name_list(matching, 3)}.",),
                percent,
                (governs,),
            )


def _matching(paths: Collection[str], pattern: str) -> list[str]:
    return sorted(path for path in paths if re.fullmatch(pattern, path))


def _tests_folder(paths: Collection[str]) -> Iterator[Proposal]:
    """Tests in a folder of their own, whose files may be named after the modules."""
    tests = [path for path in paths if re.fullmatch(r"(?:.*/)?test_[^/]+\.py", path)]
    apart = [path for path in tests if path.startswith(_TESTS)]
    modules = {PurePosixPath(path).name for path in paths if path.endswith(".py")}
    mirrored = [path for path in apart if PurePosixPath(path).name.removeprefix("test_") in modules]
    if len(apart) >= 5 and len(apart) * 10 >= len(tests) * 9:
        folder = apart[0].partition("/")[0] + "/"
        alike = len(mirrored) * 2 >= len(apart)
        title = (
            f"Keep tests in {folder},"
            f" {'named after the modules they test' if alike else 'apart from the code'}"
        )
        evidence = (
            f"{len(apart)} of {len(tests)} test files; {len(mirrored)} are named after a module."
        )
        yield Proposal(
            "layout:tests", title, f"{title}.", (evidence,), 85 if alike else 75, (folder,)
        )


def _layers(paths: Collection[str]) -> Iterator[Proposal]:
    entries: dict[str, set[str]] = {}
    for path in paths:
        parts = PurePosixPath(path).parts
        if path.endswith(".py"):
            for depth in range(len(parts) - 1):
                entries.setdefault("/".join(parts[:depth]), set()).add(parts[depth])
    for names, words in _LAYERS:
        folder = next(
            (folder for folder, inside in sorted(entries.items()) if names <= inside), None
        )
        if folder is not None:
            prefix = f"{folder}/" if folder else ""
            place = prefix or "the root"
            shown = ", ".join(sorted(names))
            if "apart" in words:
                title = f"Keep {words}"
            else:
                title = f"Build on {words}"
            governs = tuple(f"{prefix}{name}/" for name in sorted(names))
            key = f"layers:{'-'.join(sorted(names))}"
            yield Proposal(
                key, title, f"{title}, in {place}.", (f"{place} has {shown}.",), 80, governs
            )


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
    """Yield proposals from names, bases and decorators of everything that is defined outside of
    tests.
    """
    own = [one for one in symbols if not one.path.startswith(_TESTS)]
    classes = [one for one in own if one.id.startswith(("type:", "interface:"))]
    for ending, title in _ENDINGS:
        # a letter before the ending: a base class that is just `Repository` is no second example of
        # it
        matching = [one for one in classes if re.search(rf"[a-z0-9]{ending}$", one.id)]
        if len(matching) >= _LEAST:
            yield _pattern(ending.lower(), title, matching, min(95, 70 + 5 * len(matching)))
    data = [
        one
        for one in classes
        if any(re.match(r"@(?:\w+\.)?dataclass\b", mark) for mark in one.decorators)
    ]
    frozen = [one for one in data if any("frozen=True" in mark for mark in one.decorators)]
    if len(data) >= 5 and len(frozen) * 10 >= len(data) * 8:
        count = f"{len(frozen)} of {len(data)}"
        yield _pattern(
            "frozen", "Make data classes frozen", frozen, 100 * len(frozen) // len(data) - 5, count
        )
    protocols = [one for one in classes if re.search(r"\((?:.*\W)?Protocol\b", one.signature)]
    abstract = [one for one in classes if re.search(r"\((?:.*\W)?ABC\b", one.signature)]
    for key, title, matching, others in (
        ("protocols", "Describe interfaces as protocols", protocols, abstract),
        ("abc", "Describe interfaces as abstract classes", abstract, protocols),
    ):
        # where both are in use, neither was decided on
        if len(matching) >= _LEAST and len(matching) > 3 * len(others):
            yield _pattern(key, title, matching, min(90, 70 + 4 * len(matching)))
    functions = [one for one in own if one.id.startswith(("function:", "method:"))]
    coroutines = [one for one in functions if one.signature.startswith("async ")]
    if len(coroutines) >= 10 and len(coroutines) * 4 >= len(functions):
        percent = min(95, 60 + 100 * len(coroutines) // len(functions))
        yield _pattern("async", "Write what waits as coroutines", coroutines, percent)


def _pattern(
    key: str, title: str, symbols: Sequence[Symbol], confidence: int, count: str = ""
) -> Proposal:
    names = [symbol.id.partition(":")[2] for symbol in symbols]
    evidence = f"{count or len(names)}: {name_list(names, 3)}."
    paths = sorted({symbol.path for symbol in symbols})
    folders = sorted({path.rpartition("/")[0] + "/" for path in paths if "/" in path})
    governs = tuple(paths if len(paths) <= 5 else folders[:10])
    return Proposal(f"pattern:{key}", title, f"{title}.", (evidence,), confidence, governs)
