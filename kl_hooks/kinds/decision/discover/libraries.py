"""Libraries whose choice is a decision: what each is for. A table, so that another is one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LIBRARIES: Final[Mapping[str, tuple[str, str, str]]] = {
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
TOOLS: Final[Mapping[str, tuple[str, str]]] = {
    "ruff": ("Ruff", "linting and formatting"), "mypy": ("mypy", "type checks"), "pyright": ("Pyright", "type checks"),
    "pytest": ("pytest", "tests"), "hypothesis": ("Hypothesis", "property tests"), "black": ("Black", "formatting"),
    "import-linter": ("import-linter", "layers"), "tox": ("tox", "test environments"),
    "nox": ("nox", "test environments"),
    "pre-commit": ("pre-commit", "checks before a commit"),
}  # fmt: skip
"""The same for tools that no module imports."""
