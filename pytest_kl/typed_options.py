"""Options of pytest that were typed, and by which tests may end otherwise than as configured.

The content states with which options its tests run (`addopts`). Which of the others matter can't be
known of all plugins and conftest.py files, so that those count which are not known to be harmless.
"""

from __future__ import annotations

import os
import shlex
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

_OF_REPORTS: Final = """
    cacheclear cacheshow capture code_highlight color debug disable_warnings durations
    durations_min file_or_dir fold_skipped force_short_summary fulltrace help junitprefix
    log_cli_date_format log_cli_format log_cli_level log_file log_file_date_format
    log_file_format log_file_level log_file_mode markers no_header no_summary pastebin quiet
    reportchars setupshow showcapture showfixtures showlocals show_fixtures_per_test tbstyle trace
    traceconfig usepdb usepdb_cls verbose version xfail_tb xmlpath
"""
"""What pytest shows and writes. The names are those of argparse."""
_OF_SELECTION: Final = """
    collect_in_virtualenv collectonly continue_on_collection_errors deselect
    doctest_continue_on_failure doctestglob doctestmodules doctestreport failedfirst ignore
    ignore_glob keepduplicates keyword last_failed_no_failures lf markexpr maxfail newfirst pyargs
    rootdir setuponly setupplan stepwise stepwise_reset stepwise_skip
"""
"""Which tests run, and in which order: `environment.selection_of` has it."""
_STRICTER: Final = """
    basetemp fail_on_flaky max_warnings strict strict_config strict_markers
"""
_JUDGED_ELSEWHERE: Final = "confcutdir noconftest"
"""See `environment.weakened`; also for what `-W` adds."""
_REPEATED: Final = {"override_ini": "-o", "plugins": "-p", "pythonwarnings": "-W"}
_OF_KL: Final = "kl kl_audit kl_impacted kl_strict kl_symbols kl_symbols_subprocess kl_unrecorded"
_OF_PLUGINS: Final = """
    alluredir clean_alluredir cov_append cov_branch cov_config cov_context cov_fail_under
    cov_precision cov_report cov_source create_db css dist distload force_reruns htmlpath
    hypothesis_explain hypothesis_seed hypothesis_show_statistics hypothesis_verbosity instafail
    json_report json_report_file json_report_indent json_report_omit json_report_summary
    loadscopereorder looponfail max_suite_reruns maxprocesses maxschedchunk maxworkerrestart
    metadata metadata_from_json metadata_from_json_file no_cov no_cov_on_fail numprocesses
    only_rerun px random_order_bucket random_order_enabled random_order_seed randomly_reorganize
    randomly_reset_seed randomly_seed report_log report_log_exclude_logs_on_passed_tests
    rerun_except rerun_exclude_path rerun_show_tracebacks reruns reruns_delay
    reruns_delay_backoff_factor reruns_mode rsyncdir rsyncignore self_contained_html testrunuid
    timeout timeout_disable_debugger_detection timeout_func_only timeout_method tx
"""
"""Of coverage, distribution, order, repetition, time limits and reports."""
_HARMLESS: Final = frozenset(
    " ".join(
        (_OF_REPORTS, _OF_SELECTION, _STRICTER, _JUDGED_ELSEWHERE, _OF_KL, _OF_PLUGINS)
    ).split()
)
_HARMLESS_SETTINGS: Final = (
    "addopts",
    "cache_dir",
    "console_output_style",
    "faulthandler",
    "junit_",
    "log_cli",
    "log_file",
    "norecursedirs",
    "python_classes",
    "python_files",
    "python_functions",
    "required_plugins",
    "strict=true",
    "strict_config=true",
    "strict_markers=true",
    "testpaths",
    "tmp_path_retention_",
    "truncation_limit_",
    "verbosity_",
)
"""How settings begin that `-o` may state: those of reports, and of what a test is."""
_PLUGINS: Final = """
    cacheprovider cov faulthandler flaky html instafail kl kl_impacted pastebin pytest_cov
    pytest_kl.plugin pytest_randomly random_order randomly reportlog rerunfailures sugar timeout
    warnings xdist xdist.looponfail xdist.plugin
"""
_HARMLESS_PLUGINS: Final = frozenset(_PLUGINS.split())
"""Plugins that may be there or not (`-p NAME`, `-p no:NAME`); of `warnings` see
`environment.weakened`.
"""


def typed_options(config: pytest.Config) -> list[str]:
    """`["-o xfail_strict=false", "fake True"]`: what was typed, or set by `PYTEST_ADDOPTS`, and
    matters; those of reports, selection, distribution and repetition do not.
    """
    typed = [str(arg) for arg in config.invocation_params.args]
    with suppress(ValueError):  # pytest itself has refused it then
        typed = [*shlex.split(os.environ.get("PYTEST_ADDOPTS") or ""), *typed]
    if not any(arg.startswith("-") for arg in typed):
        return []
    in_force = [str(arg) for arg in config.getini("addopts")]
    with_typed = _parsed(config, [*in_force, *typed])
    without = _parsed(config, _configured(config) if with_typed.override_ini else in_force)
    options: list[str] = []
    for name, value in sorted(vars(with_typed).items()):
        before = getattr(without, name, None)
        if value == before or name in _HARMLESS:
            continue
        if name in _REPEATED:
            options += _repeated(_REPEATED[name], value or (), before or ())
        elif name != "inifilename":
            options.append(f"{name} {value}")
        elif _is_another_file(config):
            options.append(f"-c {value}")
    return options


def _configured(config: pytest.Config) -> list[str]:
    """The `addopts` of the configuration, whatever `-o addopts=` has made of them."""
    from _pytest.config.findpaths import load_config_dict_from_file

    settings = (load_config_dict_from_file(config.inipath) if config.inipath else None) or {}
    stated: Any = settings.get("addopts", ())
    words = getattr(stated, "value", stated)  # pytest 9 has a type for it
    return shlex.split(words) if isinstance(words, str) else list(map(str, words))


def _parsed(config: pytest.Config, arguments: list[str]) -> Namespace:
    """What these arguments set; pytest has accepted them already."""
    return config._parser.parse_known_args(arguments)


def _repeated(option: str, typed: Sequence[str], configured: Sequence[str]) -> Iterator[str]:
    """What was typed of an option that can be given several times, and what took another back."""
    for value in typed:
        # what `-W` adds is judged by what the configuration makes an error
        if value not in configured and option != "-W" and not _is_harmless(option, value):
            yield f"{option} {value}"
    for value in configured:
        if value not in typed and not _is_harmless(option, value):
            yield f"without {option} {value}"


def _is_harmless(option: str, value: str) -> bool:
    if option == "-p":
        return value.removeprefix("no:") in _HARMLESS_PLUGINS
    return option == "-o" and value.startswith(_HARMLESS_SETTINGS)


def _is_another_file(config: pytest.Config) -> bool:
    """Whether the file of `-c` is another one than pytest takes by itself, where that takes one."""
    from _pytest.config.findpaths import locate_config

    start = config.invocation_params.dir
    own = locate_config(start, [start])[1]
    return own is not None and own.resolve() != Path(str(config.inipath)).resolve()
