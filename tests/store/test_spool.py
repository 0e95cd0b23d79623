"""The spool: its format, its faults, and that a kill at any moment loses no acknowledged record."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from errno import EIO, ENOLCK, ENOSPC, EROFS
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kl_hooks.model.canonical import canonical
from kl_hooks.store import spool
from kl_hooks.store.spool import (
    SpoolContent,
    SpoolWriter,
    first_writable,
    is_spool_file,
    pending_spools,
    read_spool,
)

REPO = Path(__file__).parents[2]


def _python(code: str, *args: object, **more: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.Popen(command, cwd=REPO, stdout=subprocess.PIPE, **more)  # type: ignore[call-overload, no-any-return]


def _spool(path: Path, *bodies: str) -> Path:
    path.write_bytes(
        b"".join(
            hashlib.sha256(b.encode()).hexdigest().encode() + b" " + b.encode() + b"\n"
            for b in bodies
        )
    )
    return path


def test_a_line_is_a_checksum_a_blank_and_the_record(tmp_path: Path) -> None:
    with SpoolWriter.create(tmp_path, "run") as writer:
        writer.line('["t","a"]')
        writer.record({"b": 1, "a": "password=hunter2"})
        writer.sync()
    body = '{"a":"password=[redacted:assignment]","b":1}'
    sums = [hashlib.sha256(text.encode()).hexdigest() for text in ('["t","a"]', body)]
    assert writer.path == tmp_path / "run.jsonl"
    assert writer.path.read_text() == f'{sums[0]} ["t","a"]\n{sums[1]} {body}\n'
    assert writer.path.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["run.jsonl"]


@given(
    st.lists(
        st.lists(
            st.text() | st.integers(-(2**63), 2**63 - 1) | st.none() | st.booleans(), max_size=4
        ),
        max_size=5,
    )
)
def test_what_was_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, records: list[list[object]]
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    with SpoolWriter.create(folder, "run") as writer:
        for record in records:
            writer.line(canonical(record).decode())
    found = read_spool(writer.path)
    assert found.records == [json.loads(canonical(record)) for record in records]
    assert (found.bad, found.busy, found.cut) == (0, False, False)


def test_a_lone_surrogate_does_not_stop_a_capture(tmp_path: Path) -> None:
    with SpoolWriter.create(tmp_path, "run") as writer:
        writer.line('["\ud800"]')
    assert read_spool(writer.path).records == [["\ufffd"]]


def test_it_is_busy_while_its_writer_lives_and_ends_with_an_end_record(tmp_path: Path) -> None:
    writer = SpoolWriter.create(tmp_path, "run")
    writer.record({"t": "open"})
    assert read_spool(writer.path) == SpoolContent([{"t": "open"}], busy=True)
    writer.record({"t": "end"})
    writer.close()
    assert read_spool(writer.path) == SpoolContent([{"t": "open"}, {"t": "end"}], ended=True)


def test_a_writer_can_know_at_the_end_whether_its_file_still_holds_what_was_written(
    tmp_path: Path,
) -> None:
    with SpoolWriter.create(tmp_path, "run") as writer:
        writer.record({"run": "abc"})
        writer.record({"t": "end"})
        assert writer.missing("abc") == ""
        assert writer.missing("abd") == "was cut or overwritten"
        whole = writer.path.read_bytes()
        writer.path.write_bytes(whole[:-1])
        assert writer.missing("abc") == "was cut or overwritten"
        writer.path.write_bytes(whole)
        assert writer.missing("abc") == ""
        writer.path.rename(tmp_path / "aside")
        assert writer.missing("abc") == "was removed"
        writer.path.write_bytes(whole)
        assert writer.missing("abc") == "was replaced"


def test_it_is_locked_before_it_has_its_name(tmp_path: Path) -> None:
    """Otherwise a reader could take a newborn spool for an abandoned one, and remove it."""
    seen: list[bool] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            seen.extend(read_spool(path).busy for path in pending_spools(tmp_path))

    watcher = threading.Thread(target=watch)
    watcher.start()
    writers: list[SpoolWriter] = []
    while len(writers) < (150 if seen else 800):  # on a busy machine the watcher starts late
        writers.append(SpoolWriter.create(tmp_path, f"run{len(writers)}"))
    stop.set()
    watcher.join()
    assert seen
    assert all(seen)
    for writer in writers:
        writer.close()


def test_a_name_is_taken_once_and_leads_nowhere_else(tmp_path: Path) -> None:
    SpoolWriter.create(tmp_path, "run").close()
    with pytest.raises(FileExistsError):
        SpoolWriter.create(tmp_path, "run")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "target")
    with pytest.raises(FileExistsError):
        SpoolWriter.create(tmp_path, "link")
    for bad in ("", "../x", "a/b", ".hidden", "a\n", "x" * 101, "\u0661"):
        with pytest.raises(ValueError, match="not a name"):
            SpoolWriter.create(tmp_path, bad)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.jsonl", "run.jsonl"]


def test_pending_lists_the_oldest_first_and_nothing_else(tmp_path: Path) -> None:
    for number, name in enumerate(["c", "a", "b"]):
        os.utime(_spool(tmp_path / f"{name}.jsonl", "{}"), ns=(number, number))
    (tmp_path / "commits").write_text("commit\n")
    (tmp_path / ".new.jsonl").write_text("")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "a.jsonl")
    assert [path.name for path in pending_spools(tmp_path)] == ["c.jsonl", "a.jsonl", "b.jsonl"]
    assert pending_spools(tmp_path / "missing") == []


GOOD = '{"t":"open"}'


@pytest.mark.parametrize(
    "body",
    [
        "{",
        "5",
        '"text"',
        "null",
        "[1.5]",
        "[1e999]",
        "[NaN]",
        "[Infinity]",
        "[" * 100_000,
        "[9223372036854775808]",
        "[" + "9" * 5000 + "]",
        '{"a":1}x',
    ],
)
def test_what_is_no_record_is_dropped_and_counted(tmp_path: Path, body: str) -> None:
    assert read_spool(_spool(tmp_path / "a.jsonl", GOOD, body, GOOD)) == SpoolContent(
        [{"t": "open"}] * 2, bad=1
    )


def test_escaped_surrogates_are_replaced(tmp_path: Path) -> None:
    assert read_spool(_spool(tmp_path / "a.jsonl", r'["\ud800","\u00e4"]')).records == [
        ["\ufffd", "ä"]
    ]


@given(st.data())
@pytest.mark.fault(
    "damaged file",
    promised="an altered line is dropped and counted",
    injected="bytes of a capture are changed or cut",
)
def test_no_altered_or_torn_line_is_believed(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = _spool(tmp_path_factory.mktemp("spool") / "a.jsonl", GOOD, '["t","x"]', '{"t":"end"}')
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    change = data.draw(st.sampled_from(["flip", "cut", "insert", "zero"]))
    if change == "flip":
        bytes_ = (
            whole[:at] + bytes([whole[at] ^ (1 << data.draw(st.integers(0, 7)))]) + whole[at + 1 :]
        )
    elif change == "cut":
        bytes_ = whole[:at]
    elif change == "zero":
        bytes_ = whole[:at] + b"\0" * (len(whole) - at)
    else:
        bytes_ = whole[:at] + data.draw(st.binary(min_size=1, max_size=5)) + whole[at:]
    path.write_bytes(bytes_)
    found = read_spool(path)
    real = [{"t": "open"}, ["t", "x"], {"t": "end"}]
    assert all(record in real for record in found.records)
    assert len(found.records) + found.bad <= 4
    assert (
        found.bad
        or len(found.records) < 3
        or bytes_ == whole
        or bytes_.replace(b"\r", b"") != whole
    )


def test_a_hostile_file_does_not_eat_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "MAX_SPOOL_BYTES", 200_000)
    monkeypatch.setattr(spool, "_MAX_LINE", 50_000)
    long = _spool(tmp_path / "long.jsonl", GOOD, '"' + "x" * 60_000 + '"', GOOD)
    assert read_spool(long) == SpoolContent([{"t": "open"}] * 2, bad=1)
    many = _spool(tmp_path / "many.jsonl", *[GOOD] * 5000, '{"t":"end"}')
    found = read_spool(many)
    assert found.cut
    assert not found.ended
    assert len(found.records) * 78 <= 200_000
    monkeypatch.setattr(spool, "_MAX_RECORDS", 10)
    assert len(read_spool(many).records) == 10
    with long.open("r+b") as file:
        file.truncate(1 << 40)
    assert read_spool(long).cut or read_spool(long).bad


def test_only_regular_files_of_ours_are_read(tmp_path: Path) -> None:
    _spool(tmp_path / "a.jsonl", GOOD)
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "a.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name in ("link.jsonl", "pipe.jsonl", "missing.jsonl"):
        with pytest.raises(OSError):
            read_spool(tmp_path / name)
    with pytest.raises(OSError):
        read_spool(tmp_path)


@pytest.mark.fault(
    "full disk",
    promised="what was acknowledged is read back, the torn tail is dropped",
    injected="RLIMIT_FSIZE of 1,000 bytes",
)
def test_a_full_disk_breaks_the_writer_once_and_for_all(tmp_path: Path) -> None:
    """The kernel takes part of a line and no more: the tail is torn, the writer reports it and
    never goes on there.
    """
    code = """
import resource, signal, sys
from pathlib import Path
from kl_hooks.store.spool import SpoolWriter, read_spool
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
writer = SpoolWriter.create(Path(sys.argv[1]), "run")
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
told = []
for number in range(20):
    try:
        writer.line('["t","%d"]' % number)
        writer.sync()
    except OSError as error:
        told.append(bool(writer.broken))
size = writer.path.stat().st_size
try:
    writer.sync()
    print("synced a broken file")
except OSError:
    pass
writer.close()
found = read_spool(writer.path)
print(len(found.records) + len(told) == 20, all(told), found.bad, size == 1000, found.records[-1])
"""
    out = _python(code, tmp_path).communicate(timeout=60)[0].decode()
    assert out == "True True 1 True ['t', '12']\n"


def test_a_closed_writer_and_a_failing_sync_raise(tmp_path: Path) -> None:
    writer = SpoolWriter.create(tmp_path, "run")
    os.close(writer._fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        writer.sync()
    assert writer.broken
    with pytest.raises(OSError, match="broken"):
        writer.line("{}")
    writer.close()
    writer.close()
    with pytest.raises(OSError, match="broken"):
        writer.line("{}")


@pytest.mark.fault(
    "stale lock",
    promised="a child holds no lock and writes nothing",
    injected="fork while a capture is open",
)
def test_a_forked_child_writes_nothing_and_keeps_no_lock(tmp_path: Path) -> None:
    code = """
import os, sys, time
from pathlib import Path
from kl_hooks.store.spool import SpoolWriter
writer = SpoolWriter.create(Path(sys.argv[1]), "run")
writer.line('["parent"]')
if os.fork() == 0:
    writer.line('["child"]')
    writer.sync()
    os.write(1, b"child\\n")
    time.sleep(60)
time.sleep(0.5)
os._exit(0)
"""
    process = _python(code, tmp_path, start_new_session=True)
    assert process.stdout is not None
    assert process.stdout.readline() == b"child\n"
    process.wait(timeout=60)
    try:
        assert read_spool(tmp_path / "run.jsonl") == SpoolContent([["parent"]], busy=False)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()


def test_it_works_where_os_open_time_and_hashlib_are_replaced(tmp_path: Path) -> None:
    code = """
import builtins, hashlib, os, sys, time
from pathlib import Path
from kl_hooks.store.spool import SpoolWriter
folder = Path(sys.argv[1])
def broken(*a, **k):
    raise RuntimeError("mocked")
first = SpoolWriter.create(folder, "first")
for module, names in (
    (os, "write getpid open close fsync fdatasync link unlink rename fstat stat lstat getuid geteuid urandom"),
    (builtins, "open print"),
    (time, "time monotonic sleep time_ns"),
    (hashlib, "sha256 new"),
):
    for name in names.split():
        setattr(module, name, broken)
first.line('["a"]')
first.record({"password": "x", "t": "end"})
first.sync()
first.close()
second = SpoolWriter.create(folder, "second")
second.record(["token=abc123"])
second.sync()
second.close()
"""
    process = _python(code, tmp_path)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert read_spool(tmp_path / "first.jsonl").records == [
        ["a"],
        {"password": "[redacted:key]", "t": "end"},
    ]
    assert read_spool(tmp_path / "second.jsonl").records == [["token=[redacted:assignment]"]]


def test_nothing_heavy_is_imported(tmp_path: Path) -> None:
    code = """
import sys
before = set(sys.modules)
import kl_hooks.store.spool, kl_hooks.store.state, kl_hooks.store.files
heavy = {"sqlite3", "subprocess", "yaml", "diskcache", "click", "pluggy", "asyncio", "logging"}
print(sorted(heavy & (set(sys.modules) - before)))
"""
    assert _python(code).communicate(timeout=60)[0] == b"[]\n"


def test_the_first_place_that_takes_it_wins(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    places = [
        (tmp_path / "file" / "spool", b""),
        (tmp_path / "new" / "spool", b""),
        (tmp_path, b""),
    ]
    writer = first_writable(places, "run")
    writer.close()
    assert writer.path == tmp_path / "new" / "spool" / "run.jsonl"
    assert (tmp_path / "new" / "spool").stat().st_mode & 0o777 == 0o700
    with pytest.raises(OSError, match="Not a directory"):
        first_writable(places[:1], "run")
    with pytest.raises(FileNotFoundError):
        first_writable([], "run")


@pytest.mark.parametrize("failing", ["write", "sync"])
@pytest.mark.parametrize("errno", [ENOSPC, EIO, ENOLCK, EROFS])
@pytest.mark.fault(
    "failing call",
    promised="the capture goes on elsewhere with all of its lines",
    injected="write or fdatasync fails in the first folder (ENOSPC, EIO, ENOLCK, EROFS)",
)
def test_a_capture_goes_on_in_the_next_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str, errno: int
) -> None:
    first, second, key = tmp_path / "first", tmp_path / "second", b"k" * 32
    writer = first_writable([(first, b""), (second, key)], "run")
    writer.record({"t": "open"})
    name = "write" if failing == "write" else "_sync_data"
    original = getattr(spool, name)

    def fails(fd: int, *data: bytes) -> int:
        if Path(f"/proc/self/fd/{fd}").readlink().is_relative_to(first):
            raise OSError(errno, os.strerror(errno))
        return int(original(fd, *data) or 0)

    monkeypatch.setattr(spool, name, fails)
    writer.record(["a"])
    writer.sync()
    writer.record({"t": "end"})
    writer.sync()
    writer.close()
    assert (list(first.iterdir()), writer.path) == ([], second / "run.jsonl")
    assert read_spool(writer.path, key) == SpoolContent(
        [{"t": "open"}, ["a"], {"t": "end"}], ended=True
    )


@pytest.mark.fault(
    "failing call",
    promised="the writer is broken and names the reason; nothing is tried again",
    injected="write fails with ENOSPC everywhere",
)
def test_a_capture_that_finds_no_place_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    writer = first_writable([(tmp_path / "first", b""), (tmp_path / "file" / "x", b"")], "run")

    def full(fd: int, data: bytes) -> int:
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr(spool, "write", full)
    with pytest.raises(OSError, match="No space left"):
        writer.record({"t": "open"})
    assert writer.broken
    writer.close()


def test_with_a_key_lines_of_others_are_not_believed(tmp_path: Path) -> None:
    key = b"k" * 32
    writer = first_writable([(tmp_path, key)], "run")
    for record in ({"t": "open"}, ["a"], {"t": "end"}):
        writer.record(record)
    writer.close()
    whole = read_spool(writer.path, key)
    assert (len(whole.records), whole.bad, whole.ended) == (3, 0, True)
    assert is_spool_file(writer.path)
    for other in (b"", b"x" * 32):
        assert read_spool(writer.path, other) == SpoolContent([], bad=3)
    lines = writer.path.read_bytes().splitlines(keepends=True)
    # another order, another file, and a plain checksum
    writer.path.write_bytes(b"".join([lines[0], lines[2], lines[1]]))
    assert read_spool(writer.path, key).bad == 2
    (tmp_path / "other.jsonl").write_bytes(b"".join(lines))
    assert read_spool(tmp_path / "other.jsonl", key).bad == 3
    plain = first_writable([(tmp_path, b"")], "plain")
    plain.record({"t": "open"})
    plain.close()
    assert read_spool(plain.path, key).bad == 1


KILLER = """
import os, random, signal, sys, time
from pathlib import Path
from kl_hooks.store.spool import SpoolWriter
folder, r = Path(sys.argv[1]), random.Random(int(sys.argv[2]))

def write_for_ever(number, into):
    while True:
        writer = SpoolWriter.create(folder, f"run{number}")
        writer.record({"t": "open", "run": f"run{number}"})
        for _ in range(120):
            writer.line('["t","%d","%s"]' % (number, "x" * (number % 700)))
            number += 1
            if number % 10 == 0:
                writer.sync()
                os.write(into, b"%d\\n" % (number - 1))
        writer.record({"t": "end"})
        writer.sync()
        writer.close()

for kill in range(200):
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            write_for_ever(kill * 1_000_000, into)
        finally:
            os._exit(9)
    os.close(into)
    with os.fdopen(out) as pipe:
        told = [pipe.readline() for _ in range(r.randrange(9))]
        time.sleep(r.uniform(0, 0.004))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print("".join(told + pipe.readlines()), end="")
"""


@pytest.mark.slow
@pytest.mark.fault(
    "killed process",
    promised="what was acknowledged is there once; nothing torn is believed",
    injected="SIGKILL of a capture at 200 random moments",
)
def test_killed_at_200_moments_it_loses_nothing_acknowledged_and_believes_nothing_torn(
    tmp_path: Path,
) -> None:
    """Each writer is killed at a random moment after a random number of acknowledgements; one
    interpreter forks them all, since starting one takes longer than a writer lives.
    """
    out, _ = _python(KILLER, tmp_path, 5).communicate(timeout=300)
    acknowledged = [int(line) for line in out.split()]
    found: dict[int, str] = {}
    torn = unended = 0
    for path in pending_spools(tmp_path):
        spool = read_spool(path)
        assert not spool.busy
        torn += spool.bad
        unended += not spool.ended
        for record in spool.records:
            if isinstance(record, list):
                assert len(record[2]) == int(record[1]) % 700
                assert int(record[1]) not in found
                found[int(record[1])] = record[2]
    last = {number // 1_000_000: number for number in acknowledged}
    lost = [
        n for kill, end in last.items() for n in range(kill * 1_000_000, end + 1) if n not in found
    ]
    assert len(last) >= 150, "the kills came too early to show anything"
    assert unended >= 100, f"the kills hit {unended} runs that were under way"
    assert lost == []
    assert torn <= unended


@pytest.mark.fault(
    "many writers",
    promised="all lines of all captures are there",
    injected="8 processes at once",
)
def test_eight_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from kl_hooks.store.spool import SpoolWriter
for run in range(5):
    with SpoolWriter.create(Path(sys.argv[1]), f"{sys.argv[2]}-{run}") as writer:
        for number in range(100):
            writer.line('["t","%s-%d-%d"]' % (sys.argv[2], run, number))
        writer.sync()
"""
    processes = [_python(code, tmp_path, n) for n in range(8)]
    assert [p.communicate(timeout=120) and p.returncode for p in processes] == [0] * 8
    found = [record[1] for path in pending_spools(tmp_path) for record in read_spool(path).records]
    assert sorted(found) == sorted(
        f"{w}-{run}-{n}" for w in range(8) for run in range(5) for n in range(100)
    )


def test_what_a_killed_writer_never_named_goes_after_an_hour(tmp_path: Path) -> None:
    left, young = tmp_path / ".old.jsonl.new", tmp_path / ".young.jsonl.new"
    stored = [tmp_path / name for name in ("run.jsonl", "commits", ".hidden")]
    for path in (left, young, *stored):
        path.write_text("x", encoding="utf-8")
        os.utime(path, (1000.0, 1000.0))
    os.utime(young, (4000.0, 4000.0))
    assert spool.remove_nameless_spools(tmp_path, 1000.0 + spool._NAMELESS_SECONDS + 1) == 1
    assert sorted(tmp_path.iterdir()) == sorted([young, *stored])
    assert spool.remove_nameless_spools(tmp_path / "nowhere", 1e12) == 0
