"""Vectors of texts, found by nearness: stored by the hash of the text and the model, embedded when
they are missing.

A flat scan over blocks of vectors: exact, with no index to train or to tune. sqlite-vec is not
used, since many Pythons can't load extensions of SQLite. A number of a vector takes one byte: a
scan of 100,000 vectors of 256 dimensions takes 17 ms then, 100 ms as float16 and 27 ms as float32,
which also takes four times as long to read (ADR-0035).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, Final

from kl_hooks.errors import EnvironmentProblem
from kl_hooks.index.embedders import TURN_OFF
from kl_hooks.model.text import one_line

if TYPE_CHECKING:
    from kl_hooks.hookspecs import Embedder
    from kl_hooks.store.database import Rows
    from kl_hooks.workspace import Workspace

_BLOCK: Final = 1024
"""Vectors of a block; after each block what was done is stored, and a process that is killed
continues there.
"""
_ROUNDED: Final = 1e-6
_WHOLE: Final = "model = ? AND length(vectors) = size * (dimension + 4)"
"""A block that is not as it was written counts as missing: it is derived."""


def update_vectors(
    ws: Workspace,
    hashes: Collection[str],
    texts: Callable[[Sequence[str]], Mapping[str, str]],
    progress: Callable[[int, int], object] | None = None,
) -> int:
    """Embed each text that has no vector of this workspace's model yet; return how many that were.

    `hashes`: of all texts that exist; vectors of others are removed when they are the greater part.
    `texts`: some hashes → their redacted texts; one that was removed is omitted. `progress`: (done,
    of how many), after each block. EnvironmentProblem where there is no model, or it fails: what
    was embedded before stays.
    """
    model = embedder_of(ws)
    key = _key(model)
    with ws.store.reading("graph") as db:
        stored, last = _known(db, key) if db is not None else (set(), 0)
    missing = sorted(set(hashes) - stored)
    for start in range(0, len(missing), _BLOCK):
        text_of = texts(missing[start : start + _BLOCK])
        # by length: a batch is padded to its longest text
        batch = sorted(text_of, key=lambda text_hash: (len(text_of[text_hash]), text_hash))
        rows = embed(model, [text_of[text_hash] for text_hash in batch])
        with ws.store.writing("graph", "kl (vectors)") as db, db.transaction():
            last = _append(db, model, batch, rows, last)
        if progress is not None:
            progress(min(start + _BLOCK, len(missing)), len(missing))
    if len(stored - set(hashes)) > len(hashes) + _BLOCK:
        _compact(ws, key, hashes)
    return len(missing)


def vectors_state(ws: Workspace, db: Rows) -> str:
    """Return a text that changes with the stored vectors: another model, more, fewer, or damaged
    ones.
    """
    key = _key(embedder_of(ws))
    ((blocks, size),) = db.rows(
        f"SELECT COUNT(*), COALESCE(SUM(size), 0) FROM vector_blocks WHERE {_WHOLE}", (key,)
    )
    return f"{key} {blocks} {size}"


def without_vectors(ws: Workspace, db: Rows, hashes: Collection[str]) -> set[str]:
    """Return those of these texts that have no vector of this workspace's model."""
    if not hashes:
        return set()
    return set(hashes) - _known(db, _key(embedder_of(ws)))[0]


def nearest(
    ws: Workspace, query: str, allowed: Collection[str] | None, limit: int, least: float = 0.0
) -> list[tuple[str, float]]:
    """Return (hash, cosine) of at most `limit` texts, the nearest to `query` first, none below
    `least`.

    `allowed`: the hashes that may be found; others take no part in the ranking. None: all, those of
    texts that were removed, too. EnvironmentProblem as `embed`.
    """
    import numpy

    model = embedder_of(ws)
    vector = embed(model, [query])[0]
    best: list[tuple[float, str]] = []
    with ws.store.reading("graph") as db:
        if db is None or not vector.any():
            return []
        # one block at a time: beside the vectors of a block only hashes and scores are in memory
        for (number,) in db.rows(
            f"SELECT block FROM vector_blocks WHERE {_WHOLE} ORDER BY block", (_key(model),)
        ):
            hashes, codes, scales = _read(numpy, db, _key(model), number)
            _refuse_dimension(model, codes.shape[1], len(vector))
            scores = (codes.astype(numpy.float32) @ vector) * scales
            # before anything becomes an object of Python: of 100,000 texts a handful can still be
            # among the best
            if len(best) == limit:
                bar = max(least, -best[-1][0])
            else:
                bar = least
            near = scores >= bar - _ROUNDED
            if not near.any():
                continue
            stored_hashes = hashes.split("\n")
            if allowed is not None:
                near &= numpy.fromiter(
                    (stored_hash in allowed for stored_hash in stored_hashes),
                    bool,
                    len(stored_hashes),
                )
            places = numpy.flatnonzero(near)
            # rounded: the last bits depend on how a processor adds up
            close = [(-round(float(scores[place]), 6), stored_hashes[place]) for place in places]
            best = nsmallest(
                limit, [*best, *(stored_hash for stored_hash in close if -stored_hash[0] >= least)]
            )
    return [(stored_hash, -score) for score, stored_hash in best]


def cosines(ws: Workspace, query: str, hashes: Collection[str]) -> dict[str, float]:
    """Return hash → cosine with `query`, of those of these texts that have a vector.
    EnvironmentProblem as `embed`.
    """
    import numpy

    model = embedder_of(ws)
    vector = embed(model, [query])[0]
    cosine_of: dict[str, float] = {}
    if not hashes:
        return cosine_of
    with ws.store.reading("graph") as db:
        if db is None:
            return cosine_of
        sql = f"SELECT block FROM vector_blocks WHERE {_WHOLE}"
        for (number,) in db.rows(sql, (_key(model),)):
            stored_hashes, codes, scales = _read(numpy, db, _key(model), number)
            _refuse_dimension(model, codes.shape[1], len(vector))
            place_of = {
                text_hash: place for place, text_hash in enumerate(stored_hashes.split("\n"))
            }
            wanted = [text_hash for text_hash in hashes if text_hash in place_of]
            places = [place_of[text_hash] for text_hash in wanted]
            scores = (codes[places].astype(numpy.float32) @ vector) * scales[places]
            # rounded: the last bits depend on how a processor adds up
            cosine_of |= {
                text_hash: round(float(score), 6)
                for text_hash, score in zip(wanted, scores, strict=True)
            }
    return cosine_of


def similarities(ws: Workspace, texts: Sequence[str]) -> list[float]:
    """Return the cosine of each text with the next one. EnvironmentProblem as `embed`."""
    rows = embed(embedder_of(ws), texts)
    return [float(one) for one in (rows[:-1] * rows[1:]).sum(axis=1)]


def embedder_of(ws: Workspace) -> Embedder:
    """Return the embedder of a workspace.

    EnvironmentProblem, with what to do, where there is none.
    """
    if ws.settings.embedder == "off":
        raise EnvironmentProblem(
            "turned off by your configuration.", place="vectors", hint="git config kl.embedder"
        )
    embedder: Embedder | None = ws.plugins.hook.kl_embedder(workspace=ws)
    if embedder is None:
        raise EnvironmentProblem("no embedder is configured.", place="vectors", hint=TURN_OFF)
    return embedder


def embed(embedder: Embedder, texts: Sequence[str]) -> Any:
    """Return a float32 array with one row of length 1 for each text (0 for a text without a word).

    EnvironmentProblem, one line, whatever goes wrong inside the model, and for rows that are no
    vectors of it: NaN, infinite, of another dimension.
    """
    import numpy

    place = f"embedder {one_line(embedder.name, 120)}"
    batches = [
        texts[start : start + embedder.batch] for start in range(0, len(texts), embedder.batch)
    ]
    parts = [
        _checked(numpy, _call(embedder.embed, part, place), len(part), embedder.dimension, place)
        for part in batches
    ]
    if not parts:
        return numpy.zeros((0, embedder.dimension), numpy.float32)
    if len({part.shape[1] for part in parts}) > 1:
        raise EnvironmentProblem("gives vectors of several dimensions.", place=place)
    rows = numpy.concatenate(parts)
    lengths = numpy.linalg.norm(rows, axis=1, keepdims=True)
    return rows / numpy.where(lengths > 0, lengths, 1)


def _call(function: Callable[[Sequence[str]], Any], texts: Sequence[str], place: str) -> Any:
    try:
        return function(texts)
    except EnvironmentProblem:
        raise
    except (
        Exception
    ) as problem:  # a model's code, its libraries and its files are not ours: anything may come
        reason = f"failed: {type(problem).__name__}: {one_line(str(problem), 160)}"
        raise EnvironmentProblem(
            reason, place=place, hint="Turn vectors off with: git config kl.embedder off"
        ) from None


def _checked(numpy: Any, rows: Any, count: int, dimension: int, place: str) -> Any:
    try:
        array = numpy.asarray(rows, dtype=numpy.float32)
    except (TypeError, ValueError):
        raise EnvironmentProblem(
            "gives no numbers, or rows of several lengths.", place=place
        ) from None
    if array.ndim != 2 or len(array) != count or not array.shape[1]:
        raise EnvironmentProblem(f"gives no row of numbers for each of {count} texts.", place=place)
    if dimension and array.shape[1] != dimension:
        reason = f"gives vectors of {array.shape[1]} dimensions, not of {dimension}."
        raise EnvironmentProblem(reason, place=place)
    if not numpy.isfinite(array).all():
        raise EnvironmentProblem(
            "gives vectors with numbers that are none (NaN or infinite).", place=place
        )
    return array


def _key(model: Embedder) -> str:
    return f"{model.name} {model.version}"


def _known(db: Rows, key: str, after: int = 0) -> tuple[set[str], int]:
    """The texts that have vectors in the blocks after one, and the last block."""
    # `vectors` is the last column: SQLite does not read it for a query that only asks for its
    # length
    rows = db.rows(
        f"SELECT hashes, block FROM vector_blocks WHERE {_WHOLE} AND block > ? ORDER BY block",
        (key, after),
    )
    return {one for hashes, _ in rows for one in hashes.split("\n")}, rows[-1][1] if rows else after


def _read(numpy: Any, db: Rows, key: str, number: int) -> tuple[str, Any, Any]:
    sql = "SELECT size, dimension, hashes, vectors FROM vector_blocks WHERE model = ? AND block = ?"
    ((size, dimension, hashes, data),) = db.rows(sql, (key, number))
    scales = numpy.frombuffer(data, dtype="<f4", count=size)
    return (
        hashes,
        numpy.frombuffer(data, numpy.int8, offset=4 * size).reshape(size, dimension),
        scales,
    )


def _append(db: Rows, model: Embedder, hashes: Sequence[str], rows: Any, after: int) -> int:
    """Store vectors, without those that another process stored after a block; return the last
    block.

    Inside a transaction. Only new blocks are read: all of them for each block of 100,000 texts
    would take seconds.
    """
    import numpy

    key = _key(model)
    there, last = _known(db, key, after)
    places = [place for place, one in enumerate(hashes) if one not in there]
    if not places:
        return last
    for (dimension,) in db.rows(
        f"SELECT dimension FROM vector_blocks WHERE {_WHOLE} LIMIT 1", (key,)
    ):
        _refuse_dimension(model, dimension, rows.shape[1])
    rows = rows[places]
    scales = numpy.abs(rows).max(axis=1) / 127
    codes = numpy.rint(rows / numpy.where(scales > 0, scales, 1)[:, None]).astype(numpy.int8)
    last = _write(db, key, [hashes[place] for place in places], codes, scales)
    # whoever changes the model has decided: the vectors of the one before are only a weight
    db.execute(f"DELETE FROM vector_blocks WHERE NOT ({_WHOLE})", (key,))
    return last


def _write(db: Rows, key: str, hashes: Sequence[str], codes: Any, scales: Any) -> int:
    number: int
    ((number,),) = db.rows(
        "SELECT COALESCE(MAX(block), 0) + 1 FROM vector_blocks WHERE model = ?", (key,)
    )
    data = scales.astype("<f4").tobytes() + codes.tobytes()
    sql = (
        "INSERT INTO vector_blocks (model, block, size, dimension, hashes, vectors) VALUES (?, ?,"
        " ?, ?, ?, ?)"
    )
    db.execute(sql, (key, number, len(hashes), codes.shape[1], "\n".join(hashes), data))
    return number


def _compact(ws: Workspace, key: str, hashes: Collection[str]) -> None:
    """Write the vectors of these hashes anew, without the others."""
    import numpy

    with ws.store.writing("graph", "kl (vectors)") as db, db.transaction():
        for (number,) in db.rows(
            "SELECT block FROM vector_blocks WHERE model = ? ORDER BY block", (key,)
        ):
            written, codes, scales = _read(numpy, db, key, number)
            stored_hashes = written.split("\n")
            places = [
                place for place, stored_hash in enumerate(stored_hashes) if stored_hash in hashes
            ]
            db.execute("DELETE FROM vector_blocks WHERE model = ? AND block = ?", (key, number))
            if places:
                _write(
                    db,
                    key,
                    [stored_hashes[place] for place in places],
                    codes[places],
                    scales[places],
                )


def _refuse_dimension(model: Embedder, stored: int, dimension: int) -> None:
    if stored != dimension:
        reason = f"gives vectors of {dimension} dimensions; those that are stored have {stored}."
        hint = "A changed model needs another name or version."
        raise EnvironmentProblem(reason, place=f"embedder {one_line(model.name, 120)}", hint=hint)
