"""Embedders: nothing is asked of a network unless the user named a server, and that server gets no
secret.
"""

from __future__ import annotations

import json
import logging
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from kl_hooks.config.settings import load_settings
from kl_hooks.errors import EnvironmentProblem
from kl_hooks.index import embedders
from kl_hooks.index.embedders import make_embedder
from kl_hooks.index.vectors import embed, embedder_of
from tests.support import Checkout

SENTENCES = (
    "How do I limit the number of open connections?",
    "The most sockets that a client keeps open at the same time.",
    "A recipe for bread with olives.",
)


def test_the_shipped_model_knows_meaning_and_opens_no_socket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*args: Any, **named: Any) -> Any:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    handlers, level = list(logging.getLogger().handlers), logging.getLogger().level
    model = make_embedder("wordllama", {})
    assert model is not None
    rows = embed(model, [*SENTENCES, ""])
    assert rows.shape == (4, model.dimension) == (4, 256)
    near, far = float(rows[0] @ rows[1]), float(rows[0] @ rows[2])
    assert near > far + 0.2
    assert float(rows[1] @ rows[1]) == pytest.approx(1)
    assert not rows[3].any()
    assert (
        embed(model, ["Olives, olives; olives!"]).tolist()
        == embed(model, ["Olives olives"]).tolist()
    )
    assert not embed(model, ["+-*/ …", "\U0001f9ff"]).any()
    assert (logging.getLogger().handlers, logging.getLogger().level) == (handlers, level)


def test_missing_weights_are_an_error_not_a_download(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **named: Any) -> Any:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    embedders._load_wordllama.cache_clear()
    # a model of the same library whose weights are not in its wheel
    monkeypatch.setattr(embedders, "_WORDLLAMA", "l3_supercat")
    model = make_embedder("wordllama", {})
    assert model is not None
    with pytest.raises(
        EnvironmentProblem, match=r"wordllama/l3_supercat: failed: .*downloads are disabled"
    ):
        embed(model, ["x"])


def test_a_numpy_that_can_not_be_imported_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)  # as where a library that it needs is missing
    monkeypatch.setattr(embedders, "find_spec", lambda name: object())
    with pytest.raises(
        EnvironmentProblem, match=r"numpy can't be imported: .*git config kl.embedder off"
    ):
        make_embedder("wordllama", {})


@pytest.mark.parametrize("missing", ["numpy", "wordllama"])
def test_without_the_extra_the_message_names_it(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        raise embedders.PackageNotFoundError(name)

    monkeypatch.setattr(embedders, "version", version)
    monkeypatch.setattr(embedders, "find_spec", lambda name: None if name == missing else object())
    with pytest.raises(
        EnvironmentProblem,
        match=rf"{missing} is not installed. pip install 'kl-hooks\[embeddings\]'",
    ):
        make_embedder("wordllama", {})


def test_only_the_user_chooses_an_embedder(repo: Checkout) -> None:
    repo.write(".kl/config.yaml", "embedder: server m https://collector.example/v1\n")
    ws = repo.workspace()
    assert ws.settings.embedder == "wordllama"
    assert "for a user to set" in str(ws.settings.warnings[0])
    row = next(
        line for line in repo.kl("config").stdout.splitlines() if line.startswith("embedder ")
    )
    assert row.split() == ["embedder", "wordllama", "default"]
    repo.git("config", "kl.embedder", "off")
    with pytest.raises(EnvironmentProblem, match="turned off"):
        embedder_of(repo.workspace())
    repo.git("config", "kl.embedder", "server nomic-embed-text")
    assert embedder_of(repo.workspace()).name == "server nomic-embed-text http://127.0.0.1:11434/v1"
    for wrong in ("word2vec", "path", "server", "server a b c", "off now"):
        repo.git("config", "kl.embedder", wrong)
        with pytest.raises(EnvironmentProblem, match="is no model") as problem:
            embedder_of(repo.workspace())
        assert "server MODEL" in problem.value.hint
    assert (
        load_settings(repo.root, {"embedder": "path  /my models/a"}, {}, None).embedder
        == "path /my models/a"
    )


class Fake:
    """What `sentence_transformers` offers, as far as it is used."""

    def __init__(self, folder: str, *, local_files_only: bool) -> None:
        assert local_files_only
        self.weights = json.loads((Path(folder) / "modules.json").read_text())

    def encode(self, texts: list[str], *, show_progress_bar: bool) -> list[list[float]]:
        assert not show_progress_bar
        return [[float(len(text)), self.weights["a"]] for text in texts]


def test_a_model_in_a_folder_is_used_and_a_broken_one_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a model"
    with pytest.raises(EnvironmentProblem, match="sentence-transformers is not installed"):
        make_embedder(f"path {folder}", {})
    module = type(sys)("sentence_transformers")
    module.SentenceTransformer = Fake  # type: ignore[attr-defined]
    module.__spec__ = sys.__spec__
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    with pytest.raises(EnvironmentProblem, match="a model: is no folder of a model"):
        make_embedder(f"path {folder}", {})
    folder.mkdir()
    (folder / "modules.json").write_text('{"a": 3.0}')
    first = make_embedder(f"path {folder}", {})
    assert first is not None
    assert embed(first, ["four"]).tolist() == [pytest.approx([0.8, 0.6])]
    (folder / "modules.json").write_text('{"a": ')
    broken = make_embedder(f"path {folder}", {})
    assert broken is not None
    assert broken.version != first.version
    with pytest.raises(EnvironmentProblem, match="failed: JSONDecodeError"):
        embed(broken, ["four"])


class Handler(BaseHTTPRequestHandler):
    """A server as OpenAI describes it; the model's name states how it goes wrong."""

    seen: list[tuple[dict[str, str], Any]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).seen.append((dict(self.headers), body))
        count = len(body["input"])
        data: list[Any] = [
            {"index": n, "embedding": [1.0, float(n)]} for n in reversed(range(count))
        ]
        text = json.dumps({"data": data[1:] if body["model"] == "short" else data})
        status = {"wrong": 500, "away": 302}.get(body["model"], 200)
        self.send_response(status)
        self.send_header("Location", "https://collector.example/")
        self.end_headers()
        text = {"words": "hello", "list": "[1]", "wrong": "out of memory\nat 0x00"}.get(
            body["model"], text
        )
        self.wfile.write(text.encode())

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    Handler.seen = []
    made = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=made.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{made.server_port}/v1"
    made.shutdown()
    made.server_close()
    thread.join()


def test_a_server_gets_redacted_texts_and_the_key_and_order_is_by_index(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # for other machines, not for this one
    model = make_embedder(f"server m {server}", {"KL_EMBEDDER_KEY": "k-1"})
    assert model is not None
    rows = embed(model, ["plain", "the password=hunter2secret is set"])
    assert rows.tolist() == [pytest.approx([1, 0]), pytest.approx([0.5**0.5, 0.5**0.5])]
    ((headers, body),) = Handler.seen
    assert headers["Authorization"] == "Bearer k-1"
    assert body["model"] == "m"
    assert body["input"] == ["plain", "the password=[redacted:assignment] is set"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("short", "answered without a vector for each of 2 texts"),
        ("wrong", "answered 500: out of memory at 0x00"),
        ("words", "something that is not JSON"),
        ("list", "answered without a vector"),
        ("away", "answered 302"),
    ],
)
def test_a_server_that_answers_nonsense_is_named_in_one_line(
    server: str, name: str, reason: str
) -> None:
    model = make_embedder(f"server {name} {server}", {})
    assert model is not None
    with pytest.raises(EnvironmentProblem, match=reason) as problem:
        embed(model, ["a", "b"])
    assert "\n" not in str(problem.value)
    assert f"{server}/embeddings: " in str(problem.value)


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def test_servers_that_are_not_there_or_not_safe(
    closed_port: int, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = socket.create_server(("127.0.0.1", 0))
    monkeypatch.setattr(embedders, "_TIMEOUT", 0.1)
    for port, reason in ((closed_port, "refused"), (silent.getsockname()[1], "timed out")):
        model = make_embedder(f"server m http://localhost:{port}", {})
        assert model is not None
        with pytest.raises(
            EnvironmentProblem, match=f"can't be reached .*{reason}.*git config kl.embedder off"
        ):
            embed(model, ["a"])
    silent.close()
    monkeypatch.setattr(embedders, "_LARGEST_ANSWER", 10)
    model = make_embedder(f"server m {server}", {})
    assert model is not None
    with pytest.raises(EnvironmentProblem, match="more than 10 bytes"):
        embed(model, ["a"])
    refused: Callable[[str], Any] = lambda url: pytest.raises(EnvironmentProblem, match=url)  # noqa: E731
    with refused("is not encrypted"):
        make_embedder("server m http://models.example/v1", {})
    for url in (
        "ftp://localhost/v1",
        "localhost:80",
        "https://me:secret@models.example/v1",
        "https:///v1",
        "http://[",
    ):
        with refused("no address of a server"):
            make_embedder(f"server m {url}", {})
