"""`kl run`: the command has its streams, its signals and its exit code as if kl were not there; and
it is recorded.
"""

from __future__ import annotations

import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kl_hooks.evidence.ingestion import sync_evidence
from kl_hooks.evidence.sources.command import (
    LONGEST,
    TAIL,
    TAIL_BYTES,
    Ended,
    command_line,
    exit_code,
    redacted_tail,
    start,
)
from kl_hooks.git.run import LOCAL_VARIABLES
from kl_hooks.model.receipt import Receipt
from tests.store.secrets import SHAPES
from tests.support import KL, Checkout

KL_RUN = (*KL, "run", "--")


def started(
    repo: Checkout, *argv: str, env: Mapping[str, str] | None = None, **more: Any
) -> subprocess.Popen[bytes]:
    """`kl run` that is talked to while it runs; no terminal."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    environ = {**os.environ, **(env or {})}
    return subprocess.Popen(
        [*KL_RUN, *argv], cwd=repo.root, env=environ, start_new_session=True, **(pipes | more)
    )


def kl_run(
    repo: Checkout, *argv: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> tuple[int, bytes, bytes]:
    """Exit code, stdout, stderr."""
    with started(repo, *argv, env=env) as process:
        out, err = process.communicate(stdin, timeout=60)
        return process.returncode, out, err


def recorded(repo: Checkout) -> list[Receipt]:
    """The commands that were recorded, newest first."""
    sync_evidence(repo.workspace())
    return [e.receipt for e in repo.entries() if e.receipt.source == "command"]


def python(code: str) -> Sequence[str]:
    return (sys.executable, "-c", code)


def test_both_streams_come_through_byte_for_byte_and_apart(repo: Checkout) -> None:
    code = (
        "import os; every = bytes(range(256)) * 1000; every2 = every[::-1]\nwhile every: every ="
        " every[os.write(1, every[:7777]):]; every2 = every2[os.write(2, every2[:7777]):]"
    )
    exit_code, out, err = kl_run(repo, *python(code))
    assert (
        exit_code,
        out == bytes(range(256)) * 1000,
        err == (bytes(range(256)) * 1000)[::-1],
    ) == (0, True, True)
    assert recorded(repo)[0].evidence[0].outcome == "passed"


def test_one_file_for_both_streams_keeps_their_order(repo: Checkout) -> None:
    code = "import os\nfor n in range(2000): os.write(1 + n % 2, b'%d\\n' % n)"
    with started(repo, *python(code), stderr=subprocess.STDOUT) as process:
        out, _ = process.communicate(timeout=60)
    assert out == b"".join(b"%d\n" % n for n in range(2000))


def test_stdin_comes_through(repo: Checkout) -> None:
    content = random.Random(3).randbytes(200_000)
    assert kl_run(repo, "cat", stdin=content) == (0, content, b"")


def test_every_exit_code_comes_through(repo: Checkout, capfd: pytest.CaptureFixture[str]) -> None:
    assert [
        exit_code(start(["sh", "-c", f"exit {n}"], os.environ, "ab")) for n in range(256)
    ] == list(range(256))


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV], ids=lambda n: n.name
)
def test_a_signal_is_reported_as_by_shells(repo: Checkout, number: signal.Signals) -> None:
    assert kl_run(repo, "sh", "-c", f"kill -{int(number)} $$")[0] == 128 + number
    (receipt,) = recorded(repo)
    assert (receipt.result["exit"], receipt.result["how"], receipt.result["verdict"]) == (
        128 + number,
        "signal",
        "failed",
    )


def test_an_exit_code_above_128_is_no_signal(repo: Checkout) -> None:
    assert kl_run(repo, "sh", "-c", "exit 200")[0] == 200
    assert recorded(repo)[0].result["how"] == "finished"


def test_words_of_the_command_are_not_taken_for_ours(repo: Checkout) -> None:
    for words in (
        ["commits", "record"],
        ["arch", "check", "--staged"],
        ["--root", "/nowhere"],
        ["--help"],
    ):
        assert kl_run(repo, "sh", "-c", "exit 9", *words)[0] == 9


def test_what_can_not_be_started(repo: Checkout) -> None:
    plain = repo.write("plain", "no program")
    code, _, err = kl_run(repo, "no-such-command")
    assert (code, b"no-such-command: can't be started: No such file" in err) == (127, True)
    code, _, err = kl_run(repo, str(plain))
    assert (code, b"Permission denied" in err, b"Check the name" in err) == (126, True, True)
    assert recorded(repo) == []
    assert list((repo.state / "spool").glob("*.jsonl")) == []


def test_no_words_is_a_usage_error(repo: Checkout) -> None:
    assert kl_run(repo)[0] == 2


def memory_of(repo: Checkout, count: int) -> int:
    """The most memory that `kl run` needed for `count` bytes of output, in KiB."""
    words = [*KL_RUN, "head", "-c", str(count), "/dev/zero"]
    nothing = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    here = os.getcwd()  # noqa: PTH109
    os.chdir(repo.root)
    try:
        pid = os.posix_spawn(sys.executable, words, os.environ, file_actions=nothing)
    finally:
        os.chdir(here)
    _, status, used = os.wait4(pid, 0)
    assert status == 0
    return used.ru_maxrss


def test_100_megabytes_of_output_need_no_memory(repo: Checkout) -> None:
    assert memory_of(repo, 100 * 1024 * 1024) < memory_of(repo, 100) + 4 * 1024


def test_a_command_whose_reader_has_ended_ends(repo: Checkout) -> None:
    began = time.monotonic()
    line = f"{shlex.join([*KL_RUN, 'yes'])} | head -1"
    done = subprocess.run(
        ["sh", "-c", line], cwd=repo.root, capture_output=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == (b"y\n", b"")
    assert time.monotonic() - began < 30
    assert recorded(repo)[0].result["exit"] == 128 + signal.SIGPIPE


TRAPS = """
import signal, sys, time
seen = []
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
    signal.signal(number, lambda n, f: seen.append(n))
print("ready", flush=True)
end = time.monotonic() + 30
while not seen and time.monotonic() < end: time.sleep(0.01)
time.sleep(0.3)
print([signal.Signals(n).name for n in seen], flush=True)
sys.exit(7)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"])
@pytest.mark.share(2)
def test_a_signal_that_we_get_goes_to_the_command(repo: Checkout, name: str) -> None:
    with started(repo, *python(TRAPS)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.Signals[name])
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (7, b"['%s']\n" % name.encode(), b"")
    assert recorded(repo)[0].result["exit"] == 7


AT_TERMINAL = "import os, sys; os.login_tty(int(sys.argv[1])); os.execv(sys.argv[2], sys.argv[2:])"


def test_at_a_terminal_the_command_sees_one_and_gets_a_ctrl_c_once(repo: Checkout) -> None:
    ours, theirs = os.openpty()
    code = "import os; print([os.isatty(n) for n in range(3)])\n" + TRAPS
    command = [sys.executable, "-c", AT_TERMINAL, str(theirs), *KL_RUN, *python(code)]
    process = subprocess.Popen(command, cwd=repo.root, pass_fds=[theirs])
    os.close(theirs)
    seen = b""
    while b"ready" not in seen:
        seen += os.read(ours, 1000)
    os.write(ours, b"\x03")
    assert process.wait(60) == 7
    while b"]" not in seen.partition(b"ready")[2]:
        seen += os.read(ours, 1000)
    os.close(ours)
    assert b"[True, True, True]" in seen
    assert b"['SIGINT']" in seen
    assert "tail" not in recorded(repo)[0].evidence[0].detail


def test_what_was_ignored_stays_ignored(repo: Checkout) -> None:
    line = (
        "trap '' HUP; exec"
        f" {shlex.join([*KL_RUN, 'sh', '-c', 'kill -HUP $$; kill -HUP $PPID; echo lives'])}"
    )
    done = subprocess.run(
        ["sh", "-c", line], cwd=repo.root, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"lives\n")


def test_the_command_knows_its_run_and_no_git_hook_s_repository(repo: Checkout) -> None:
    git = {name: str(repo.root / ".git") for name in sorted(LOCAL_VARIABLES)}
    code = (
        "import os; print(os.environ['KL_PARENT'], [n for n in os.environ if n.startswith('GIT_')],"
        " os.environ['KEPT'])"
    )
    exit_code, out, _ = kl_run(repo, *python(code), env={**git, "KEPT": "yes"})
    run, _, rest = out.decode().strip().partition(" ")
    assert exit_code == 0
    assert rest == "['GIT_CONFIG_GLOBAL', 'GIT_CONFIG_NOSYSTEM'] yes"
    assert recorded(repo)[0].run == run


def test_a_run_inside_a_run_names_it(repo: Checkout) -> None:
    assert kl_run(repo, *KL_RUN, "true")[0] == 0
    inner, outer = sorted(recorded(repo), key=lambda r: r.parent is None)
    assert (inner.parent, outer.parent) == (outer.run, None)


def test_the_last_of_the_output_is_stored_where_it_failed_and_only_there(repo: Checkout) -> None:
    kl_run(repo, "sh", "-c", "echo fine; echo well >&2")
    kl_run(repo, "sh", "-c", "echo out; echo err >&2; exit 1")
    failed, passed = recorded(repo)
    assert "tail" not in passed.evidence[0].detail
    assert failed.evidence[0].detail["exit"] == 1
    assert sorted(failed.evidence[0].detail["tail"].splitlines()) == [
        "err",
        "out",
    ]  # two pipes have no order


def test_binary_and_hostile_output_is_made_harmless(repo: Checkout) -> None:
    kl_run(repo, "sh", "-c", r"printf '\377\000\033]0;title\007\033[31mred\033[0m\n'; exit 1")
    tail = recorded(repo)[0].evidence[0].detail["tail"]
    assert tail == "\ufffd\\x00\\x1b]0;title\\x07red\n"


@pytest.mark.once
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.share(6)
def test_no_secret_is_stored_wherever_the_output_is_cut(shape: str) -> None:
    dice = random.Random(shape)
    for _ in range(20):
        text, secret = SHAPES[shape](dice)
        before = "".join(dice.choices("abc def\n", k=dice.randrange(TAIL_BYTES)))
        whole = f"{before}\n{text}\n{'y' * dice.randrange(TAIL_BYTES)}".encode()
        tail = redacted_tail(Ended(1, whole[-TAIL_BYTES:], len(whole) > TAIL_BYTES))
        assert len(tail) <= TAIL
        for part in (secret, secret[len(secret) // 3 :]):
            assert part not in tail


def test_a_secret_in_the_command_line_is_hidden() -> None:
    secret = "hunter" + "2" * 8
    for words in (
        ["curl", "--password", secret],
        [f"--api-key={secret}"],
        ["sh", "-c", f"DB_PASSWORD={secret} run"],
    ):
        assert secret not in command_line(words)
    assert command_line(["pytest", "-q", "a b"]) == "pytest -q 'a b'"


def test_a_long_command_line_is_known_by_its_beginning_and_its_digest() -> None:
    one, two = (command_line(["sh", "-c", "x" * 5000 + end]) for end in "ab")
    assert one != two
    assert one[:LONGEST] == two[:LONGEST]
    assert len(one) < LONGEST + 40


def test_undecodable_words_come_through(repo: Checkout) -> None:
    assert kl_run(repo, "printf", "%s", os.fsdecode(b"\xff\xfe"))[:2] == (0, b"\xff\xfe")
    assert recorded(repo)[0].evidence[0].subject == "command:printf %s '\ufffd\ufffd'"


@pytest.mark.fault(
    "killed process",
    promised="the run is incomplete, never passed",
    injected="SIGKILL of `kl run`",
)
def test_a_run_whose_observer_was_killed_is_incomplete(repo: Checkout) -> None:
    with started(repo, "sh", "-c", "echo ready; sleep 0.3") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.kill()
        process.communicate()
    (receipt,) = recorded(repo)
    assert (receipt.result["complete"], receipt.result["how"], receipt.evidence) == (
        False,
        "killed",
        (),
    )
    assert receipt.selection["args"] == ["sh -c 'echo ready; sleep 0.3'"]


def test_a_closed_stdout_harms_nobody(repo: Checkout) -> None:
    line = f"{shlex.join([*KL_RUN, 'sh', '-c', 'echo x; echo y >&2; exit 4'])} >&-"
    done = subprocess.run(
        ["sh", "-c", line], cwd=repo.root, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 4
    assert b"y\n" in done.stderr
    assert b"Traceback" not in done.stderr
