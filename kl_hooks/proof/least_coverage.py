"""The least coverage that a suite asks for in its configuration: with less pytest ends with 1,
whatever its tests show.

pytest-cov judges the total of a run. It is known of a content on which all tests ran while it was
measured: what a change of code makes of it, no result of a test shows.
"""

from __future__ import annotations

import argparse
import configparser
import posixpath
import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NoReturn

from kl_hooks.evidence.measured_coverage import MeasuredCoverage
from kl_hooks.model.definitions import NamedTuple
from kl_hooks.proof.pytest_config import LARGEST_CONFIG, PytestConfig

Read = Callable[[str], bytes | None]
"""A path from the repository's root → the content of the file; None where there is none."""
_FILES_OF_COVERAGE: Final = (".coveragerc", ".coveragerc.toml")
"""Files that configure coverage.py alone: their sections need no prefix."""
_SHARED_FILES: Final = ("setup.cfg", "tox.ini", "pyproject.toml")
"""Where it looks after these, in this order. The first file that configures it counts (its
`config_files_to_try`, 7.11).
"""


class LeastCoverage(NamedTuple):
    """What one configuration asks for."""

    path: str
    """The file that asks, from the repository's root."""
    percent: float | None
    """None: it may ask for some, and can't be read."""
    folder: str = ""
    """Where pytest is started for it; empty: the repository's root."""
    sources: tuple[str, ...] = ()
    """What `addopts` measure; empty: what coverage.py takes by itself."""

    @property
    def reason(self) -> str:
        """Why a content is not proven on which it is not known to be reached."""
        if self.percent is None:
            asks = "may ask for a least coverage"
        else:
            asks = f"asks for {self.percent:g} % coverage"
        return f"{self.path} {asks}, and no run of all tests measured that of this content"

    @property
    def command(self) -> str:
        """The command whose run would show it."""
        return f"pytest {self.folder}".strip()

    def is_met_by(self, coverage: MeasuredCoverage) -> bool:
        """Whether a run of all tests that passed measured the same, and as much."""
        is_same = not coverage.sources or set(coverage.sources) == set(self.sources)
        return is_same and (self.percent is None or coverage.has_reached(self.percent))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def _parser() -> argparse.ArgumentParser:
    """Those options of pytest-cov that decide whether a total is judged."""
    parser = _Parser(add_help=False, allow_abbrev=False)
    parser.add_argument("--cov", action="append", nargs="?", const=True)
    parser.add_argument("--cov-reset", dest="cov", action="store_const", const=[])
    parser.add_argument("--no-cov", action="store_true")
    parser.add_argument("--cov-fail-under", type=float)
    parser.add_argument("--cov-config", default=_FILES_OF_COVERAGE[0])
    return parser


def least_coverage(configs: Iterable[PytestConfig], read: Read) -> tuple[LeastCoverage, ...]:
    """What these configurations of pytest ask for in every run."""
    # most files have the same one
    unique = {id(config): config for config in configs}
    demands = (_of_config(config, read) for config in unique.values())
    return tuple(dict.fromkeys(demand for demand in demands if demand is not None))


def _of_config(config: PytestConfig, read: Read) -> LeastCoverage | None:
    try:
        options = _parser().parse_known_args(list(config.addopts))[0]
    except ValueError:
        return None  # pytest refuses it, too
    if not options.cov or options.no_cov:
        return None
    sources = tuple(source for source in options.cov if source is not True)
    percent = options.cov_fail_under
    path = config.path
    if percent is None:
        path, percent = _of_coverage_files(options.cov_config, config.folder, read)
    if percent is not None and percent <= 0:
        return None
    return LeastCoverage(path, percent, config.folder, sources)


def _of_coverage_files(first: str, folder: str, read: Read) -> tuple[str, float | None]:
    """The file that configures coverage.py and what it asks for: 0 for nothing, None where that
    can't be read.
    """
    names = dict.fromkeys((first, _FILES_OF_COVERAGE[1], *_SHARED_FILES))
    for name in names:
        path = posixpath.normpath(posixpath.join(folder, name))
        content = read(path)
        is_own = name == first or name in _FILES_OF_COVERAGE
        if content is None:
            # pytest-cov fails without a file that an option names: it is none that is read here
            if name == first and name not in _FILES_OF_COVERAGE:
                return path, None
            continue
        try:
            report = _report(name, content, is_own)
        except (ValueError, configparser.Error, RecursionError):
            return path, None
        if report is not None:
            return path, _threshold(report.get("fail_under", 0))
    return "", 0


def _report(name: str, content: bytes, is_own: bool) -> Mapping[str, Any] | None:
    """The settings of reports; None where a file does not configure coverage.py. ValueError and
    configparser.Error for one that can't be read.
    """
    if len(content) > LARGEST_CONFIG:
        raise ValueError("too large")
    text = content.decode("utf-8-sig")
    if name.endswith(".toml"):
        return _report_of_toml(tomllib.loads(text), is_own)
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    parser.read_string(text)
    for section in ("coverage:report", *(["report"] if is_own else [])):
        if parser.has_section(section):
            return dict(parser.items(section))
    if is_own or any(section.startswith("coverage:") for section in parser.sections()):
        return {}
    return None


def _report_of_toml(document: Mapping[str, Any], is_own: bool) -> Mapping[str, Any] | None:
    tool = document.get("tool")
    table = tool.get("coverage") if isinstance(tool, dict) else None
    if table is None and is_own:
        table = document
    if not isinstance(table, dict):
        return None
    report = table.get("report")
    return report if isinstance(report, dict) else {}


def _threshold(value: object) -> float | None:
    """None for what is no number, such as `${LEAST-90}`, for which coverage.py asks the
    environment.
    """
    try:
        return float(str(value))
    except ValueError:
        return None
