"""A job's shell: bash as the runners of GitHub and GitLab start it, with `kl`, `pytest` and
`python` on its PATH.

The commands are bash's own children. `kl` and `pytest` pass what they were given to this process,
which runs them in the usual ways of the tests (`run_in_process`, `run_pytest`); `python -m pip` is
noted and installs nothing.
"""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.support import Done, run_in_process, run_pytest

# -I -S: 10 ms to start, where kl itself takes 200
_COMMAND: Final = """\
#!{python} -IS
import json, os, socket, sys
name, args = os.path.basename(sys.argv[0]), sys.argv[1:]
if name == "python" and args[:2] != ["-m", "pip"]:
    os.execv({python!r}, [{python!r}, *args])
with socket.socket(socket.AF_UNIX) as line:
    line.connect({address!r})
    given = sys.stdin.read() if "-" in args else ""
    line.sendall(json.dumps([name, args, os.getcwd(), dict(os.environ), given]).encode())
    line.shutdown(socket.SHUT_WR)
    code, out, err = json.loads(b"".join(iter(lambda: line.recv(65536), b"")))
sys.stdout.write(out)
sys.stdout.flush()
sys.stderr.write(err)
sys.exit(code)
"""
LIMIT: Final = 120
"""Seconds after which a step is ended."""


class JobShell:
    """What runs the scripts of jobs; `installed` has the arguments of each `python -m pip
    install`.
    """

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        self.installed: list[str] = []
        # in a folder of its own: the name of a socket has at most 107 bytes
        self._address = Path(tempfile.mkdtemp(prefix="kl-job-")) / "line"
        for name in ("kl", "pytest", "python"):
            (self.bin / name).write_text(
                _COMMAND.format(python=sys.executable, address=str(self._address)), encoding="utf-8"
            )
            (self.bin / name).chmod(0o755)

    def run(self, script: str, options: str, cwd: Path, env: Mapping[str, str]) -> Done:
        """Run a script with these options of bash; stdout and stderr are one text, as in a job's
        log.
        """
        command = ["bash", *options.split(), str(self.bin.parent / "step.sh")]
        Path(command[-1]).write_text(script, encoding="utf-8")
        with socket.socket(socket.AF_UNIX) as line, tempfile.TemporaryFile() as log:
            line.bind(str(self._address))
            line.listen()
            with subprocess.Popen(
                command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            ) as bash:
                for _ in range(LIMIT * 50):
                    if select.select([line], [], [], 0.02)[0]:
                        self._answer(line)
                    elif bash.poll() is not None:
                        break
                else:
                    bash.kill()
            self._address.unlink()
            log.seek(0)
            return Done(command, bash.returncode, log.read().decode(), "")

    def _answer(self, line: socket.socket) -> None:
        with line.accept()[0] as asking:
            name, args, cwd, env, given = json.loads(
                b"".join(iter(lambda: asking.recv(65536), b""))
            )
            if name == "python":
                self.installed.append(" ".join(args[3:]))
                done = Done(args, 0, "", "")
            elif name == "kl":
                done = run_in_process(args, Path(cwd), env, given)
            else:
                other = ("-p", "tests.ci.other_python") if "SETUP_PYTHON" in env else ()
                done = run_pytest(("-p", "pytest_kl.plugin", *other, *args), Path(cwd), env)
            asking.sendall(json.dumps([done.returncode, done.stdout, done.stderr]).encode())
