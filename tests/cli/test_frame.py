"""The frame of the command line: verbs are lazy, errors are one line with the documented exit code."""

import os
import signal
import subprocess
import sys
import types
from pathlib import Path

import pytest

import whorl
from whorl.cli import main

SRC = Path(main.__file__).parents[2]


def invoke(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(SRC), "COLUMNS": "120", "NO_COLOR": "1", **environment}
    return subprocess.run([sys.executable, "-m", "whorl", *words], capture_output=True, text=True, env=env, check=False)


@pytest.fixture
def verb(monkeypatch):
    """Put a made-up body under the verb ``filter`` and run it inside this process; gives the exit code."""

    def call(body, *words: str) -> int:
        module = types.ModuleType("whorl.cli.filter")
        module.command, module.EXAMPLES = body, ()
        module.__spec__ = types.SimpleNamespace(name="whorl.cli.filter")
        monkeypatch.setitem(sys.modules, "whorl.cli.filter", module)
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        with pytest.raises(SystemExit) as leaving:
            main.run(["filter", *words])
        for number, handler in before.items():
            signal.signal(number, handler)
        return int(leaving.value.code or 0)

    return call


def raising(error: BaseException):
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (ValueError("tau = 3 is too large.\nLower it."), 2, "whorl filter: tau = 3 is too large. Lower it.\n"),
        (OSError("disk full"), 1, "whorl filter: disk full\n"),
        (ModuleNotFoundError("No module named 'zarr'", name="zarr"), 1, "pip install zarr"),
        (MemoryError(), 1, "--tile auto"),
        (RuntimeError("odd"), 1, "RuntimeError: odd"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
)
def test_error_is_one_line_and_a_code(verb, capsys, error, code, text):
    assert verb(raising(error)) == code
    stdout, stderr = capsys.readouterr()
    assert text in stderr
    assert stderr.count("\n") == 1
    assert stdout == ""


def test_success_is_zero_and_wrong_option_is_two(verb, capsys):
    assert verb(lambda: None) == 0
    assert verb(lambda: None, "--no-such-option") == 2
    assert "--no-such-option" in capsys.readouterr().err


def test_traceback_on_request(monkeypatch):
    monkeypatch.setenv("WHORL_TRACEBACK", "1")
    with pytest.raises(ValueError, match="here"):
        main._framed("filter", raising(ValueError("here")))()


def test_help_lists_exactly_the_verbs_that_exist_and_imports_no_torch():
    probe = "import sys; sys.argv = ['whorl', '--help']\nfrom whorl.cli.main import run\n"
    probe += "try: run()\nexcept SystemExit: print('torch' in sys.modules, 'numpy' in sys.modules)"
    env = {**os.environ, "PYTHONPATH": str(SRC), "COLUMNS": "120", "NO_COLOR": "1"}
    text = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, env=env, check=True).stdout
    assert text.endswith("False False\n")
    for name, summary in main.VERBS.items():
        assert (summary[:40] in text) == Path(main.__file__).with_name(f"{name}.py").exists(), name


def test_module_entry_prints_the_version():
    answer = invoke("--version")
    assert (answer.returncode, answer.stdout) == (0, f"whorl {whorl.__version__}\n")


def test_training_ends_without_complaints_of_libraries(tmp_path):
    """torch loads Triton where it is installed, for any optimiser; its objects must not be left to the end."""
    words = "--images", "1", "--size", "16", "--epochs", "1", "--out", str(tmp_path)
    answer = invoke("train", "isotropic-0.41", "--quiet", *words)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")


def test_unknown_verb_is_a_wrong_request():
    answer = invoke("no-such-verb")
    assert answer.returncode == 2
    assert "no-such-verb" in answer.stderr


def test_import_of_whorl_is_light():
    probe = "import sys, whorl; print('torch' in sys.modules, 'numpy' in sys.modules)"
    env = {**os.environ, "PYTHONPATH": str(SRC)}
    text = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, env=env, check=True).stdout
    assert text == "False False\n"


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("whorl fil", "filter"),
        ("whorl filter --cont", "--contrast"),
        ("whorl filter --model weickert-b", "weickert-brox"),
    ],
)
def test_shell_completion(line, offers):
    count = str(len(line.split()) - 1)
    answer = invoke(_WHORL_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=count)
    assert answer.stdout.split() == [offers]


@pytest.mark.parametrize(("line", "chosen"), [("run()", "passive 1"), ("run(['--version'])", "None None")])
def test_only_a_command_of_its_own_chooses_how_threads_wait_and_memory_comes(line, chosen):
    """Called by another program, the frame leaves that program's process as it is."""
    probe = "import os, sys; sys.argv = ['whorl', '--version']\nfrom whorl.cli.main import run\n"
    names = ("OMP_WAIT_POLICY", "THP_MEM_ALLOC_ENABLE")
    probe += f"try: {line}\nexcept SystemExit: print(*map(os.environ.get, {names}))"
    env = {name: value for name, value in os.environ.items() if name not in names}
    command = [sys.executable, "-c", probe]
    done = subprocess.run(command, capture_output=True, text=True, env={**env, "PYTHONPATH": str(SRC)}, check=True)
    assert done.stdout.splitlines()[-1] == chosen


@pytest.mark.parametrize("words", [("--version",), ("--help",)])
def test_frame_loads_nothing_heavy(words):
    probe = (
        "import sys\nfrom whorl.cli.main import run\n"
        "try:\n    run(sys.argv[1:])\nfinally:\n    print(sorted(set(sys.modules) & HEAVY), file=sys.stderr)\n"
    ).replace("HEAVY", repr({"torch", "numpy", "numba", "matplotlib", "PIL", "tifffile", "zarr", "dask", "onnx"}))
    env = {**os.environ, "PYTHONPATH": str(SRC)}
    answer = subprocess.run(
        [sys.executable, "-c", probe, *words], capture_output=True, text=True, env=env, check=True, timeout=60
    )
    assert answer.stderr == "[]\n"
