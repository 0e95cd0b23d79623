"""Embedders: models that turn texts into vectors, on this machine, or on a server that the user's
configuration names.

`kl_hooks.index.vectors` checks and stores what they give. Nothing is ever downloaded. Models and
their libraries are imported when the first text is embedded.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.hookspecs import Embedder
from kl_hooks.model.text import one_line
from kl_hooks.store.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.client import HTTPMessage
    from typing import IO


_EXTRA: Final = "pip install 'kl-hooks[embeddings]'"
_WORDLLAMA: Final = "l2_supercat"
_DIMENSION: Final = 256
_LOCAL_SERVER: Final = "http://127.0.0.1:11434/v1"
"""Where Ollama listens; llama.cpp, vLLM and LM Studio have the same interface on other ports."""
_KEY: Final = "KL_EMBEDDER_KEY"
_TIMEOUT: Final = 30.0
"""Seconds."""
_LARGEST_ANSWER: Final = 64 << 20
"""Bytes."""
TURN_OFF: Final = "Turn vectors off with: git config kl.embedder off"
_WORDS_AFTER: Final = {"wordllama": (0, 0), "off": (0, 0), "path": (1, 1), "server": (1, 2)}
"""First word of the setting → least and most words after it."""
_LOCAL_HOSTS: Final = frozenset(("localhost", "127.0.0.1", "::1"))


def make_embedder(setting: str, environ: Mapping[str, str]) -> Embedder | None:
    """Return the embedder that a setting names: `wordllama`, `path FOLDER` or `server MODEL [URL]`;
    None for `off`.

    EnvironmentProblem where it can't be used here. Nothing is loaded yet, and no server is asked.
    """
    name, _, argument = setting.partition(" ")
    words = len(argument.split(" ")) if argument else 0
    least, most = _WORDS_AFTER.get(name, (1, 0))
    # a folder may have spaces in its name
    if not least <= (min(words, 1) if name == "path" else words) <= most:
        reason = f"{one_line(setting, 60)!r} is no model that this machine has, and no server."
        hint = (
            'Set one with: git config kl.embedder wordllama, off, "path FOLDER" or "server MODEL'
            ' [URL]".'
        )
        raise EnvironmentProblem(reason, place="kl.embedder", hint=hint)
    if name == "off":
        return None
    if find_spec("numpy") is None:
        raise EnvironmentProblem("numpy is not installed.", place="vectors", hint=_EXTRA)
    try:
        import numpy  # noqa: F401 - a library of the system that is missing shows here first
    except ImportError as problem:
        reason = f"numpy can't be imported: {one_line(str(problem), 160)}"
        raise EnvironmentProblem(reason, place="vectors", hint=TURN_OFF) from None
    if name == "path":
        return _sentence_transformers(Path(argument).expanduser())
    if name == "server":
        model, _, url = argument.partition(" ")
        return _server(model, url or _LOCAL_SERVER, environ)
    return _wordllama()


def _wordllama() -> Embedder:
    try:
        number = version("wordllama")
    except PackageNotFoundError:
        raise EnvironmentProblem(
            "wordllama is not installed.", place="vectors", hint=_EXTRA
        ) from None

    def embed(texts: Sequence[str]) -> Any:
        import numpy

        model, is_word = _load_wordllama()
        rows = numpy.zeros((len(texts), _DIMENSION), numpy.float32)
        for row, tokens in zip(rows, model.tokenize(list(texts)), strict=True):
            pieces = numpy.unique(numpy.array(tokens.ids, dtype=numpy.int64))
            pieces = pieces[is_word[pieces]]
            if len(pieces):
                row[:] = model.embedding[pieces].mean(axis=0)
        return rows

    return Embedder(f"wordllama/{_WORDLLAMA}", f"{number} distinct words", _DIMENSION, 256, embed)


@cache  # half a second; a search asks for the embedder more than once
def _load_wordllama() -> tuple[Any, Any]:
    """The model, and which pieces of its vocabulary are parts of words.

    Its own `embed` is the mean of all pieces of a text. That of the different ones, without
    punctuation, finds more: on the tuning questions of `bench.search_quality` 39 % among the first
    five passages, not 30 %.
    """
    import numpy

    with _logging_unchanged():
        from wordllama import WordLlama

    # it looks for its tokenizer in a folder that its wheel does not have, and would then ask the
    # network: as the cache directory its own folder is right. Without `disable_download` a missing
    # file would be downloaded.
    folder = Path(str(find_spec("wordllama").origin)).parent  # type: ignore[union-attr]
    model = WordLlama.load(_WORDLLAMA, cache_dir=folder, dim=_DIMENSION, disable_download=True)
    model.tokenizer.no_padding()
    pieces = (model.tokenizer.id_to_token(number) or "" for number in range(len(model.embedding)))
    # `<0x0A>` is a byte of a character that the vocabulary does not have
    words = [not piece.startswith("<0x") and any(map(str.isalnum, piece)) for piece in pieces]
    return model, numpy.array(words)


@contextmanager
def _logging_unchanged() -> Iterator[None]:
    """WordLlama calls `logging.basicConfig` when it is imported: the log of whoever imports us is
    not its to set up.
    """
    root = logging.getLogger()
    level = root.level
    handlers = list(root.handlers)
    try:
        yield
    finally:
        root.setLevel(level)
        for handler in [one for one in root.handlers if one not in handlers]:
            root.removeHandler(handler)


def _sentence_transformers(folder: Path) -> Embedder:
    if find_spec("sentence_transformers") is None:
        hint = "pip install sentence-transformers"
        raise EnvironmentProblem(
            "sentence-transformers is not installed.", place="vectors", hint=hint
        )
    if not (folder / "modules.json").is_file():
        hint = "It must hold a model as sentence-transformers saves it. Nothing is downloaded."
        raise EnvironmentProblem("is no folder of a model.", place=str(folder), hint=hint)

    fingerprint = _fingerprint(folder)

    def embed(texts: Sequence[str]) -> Any:
        return _load_sentence_transformers(folder, fingerprint).encode(
            list(texts), show_progress_bar=False
        )

    return Embedder(f"path {folder}", fingerprint, 0, 32, embed)


@cache
def _load_sentence_transformers(folder: Path, fingerprint: str) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), local_files_only=True)


def _fingerprint(folder: Path) -> str:
    """What changes when a model is replaced: names, sizes and times of its files. Weights are too
    large to read.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    facts = [
        (path.relative_to(folder).as_posix(), path.stat().st_size, path.stat().st_mtime_ns)
        for path in files
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def _server(model: str, url: str, environ: Mapping[str, str]) -> Embedder:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
    except ValueError:  # such as `http://[`
        parts = urlsplit("")
    local = parts.hostname in _LOCAL_HOSTS
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
        hint = f"Such as: {_LOCAL_SERVER}; the key is read from {_KEY}."
        raise EnvironmentProblem("is no address of a server.", place=one_line(url, 200), hint=hint)
    if parts.scheme == "http" and not local:
        hint = "Use https: texts of the repository, and the key, would be readable on the way."
        raise EnvironmentProblem("is not encrypted.", place=one_line(url, 200), hint=hint)
    address = f"{url.rstrip('/')}/embeddings"
    key = environ.get(_KEY, "")

    def embed(texts: Sequence[str]) -> Any:
        sent = [redact(text) for text in texts]
        answer = _post(
            address, {"model": model, "input": sent, "encoding_format": "float"}, key, local
        )
        return _rows_of(answer, len(sent), address)

    return Embedder(f"server {model} {url}", "1", 0, 32, embed, local=False)


def _rows_of(answer: Any, count: int, address: str) -> list[Any]:
    """The vectors of an answer, in the order of the texts: `index` names the text, the order of the
    list does not.
    """
    if isinstance(answer, dict):
        data = answer.get("data")
    else:
        data = None
    if isinstance(data, list):
        entries = [entry for entry in data if isinstance(entry, dict)]
    else:
        entries = []
    row_of = {entry.get("index"): entry.get("embedding") for entry in entries}
    if set(row_of) != set(range(count)):
        raise EnvironmentProblem(
            f"answered without a vector for each of {count} texts.", place=address
        )
    return [row_of[number] for number in range(count)]


def _post(address: str, body: Mapping[str, Any], key: str, local: bool) -> Any:
    from urllib.error import HTTPError, URLError
    from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

    class NoRedirect(HTTPRedirectHandler):
        """urllib sends headers, the key among them, on to wherever a server redirects
        (cpython#77842).
        """

        def redirect_request(
            self,
            req: Request,
            fp: IO[bytes],
            code: int,
            msg: str,
            headers: HTTPMessage,
            newurl: str,
        ) -> None:
            return None

    headers = {"Content-Type": "application/json"} | (
        {"Authorization": f"Bearer {key}"} if key else {}
    )
    request = Request(address, json.dumps(body).encode(), headers)
    # a proxy of the environment would see what is meant for this machine
    opener = build_opener(NoRedirect, *([ProxyHandler({})] if local else []))
    try:
        with opener.open(request, timeout=_TIMEOUT) as answer:
            content = answer.read(_LARGEST_ANSWER + 1)
    except HTTPError as problem:
        with problem:
            detail = one_line(redact(problem.read(300).decode("utf-8", "replace")), 200)
        raise EnvironmentProblem(f"answered {problem.code}: {detail}", place=address) from None
    except (URLError, OSError) as problem:
        reason = f"can't be reached ({one_line(str(getattr(problem, 'reason', problem)), 120)})."
        raise EnvironmentProblem(
            reason, place=address, hint=f"Is the server running? {TURN_OFF}"
        ) from None
    if len(content) > _LARGEST_ANSWER:
        raise EnvironmentProblem(f"answered more than {_LARGEST_ANSWER} bytes.", place=address)
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise EnvironmentProblem("answered something that is not JSON.", place=address) from None
