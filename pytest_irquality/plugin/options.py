"""The options and ini keys of the plugin, and their values in a session.

Every pytest run of every project that has the plugin installed imports this module, so it imports
the standard library and pytest only.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pytest

SUITE_PATTERNS = ("*.ir.yaml", "*.ir.yml")
LIST_SUFFIXES = (".txt", ".csv")
# Endings of files that the command line can name as suites.
NAMED_SUFFIXES = (".yaml", ".yml", *LIST_SUFFIXES)
DEFAULT_REPORT = "ir-report.html"
NO_FILE = "none"
STANDARD_OUTPUT = "-"
_NO_PATHS = ("", NO_FILE, STANDARD_OUTPUT)

# Set in the process that runs the base branch's own code (``--ir-baseline=run:REF``).
BASE_PROCESS_VARIABLE = "PYTEST_IRQUALITY_BASE"

_ValueType = Literal["text", "texts", "count", "optional text"]


class Option(NamedTuple):
    """An option of the command line.

    Attributes:
        renderer: If the option names a report: the function in ``pytest_irquality.reports`` that
            renders a view, as ``module:function``.
    """

    flag: str
    metavar: str
    help: str
    value_type: _ValueType = "text"
    renderer: str = ""

    @property
    def name(self) -> str:
        """Return the attribute of ``config.option``."""
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def default(self) -> object:
        """Return the value without the option."""
        return {"text": "", "texts": []}.get(self.value_type)


class IniKey(NamedTuple):
    """A key of the ini file. ``value_type`` is one of the types that ``Parser.addini`` knows."""

    name: str
    value_type: Literal["string", "args", "linelist"]
    help: str
    default: str | tuple[str, ...] = ()


OPTIONS = (
    Option(
        "--ir-suite",
        "PATH",
        "Find search-quality suites, run their queries, and evaluate the results. PATH is a"
        " suite, a folder, or a list of queries (.txt, .csv). On the command line, all options"
        " below but --ir-init imply it.",
        value_type="optional text",
    ),
    Option(
        "--ir-baseline",
        "PATH|git:REF|run:REF",
        "Compare with saved runs (a file or a folder), with the committed baselines and suites at"
        " the merge base of REF and HEAD (git:REF), or with what the code at that commit returns"
        " (run:REF) (default: the baselines in .ir-baseline next to each suite).",
    ),
    Option(
        "--ir-update-baseline",
        "QUERY_ID",
        "Record the current results as the baseline of all selected queries or, with =QUERY_ID, of"
        " one query.",
        value_type="optional text",
    ),
    Option(
        "--ir-save-runs",
        "DIR[,shard=I/N]",
        "Save the answers in DIR. 'shard=I/N' runs shard I of N of each suite's queries.",
    ),
    Option(
        "--ir-runs",
        "PATH",
        "Evaluate the saved runs in this folder or file instead of running the retriever. Repeat"
        " the option if shards are in several folders.",
        value_type="texts",
    ),
    Option(
        "--ir-concurrency",
        "N",
        "Make up to N calls at the same time (default: 'concurrency' of the suite, or 1).",
        value_type="count",
    ),
    Option(
        "--ir-repeat",
        "N",
        "Run every query N times, for engines whose results vary (default: 'repeat' of the suite,"
        " or 1).",
        value_type="count",
    ),
    Option(
        "--ir-init",
        "QUERIES",
        "Write a first suite next to a list of queries (one per line, or CSV), with current results"
        " to grade and, if there are GitHub workflows, one that runs it.",
    ),
    Option(
        "--ir-report",
        "PATH",
        f"Write the HTML report to PATH, or '{NO_FILE}' for no report (default: {DEFAULT_REPORT}).",
        renderer="html:render_html",
    ),
    Option(
        "--ir-json",
        "PATH",
        "Write the report as JSON to PATH. '-' writes a short JSON document to standard output, and"
        " all other output goes to standard error.",
        renderer="json_report:render_json",
    ),
    Option(
        "--ir-markdown",
        "PATH",
        "Write the report as Markdown to PATH (default: only to $GITHUB_STEP_SUMMARY, if set).",
        renderer="pull_request:render_markdown",
    ),
    Option(
        "--ir-grade",
        "PATH",
        "Write the unjudged results of each query to a grading page (.html) or a list (.csv).",
    ),
    Option(
        "--ir-history",
        "FILE",
        "Append the metrics of this run to FILE, and show the last runs in the report.",
    ),
)

INI_KEYS = (
    IniKey(
        "ir_suite_files",
        "args",
        f"Patterns for the names of suites (default: {' '.join(SUITE_PATTERNS)}).",
        SUITE_PATTERNS,
    ),
    IniKey(
        "ir_url",
        "linelist",
        "URL to search, if there is no fixture. For several, write NAME: URL on each line.",
    ),
    IniKey("ir_headers", "linelist", "Headers for ir_url, one per line, such as Key: $API_KEY."),
    IniKey("ir_command", "linelist", "Search program, if there is no fixture."),
    IniKey("ir_serve", "string", "Command that starts the server of ir_url at a free {port}.", ""),
    IniKey("ir_prepare", "linelist", "Commands to run before ir_serve and ir_command."),
    IniKey("ir_id_field", "string", "Result field with the document id.", ""),
    IniKey("ir_retrievers", "args", "More fixtures that suites may use as retrievers."),
    IniKey("ir_files", "args", "Patterns of other files that suites may read, in any folder."),
    IniKey(
        "ir_gate",
        "string",
        "'normal', or 'strict' to exit with 1 on REVIEW and INCOMPLETE (default: normal).",
        "normal",
    ),
    IniKey(
        "ir_base_command",
        "string",
        "Command that runs pytest in the checkout of the base branch (run:).",
        "",
    ),
    IniKey(
        "ir_base_link",
        "args",
        "Untracked files to link into the checkout of the base branch (run:).",
    ),
)

# They are not declared, or `pytest --help` would list them.
_REMOVED_INI_KEYS = {
    "ir_accepted": "Use `ir_gate = strict`.",
    "ir_exam": "Use `ir_gate = strict`.",
    "ir_strict": "Use `ir_gate = strict`.",
    "ir_max_calls": "Limit calls with 'rate' in the suite.",
}

# Options, of pytest and of this plugin, that write to a path, which must not be a suite.
_FILE_OPTIONS = {
    "xmlpath": "--junitxml",
    "log_file": "--log-file",
    "debug": "--debug",
    "ir_save_runs": "--ir-save-runs",
    "ir_history": "--ir-history",
}
# With these, no suite is evaluated, and pytest may exit with 0.
OPTIONS_WITHOUT_EVALUATION = {
    "collectonly": "--collect-only",
    "setupplan": "--setup-plan",
    "showfixtures": "--fixtures",
    "show_fixtures_per_test": "--fixtures-per-test",
    "help": "--help",
    "version": "--version",
    "markers": "--markers",
    "cacheshow": "--cache-show",
    "ir_init": "--ir-init",
}


def add_options(parser: pytest.Parser) -> None:
    """Declare all options and ini keys."""
    group = parser.getgroup("irquality", "search quality")
    arguments_of_type: dict[_ValueType, dict[str, Any]] = {
        "text": {},
        "optional text": {"nargs": "?", "const": ""},
        "texts": {"action": "append"},
        "count": {"type": _read_count},
    }
    for option in OPTIONS:
        arguments = {"default": option.default, "metavar": option.metavar, "help": option.help}
        group.addoption(option.flag, **arguments, **arguments_of_type[option.value_type])
    for key in INI_KEYS:
        default = list(key.default) if isinstance(key.default, tuple) else key.default
        parser.addini(key.name, type=key.value_type, help=key.help, default=default)


class Options(NamedTuple):
    """The options and ini keys of a session, each under its name without ``ir_``.

    Attributes:
        suite: The value of ``--ir-suite``, or ``None`` if suites are not collected.
        update_baseline: The only query to update, empty for all, or ``None`` without an update.
        save_runs: The folder, without the shard after it.
        shard: The shard that ``--ir-save-runs`` names, such as ``2/5``.
    """

    suite: str | None = None
    baseline: str = ""
    update_baseline: str | None = None
    save_runs: str = ""
    shard: str = ""
    runs: tuple[str, ...] = ()
    concurrency: int | None = None
    repeat: int | None = None
    init: str = ""
    report: str = ""
    json: str = ""
    markdown: str = ""
    grade: str = ""
    history: str = ""
    suite_files: tuple[str, ...] = SUITE_PATTERNS
    url: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    serve: str = ""
    prepare: tuple[str, ...] = ()
    id_field: str = ""
    retrievers: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    gate: str = "normal"
    base_command: str = ""
    base_link: tuple[str, ...] = ()

    @property
    def is_update(self) -> bool:
        """Return whether baselines are written."""
        return self.update_baseline is not None

    @property
    def compares_with_commit(self) -> bool:
        """Return whether the baseline comes from another commit."""
        return self.baseline.startswith(("git:", "run:"))

    @property
    def runs_base_code(self) -> bool:
        """Return whether the baseline comes from the code of another commit, which runs."""
        return self.baseline.startswith("run:")

    @property
    def reports(self) -> dict[str, str]:
        """Return where reports go, by the name of their option without ``--ir-``."""
        paths = {}
        for option in OPTIONS:
            if option.renderer:
                report = option.flag.removeprefix("--ir-")
                paths[report] = getattr(self, report)
        # Only the HTML report has a default.
        paths["report"] = paths["report"] or DEFAULT_REPORT
        return {report: path for report, path in paths.items() if path not in _NO_PATHS}

    @property
    def outputs(self) -> dict[str, str]:
        """Return the files that the user named for reports, by option."""
        outputs = {"--ir-grade": self.grade} if self.grade else {}
        for name, path in self.reports.items():
            if name != "report" or self.report:
                outputs[f"--ir-{name}"] = path
        return outputs


OPTIONS_KEY = pytest.StashKey[Options]()


def read_options(config: pytest.Config) -> Options:
    """Read the options and ini keys.

    Raises:
        pytest.UsageError: A value is wrong.
    """
    given = {option.name: getattr(config.option, option.name) for option in OPTIONS}
    given.update({key.name: config.getini(key.name) for key in INI_KEYS})
    values: dict[str, Any] = {}
    for name, value in given.items():
        field = name.removeprefix("ir_")
        values[field] = tuple(value) if isinstance(value, list) else value
    values["save_runs"], comma, shard_part = values["save_runs"].partition(",")
    key, _, values["shard"] = shard_part.partition("=")
    if comma and (key != "shard" or not values["shard"]):
        raise pytest.UsageError(f"--ir-save-runs: '{shard_part}' is unknown. Use 'shard=I/N'.")
    return Options(**values)


def _read_count(text: str) -> int:
    if text.isascii() and text.isdecimal() and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"must be an integer of at least 1, not '{text}'")


def refuse_removed_ini_keys(config: pytest.Config) -> None:
    """Refuse keys that the plugin had once. Without suites, too, because pytest does not know them.

    Raises:
        pytest.UsageError: The message says what to write instead.
    """
    # The keys of the ini file. pytest 9 renamed the attribute, and warns if the old name is used.
    ini_keys = vars(config).get("_inicfg", vars(config).get("inicfg", ()))
    for name in (*ini_keys, *get_command_line(config).overridden_ini_keys):
        if name in _REMOVED_INI_KEYS:
            raise pytest.UsageError(f"The ini key '{name}' was removed. {_REMOVED_INI_KEYS[name]}")


def check_options(config: pytest.Config, options: Options) -> None:
    """Refuse options that are invalid, contradict each other, or must not be in 'addopts'.

    Raises:
        pytest.UsageError: The message names the option and what to write instead.
    """
    if options.gate not in ("normal", "strict"):
        raise pytest.UsageError(f"'ir_gate' must be 'normal' or 'strict', not '{options.gate}'.")
    if options.is_update and options.compares_with_commit:
        raise pytest.UsageError(
            f"--ir-update-baseline cannot be used with --ir-baseline={options.baseline}, because"
            " the new baseline would accept what is being reviewed."
        )
    if options.shard and (options.runs or options.is_update):
        raise pytest.UsageError(
            "A shard runs only some of the queries, so --ir-runs and --ir-update-baseline cannot be"
            " used with it."
        )
    if options.shard and not options.save_runs:
        raise pytest.UsageError("--ir-save-runs: the folder is missing.")
    if options.save_runs.endswith((".run", ".trec", ".gz")):
        raise pytest.UsageError(
            f"--ir-save-runs: '{options.save_runs}' is named like a TREC run, and runs are saved as"
            " JSON lines. Name a folder."
        )
    if options.grade and not options.grade.endswith((".html", ".csv")):
        raise pytest.UsageError(f"--ir-grade: '{options.grade}' must end with .html or .csv.")
    if options.is_update and is_only_in_addopts(config, "ir_update_baseline"):
        raise pytest.UsageError(
            "--ir-update-baseline comes from 'addopts' in the ini file, so every run would accept"
            " its own results. Remove it there, and type it when you want to update."
        )
    if options.shard and is_only_in_addopts(config, "ir_save_runs"):
        raise pytest.UsageError(
            "The shard in --ir-save-runs comes from 'addopts' in the ini file, so only some queries"
            " would run. Remove it there."
        )
    for name in config.option.plugins:
        if name.startswith("no:irquality-"):
            raise pytest.UsageError(
                f"-p {name}: Parts of the plugin cannot be switched off. Use `-p no:irquality`."
            )
    for name, flag in OPTIONS_WITHOUT_EVALUATION.items():
        if is_only_in_addopts(config, name):
            raise pytest.UsageError(
                f"{flag} comes from 'addopts' in the ini file, so no query would run. Remove it"
                " there."
            )
    flag_by_path: dict[str, str] = {}
    for flag, path in options.outputs.items():
        if path in flag_by_path:
            raise pytest.UsageError(f"{flag_by_path[path]} and {flag} both name '{path}'.")
        flag_by_path[path] = flag


def refuse_suites_as_outputs(early_config: pytest.Config) -> None:
    """Refuse output options that name a suite, before pytest opens any of these files.

    A suite can have a name such as ``--junitxml=shop.ir.yaml``, which ``pytest *`` takes for an
    option.

    Raises:
        pytest.UsageError: The message names the option.
    """
    given = early_config.known_args_namespace
    outputs = {flag: getattr(given, name, None) for name, flag in _FILE_OPTIONS.items()}
    if early_config.pluginmanager.has_plugin("logging"):
        outputs["Ini key log_file"] = early_config.getini("log_file")
    patterns = early_config.getini("ir_suite_files")
    for flag, path in outputs.items():
        if isinstance(path, str) and path and any(map(Path(path).match, patterns)):
            raise pytest.UsageError(f"{flag}: '{path}' is named like a suite. Choose another file.")


def is_suite_path(options: Options, path: Path, *, is_named: bool) -> bool:
    """Return whether a file is to be collected as a suite.

    Args:
        options: The options of the session.
        path: The file.
        is_named: Whether the command line names the file itself.
    """
    if path.suffix not in NAMED_SUFFIXES:
        return False
    collects_suites = options.suite is not None
    matches = path.suffix not in LIST_SUFFIXES and any(map(path.match, options.suite_files))
    return sum((collects_suites, is_named, matches)) >= 2  # Any two are enough.


# -- The process -----------------------------------------------------------------------------------


def is_base_process() -> bool:
    """Return whether this process runs the base branch's own code (``run:``)."""
    return BASE_PROCESS_VARIABLE in os.environ


def is_worker(config: pytest.Config) -> bool:
    """Return whether this process is a worker of pytest-xdist."""
    return hasattr(config, "workerinput")


def is_controller(config: pytest.Config) -> bool:
    """Return whether this process distributes tests to workers of pytest-xdist."""
    return bool(getattr(config.option, "tx", None)) and not is_worker(config)


# -- The typed command line, as opposed to 'addopts' -----------------------------------------------

_PARSER_KEY = pytest.StashKey[pytest.Parser]()
_COMMAND_LINE_KEY = pytest.StashKey["CommandLine"]()

# The key of ``workerinput`` for the typed arguments. Workers of pytest-xdist get parsed
# options, not what was typed.
TYPED_ARGUMENTS_KEY = "ir_typed_arguments"

# Options that deselect items or files, by their attribute.
_SELECTING_OPTIONS = {
    "keyword": "-k",
    "markexpr": "-m",
    "deselect": "--deselect",
    "lf": "--last-failed",
    "stepwise": "--stepwise",
    "ignore": "--ignore",
    "ignore_glob": "--ignore-glob",
    "file_or_dir": "a path",
    "setuponly": "--setup-only",
}
# Options that are left out of a command that runs the suites again. The patterns are strings, so
# that they are compiled only if needed.
_DROPPED_OPTIONS = (
    r"-[qvsrx]\w*|-[kmn].*|-pno:.*|--(quiet|verbose|no-header|no-summary|self-contained-html"
    r"|last-failed|lf|failed-first|ff|new-first|nf|stepwise|sw|exitfirst|ir-suite"
    r"|ir-update-baseline|verbosity|tb|color|capture|durations|dist|deselect|basetemp|junitxml"
    r"|junit-xml|html|report-log|numprocesses|maxprocesses|maxfail|ir-save-runs|ir-report|ir-json"
    r"|ir-markdown|ir-grade|ir-history|ir-concurrency)"
)
_SECRET = r"(?is)((?:key|token|secret|passw|auth|credential|headers)[^=]*=).*"


class CommandLine(NamedTuple):
    """The command line without ``addopts`` of the ini file.

    Attributes:
        arguments: The arguments, including ``PYTEST_ADDOPTS``, which the CI job sets.
        namespace: Their values, as argparse has parsed them.
    """

    arguments: tuple[str, ...]
    namespace: argparse.Namespace

    @property
    def has_node_ids(self) -> bool:
        """Return whether the arguments name single tests."""
        return any("::" in path for path in self.paths)

    @property
    def implies_suites(self) -> bool:
        """Return whether a typed option needs ``--ir-suite``."""
        flags = {option.flag for option in OPTIONS} - {"--ir-suite", "--ir-init"}
        end = self.arguments.index("--") if "--" in self.arguments else None
        return any(argument.partition("=")[0] in flags for argument in self.arguments[:end])

    @property
    def paths(self) -> list[str]:
        """Return the typed paths and node ids."""
        return [str(path) for path in getattr(self.namespace, "file_or_dir", None) or ()]

    @property
    def overridden_ini_keys(self) -> dict[str, str]:
        """Return the ini keys that ``-o`` sets."""
        pairs = {}
        for text in getattr(self.namespace, "override_ini", None) or ():
            key, _, value = text.partition("=")
            pairs[key.strip()] = value.strip()
        return pairs


def prepare_arguments(
    early_config: pytest.Config, parser: pytest.Parser, arguments: list[str]
) -> None:
    """Pass the paths that our options name to pytest, so that it imports their conftests first.

    ``--ir-suite PATH`` and ``--ir-suite=PATH`` both mean "collect suites, and collect PATH", but
    argparse reads PATH as the value of the option.
    """
    early_config.stash[_PARSER_KEY] = parser
    if not any(argument.startswith("--ir-") for argument in arguments):
        return
    arguments[:] = split_optional_values(arguments)
    given = parser.parse_known_args(arguments)
    known = early_config.known_args_namespace
    known.file_or_dir = list(given.file_or_dir or ())
    if given.ir_init:
        arguments.append(given.ir_init)
        known.file_or_dir.append(given.ir_init)
    known.ir_suite = given.ir_suite
    known.ir_update_baseline = given.ir_update_baseline


def split_optional_values(arguments: Iterable[str]) -> list[str]:
    """Split ``--ir-suite=P``, and keep argparse from reading a path as the value of an option."""
    typed = list(arguments)
    end = typed.index("--") if "--" in typed else len(typed)
    split: list[str] = []
    for argument in typed[:end]:
        if argument in ("--ir-suite", "--ir-update-baseline"):
            split.append(f"{argument}=")
        elif argument.startswith("--ir-suite=") and argument != "--ir-suite=":
            split += ["--ir-suite=", argument.partition("=")[2]]
        else:
            split.append(argument)
    return split + typed[end:]


def parse_arguments(config: pytest.Config, arguments: Sequence[str]) -> CommandLine:
    """Parse arguments as pytest would, without ``addopts``."""
    namespace = argparse.Namespace()
    if _PARSER_KEY in config.stash:
        parser = config.stash[_PARSER_KEY]
        namespace = parser.parse_known_args(split_optional_values(arguments))
    return CommandLine(tuple(arguments), namespace)


def get_command_line(config: pytest.Config) -> CommandLine:
    """Return the typed command line of this session."""
    if _COMMAND_LINE_KEY not in config.stash:
        typed = getattr(config, "workerinput", {}).get(TYPED_ARGUMENTS_KEY)
        if typed is None:
            typed = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
            typed += map(os.fspath, config.invocation_params.args)
        config.stash[_COMMAND_LINE_KEY] = parse_arguments(config, typed)
    return config.stash[_COMMAND_LINE_KEY]


def describe_addopts_selection(config: pytest.Config) -> str:
    """Describe the options in ``addopts`` that leave out tests, such as ``-m smoke``."""
    typed = get_command_line(config).namespace
    options = []
    for name, flag in {**_SELECTING_OPTIONS, **OPTIONS_WITHOUT_EVALUATION}.items():
        value = getattr(config.option, name, None)
        if not value or value == getattr(typed, name, None):
            continue
        options.append(f"{flag} {shlex.quote(value)}" if isinstance(value, str) else flag)
    return ", ".join(options)


def is_without_evaluation(config: pytest.Config) -> bool:
    """Return whether no suite is evaluated, because pytest only shows tests, for example."""
    return any(getattr(config.option, name, False) for name in OPTIONS_WITHOUT_EVALUATION)


def is_only_in_addopts(config: pytest.Config, name: str) -> bool:
    """Return whether an option has a value, and nobody typed it."""
    value = getattr(config.option, name, None)
    typed = getattr(get_command_line(config).namespace, name, None)
    return value not in (None, [], False) and value != typed


def list_command_words(config: pytest.Config, *, is_update: bool = False) -> tuple[str, ...]:
    """Return the words of a command that evaluates suites again, without the paths.

    Options that select, display or write are left out, and so are values that may be secrets.

    Args:
        config: The configuration of the session.
        is_update: Whether the command updates baselines.
    """
    is_module = Path(sys.argv[0]).parts[-2:] == ("pytest", "__main__.py")
    words = ["python", "-m", "pytest"] if is_module else ["pytest"]
    words.append("--ir-update-baseline" if is_update else "--ir-suite")
    dropped = f"{_DROPPED_OPTIONS}|--ir-(baseline|runs)" if is_update else _DROPPED_OPTIONS
    paths = ("--", *get_command_line(config).paths)
    arguments = split_optional_values(map(os.fspath, config.invocation_params.args))
    while arguments:
        option = arguments.pop(0)
        is_option = bool(arguments) and _takes_value(config, option, arguments[0])
        value = arguments.pop(0) if is_option else ""
        # A plugin that is switched off adds nothing to the run.
        is_plugin_off = option == "-p" and value.startswith("no:")
        name = option.partition("=")[0]
        if option in paths or is_plugin_off or re.fullmatch(dropped, name):
            continue
        words.append(re.sub(_SECRET, r"\1…", option))
        if is_option:
            masked = re.sub(_SECRET, r"\1…", f"{option}={value}")
            words.append(masked.removeprefix(f"{option}="))
    return tuple(words)


def _takes_value(config: pytest.Config, option: str, following: str) -> bool:
    """Return whether the argument that follows an option is its value, and not a path."""
    if following.startswith("-") or _PARSER_KEY not in config.stash:
        return False
    try:
        return not parse_arguments(config, [option, following]).paths
    except pytest.UsageError:
        return True
