"""What documents cost beside the bare calls: reading, cutting and embedding them, and one search.

    python -m bench.documents_cost [--documents 17000]

A repository of generated documents with six passages each is indexed by a process that is killed in
the middle, then by a second one that ends the work, then asked by a third. Compared with it are,
for the same texts: reading the files, cutting them and embedding the passages by the library's
calls alone; and for the same passages one query of an FTS5 table plus one product of all vectors
with a query's. Printed are the ratios (what the killed process did counts), and by how much the
memory of each process grew beyond what it is with the model and all libraries loaded.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy

from kl_hooks.documents.chunking import Chunking, cut
from kl_hooks.documents.indexing import sync_documents
from kl_hooks.documents.search import KINDS, search
from kl_hooks.index.vectors import embed, embedder_of
from kl_hooks.workspace import Workspace, open_workspace

INDEX: Final = 3.0
QUERY: Final = 3.0
MEMORY: Final = 2.0
_WORDS: Final = 4000
_ROUNDS: Final = 5


def write_documents(folder: Path, count: int) -> None:
    """Documents of five sections in words as frequent as in a text (Zipf), in a repository of their
    own.
    """
    chance = random.Random(1)
    words = [
        "".join(chance.choices("abcdefghijklmnoprstuvw", k=chance.randint(3, 9)))
        for _ in range(_WORDS)
    ]
    weights = [1 / rank for rank in range(1, _WORDS + 1)]
    for number in range(count):
        parts = [f"# Page {number}\n"]
        for part in range(5):
            parts.append(f"## {' '.join(chance.choices(words, weights, k=3))}\n\n")
            parts.append(
                " ".join(chance.choices(words, weights, k=60)) + f" `name_{number}_{part}`.\n"
            )
        place = folder / "docs" / str(number // 500) / f"{number}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("\n".join(parts), encoding="utf-8")
    for command in (
        ("init", "-q"),
        ("add", "-A"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"),
    ):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    (folder / ".kl").mkdir()


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of this process, and what the work gave."""
    gc.collect()
    began = time.process_time()
    made = work()
    return time.process_time() - began, made


def bare_index(ws: Workspace, paths: Sequence[Path]) -> tuple[list[str], Any]:
    """The passages and their vectors, by the calls alone."""
    texts = [
        one.text for path in paths for one in cut(path.name, path.read_bytes(), Chunking()).passages
    ]
    return texts, embed(embedder_of(ws), texts)


def bare_query(texts: Sequence[str], vectors: Any, ws: Workspace, words: Sequence[str]) -> float:
    """CPU seconds of one FTS5 query and one product of all vectors, the median of some."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(body)")
    db.executemany("INSERT INTO t VALUES (?)", ((text,) for text in texts))
    sql = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT 50"

    def ask() -> None:
        db.execute(sql, (" OR ".join(words),)).fetchall()
        scores = vectors @ embed(embedder_of(ws), [" ".join(words)])[0]
        numpy.argpartition(scores, -50)[-50:]

    return median(seconds(ask)[0] for _ in range(_ROUNDS))


def grown(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """CPU seconds, MiB by which the largest memory of this process grew, and what the work gave."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    took, made = seconds(work)
    return took, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, made


def in_a_process(part: str, folder: Path, *args: str) -> dict[str, Any]:
    """What one part of the measurement printed."""
    command = [
        sys.executable,
        "-m",
        "bench.documents_cost",
        "--part",
        part,
        "--folder",
        str(folder),
        *args,
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=part != "killed")
    return {} if part == "killed" else dict(json.loads(done.stdout))


def measured(part: str, folder: Path, query: str) -> dict[str, Any]:
    """One part, in this process."""
    ws = open_workspace(folder)
    embed(embedder_of(ws), ["warm"])
    paths = sorted(folder.glob("docs/*/*.md"))
    if part == "bare":
        took, (texts, vectors) = seconds(lambda: bare_index(ws, paths))
        words = [word for word in texts[7].split() if word.isalpha()][:4]
        return {
            "index": took,
            "count": len(texts),
            "mebi": vectors.nbytes / 2**20,
            "words": words,
            "query": bare_query(texts, vectors, ws, words),
        }
    if part == "killed":

        def kill_in_the_middle(made: Iterator[Any], number: int) -> Iterator[Any]:
            for count, one in enumerate(made):
                if count == number // 2:
                    (folder / "killed").write_text(str(time.process_time() - began))
                    os.kill(os.getpid(), signal.SIGKILL)
                yield one

        began = time.process_time()
        sync_documents(ws, kill_in_the_middle)
    if part == "index":
        first, memory, done = grown(lambda: sync_documents(ws))
        rest, more, _ = grown(lambda: search(ws, query, "vector"))
        with ws.store.reading("graph") as db:
            assert db is not None
            ((count,),) = db.rows("SELECT COUNT(*) FROM document_chunks")
        return {
            "index": first,
            "rest": rest,
            "read": done.read,
            "count": count,
            "memory": memory + more,
        }
    found: dict[str, Any] = {"memory": 0.0}
    for mode in ("hybrid", "keyword", "vector"):
        some = [
            grown(lambda mode=mode: search(ws, query, mode, kinds=KINDS[:1]))
            for _ in range(_ROUNDS)
        ]
        found[mode] = median(took for took, _, _ in some)
        found["memory"] += sum(memory for _, memory, _ in some)
    return found


def main() -> int:
    """Print the ratios; 1 where one is above its goal."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=17_000, help="with six passages each")
    parser.add_argument(
        "--part", choices=("bare", "killed", "index", "query"), help=argparse.SUPPRESS
    )
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--query", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part:
        print(json.dumps(measured(args.part, args.folder, args.query)))
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_documents(folder, args.documents)
        bare = in_a_process("bare", folder)
        query = " ".join(bare["words"])
        in_a_process("killed", folder)
        killed = float((folder / "killed").read_text())
        ours = in_a_process("index", folder, "--query", query)
        asked = in_a_process("query", folder, "--query", query)
    whole = killed + ours["index"] + ours["rest"]
    print(
        f"{bare['count']} passages; first index {killed:.1f} (killed) + {ours['index']:.1f}"
        f" (passages, words) + {ours['rest']:.1f} s of CPU (pages, vectors), bare calls"
        f" {bare['index']:.1f} s"
    )
    print(
        f"the second process read {ours['read']} of {args.documents} documents; passages:"
        f" {ours['count']}"
    )
    shown = ", ".join(
        f"{mode} {1000 * asked[mode]:.0f} ms" for mode in ("hybrid", "keyword", "vector")
    )
    print(f"a search: {shown} of CPU; FTS5 and scan {1000 * bare['query']:.0f} ms")
    print(
        f"vectors as float32 {bare['mebi']:.0f} MiB; grown by indexing {ours['memory']:.0f}, by"
        f" asking {asked['memory']:.0f} MiB"
    )
    index, again = whole / bare["index"], asked["hybrid"] / bare["query"]
    memory = max(ours["memory"], asked["memory"]) / bare["mebi"]
    print(
        f"first index {index:.1f} x (goal {INDEX:g}), query {again:.1f} x (goal {QUERY:g}),"
        f" memory {memory:.1f} x (goal {MEMORY:g})"
    )
    sound = ours["count"] == bare["count"] and ours["read"] < args.documents
    return 0 if sound and index <= INDEX and again <= QUERY and memory <= MEMORY else 1


if __name__ == "__main__":
    sys.exit(main())
