"""Fetch the JavaScript libraries of the report page from the npm registry, at pinned versions.

`python tools/report_libraries.py` needs npm. It writes `kl_hooks/report/vendor/`: the minified file
of each library, its licence, and `libraries.json` with version, licence, size and SHA-256. npm
checks what it fetches against the registry's own hashes. `--check` only compares what is there.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

VENDOR = Path(__file__).parent.parent / "kl_hooks" / "report" / "vendor"
RECORD = VENDOR / "libraries.json"


class Library(NamedTuple):
    """A package of the npm registry and the file of it that a browser reads."""

    package: str
    version: str
    file: str
    purpose: str

    @property
    def stem(self) -> str:
        """The name without its scope."""
        return self.package.rpartition("/")[2]


LIBRARIES = (
    Library("d3-array", "3.2.5", "dist/d3-array.min.js", "needed by d3-scale"),
    Library("d3-color", "3.1.1", "dist/d3-color.min.js", "needed by d3-interpolate"),
    Library("d3-format", "3.1.3", "dist/d3-format.min.js", "numbers with separators"),
    Library("d3-interpolate", "3.0.2", "dist/d3-interpolate.min.js", "needed by d3-scale"),
    Library("d3-time", "3.1.1", "dist/d3-time.min.js", "needed by d3-scale"),
    Library("d3-time-format", "4.1.1", "dist/d3-time-format.min.js", "needed by d3-scale"),
    Library("d3-scale", "4.0.3", "dist/d3-scale.min.js", "axes of time and duration"),
    Library("d3-path", "3.1.1", "dist/d3-path.min.js", "needed by d3-shape"),
    Library("d3-shape", "3.2.1", "dist/d3-shape.min.js", "lines and arrows"),
    Library("d3-hierarchy", "3.1.3", "dist/d3-hierarchy.min.js", "treemaps of files and modules"),
    Library("@dagrejs/dagre", "3.1.3", "dist/dagre.min.js", "graphs of links and of folders"),
)
"""In the order in which the page loads them: each needs only earlier ones."""


def fetch(library: Library, folder: Path) -> tuple[bytes, bytes]:
    """Return the script and the licence of a library, without its map of the source."""
    call = ["npm", "pack", "--silent", "--ignore-scripts", f"{library.package}@{library.version}"]
    packed = subprocess.run(call, cwd=folder, check=True, capture_output=True, text=True)
    with tarfile.open(folder / packed.stdout.split()[-1]) as archive:
        script = _member(archive, library.file)
        licence = _member(archive, "LICENSE")
    lines = script.splitlines()
    return b"\n".join(line for line in lines if b"sourceMappingURL" not in line) + b"\n", licence


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    stream = archive.extractfile(f"package/{name}")
    assert stream, name
    return stream.read()


def describe(library: Library, script: bytes) -> dict[str, Any]:
    """What is recorded of a library; sizes are in bytes."""
    return {
        "package": library.package,
        "version": library.version,
        "license": "MIT" if library.stem == "dagre" else "ISC",
        "purpose": library.purpose,
        "file": f"{library.stem}.min.js",
        "bytes": len(script),
        "sha256": hashlib.sha256(script).hexdigest(),
    }


def main() -> int:
    """Write the folder; with `--check`, return 1 where a file is not the one of the registry."""
    is_check = sys.argv[1:] == ["--check"]
    records, different = [], []
    VENDOR.mkdir(parents=True, exist_ok=True)
    for library in LIBRARIES:
        with tempfile.TemporaryDirectory() as folder:
            script, licence = fetch(library, Path(folder))
        records.append(describe(library, script))
        for name, content in (
            (f"{library.stem}.min.js", script),
            (f"{library.stem}.LICENSE", licence),
        ):
            path = VENDOR / name
            if not path.exists() or path.read_bytes() != content:
                different.append(name)
            if not is_check:
                path.write_bytes(content)
    if is_check:
        print("\n".join(f"differs: {name}" for name in different) or "all files are the registry's")
        return 1 if different else 0
    RECORD.write_text(json.dumps(records, indent=1) + "\n")
    total = sum(record["bytes"] for record in records)
    print(f"{len(records)} libraries, {total:,} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
