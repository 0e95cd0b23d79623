"""What documents cost beside the bare calls: reading, cutting and embedding them, and one search.

    python -m bench.documents_cost [--documents 17000]

A repository of generated documents with six passages each is indexed, then asked. Compared with it are, for the same
texts: reading the files, cutting them and embedding the passages by the library's calls alone; and for the same
passages one query of an FTS5 table plus one product of all vectors with a query's. Printed are the ratios, and the
memory of the process next to that of the vectors.
"""

from __future__ import annotations

import argparse
import gc
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
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
_WORDS: Final = 4000
_ROUNDS: Final = 5


def write_documents(folder: Path, count: int) -> None:
    """Documents of five sections in words as frequent as in a text (Zipf), in a repository of their own."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnoprstuvw", k=chance.randint(3, 9))) for _ in range(_WORDS)]
    weights = [1 / rank for rank in range(1, _WORDS + 1)]
    for number in range(count):
        parts = [f"# Page {number}\n"]
        for part in range(5):
            parts.append(f"## {' '.join(chance.choices(words, weights, k=3))}\n\n")
            parts.append(" ".join(chance.choices(words, weights, k=60)) + f" `name_{number}_{part}`.\n")
        place = folder / "docs" / str(number // 500) / f"{number}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("\n".join(parts), encoding="utf-8")
    for command in (("init", "-q"), ("add", "-A"), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x")):
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
    texts = [one.text for path in paths for one in cut(path.name, path.read_bytes(), Chunking()).passages]
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


def main() -> int:
    """Print the ratios; 1 where one is above its goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=17_000, help="with six passages each")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_documents(folder, args.documents)
        ws = open_workspace(folder)
        paths = sorted(folder.glob("docs/*/*.md"))
        embed(embedder_of(ws), ["warm"])
        alone, (texts, vectors) = seconds(lambda: bare_index(ws, paths))
        mebi = vectors.nbytes / 2**20
        words = [word for word in texts[7].split() if word.isalpha()][:4]
        cheap = bare_query(texts, vectors, ws, words)
        count = len(texts)
        del texts, vectors
        ours, _ = seconds(lambda: sync_documents(ws))
        more, _ = seconds(lambda: search(ws, " ".join(words), "vector"))
        print(f"{count} passages; first index {ours:.1f} + {more:.1f} s of CPU, bare calls {alone:.1f} s")
        text = " ".join(words)
        asked = median(seconds(lambda: search(ws, text, "hybrid", kinds=KINDS[:1]))[0] for _ in range(_ROUNDS))
        byte = median(seconds(lambda: search(ws, text, kinds=KINDS[:1]))[0] for _ in range(_ROUNDS))
        top = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        shown = f"{1000 * asked:.0f} ms of CPU (by words {1000 * byte:.0f}), FTS5 and scan {1000 * cheap:.0f} ms"
        print(f"a hybrid search {shown}")
        print(f"vectors as float32 {mebi:.0f} MiB; largest memory of this process, bare calls too, {top:.0f} MiB")
    index, query = (ours + more) / alone, asked / cheap
    print(f"first index {index:.1f} x (goal {INDEX:g}), query {query:.1f} x (goal {QUERY:g})")
    return 0 if index <= INDEX and query <= QUERY else 1


if __name__ == "__main__":
    sys.exit(main())
