"""The frame of the ``whorl`` command: which verbs there are, and how an error reaches the shell.

A verb is one file ``whorl/cli/<verb>.py`` beside this one. It is imported only when the verb is called, and appears in
``whorl --help`` as soon as the file exists. It looks like this::

    '''``whorl blur``: what it does in one sentence.'''

    from typing import Annotated

    import typer

    from whorl.cli.options import DeviceName, Quiet      # the shared vocabulary: same word, same meaning everywhere

    EXAMPLES = ("whorl blur photo.png soft.png", "whorl blur --time 5 photo.png soft.png")

    def command(
        image: Annotated[str, typer.Argument(help="Picture to read.")],
        time: Annotated[float, typer.Option(help="Diffusion time.")] = 2.0,
        device: DeviceName = "cpu",
        quiet: Quiet = False,
    ) -> None:
        '''Blur a picture.

        The docstring is the help text; a blank line starts a paragraph.
        '''
        import torch                                      # heavy imports inside, never at the top
        ...

Results go to stdout, progress and errors to stderr; with ``--json`` an error is an object on stdout, too. An error is
raised, never printed: ``ValueError`` and its family (:mod:`whorl.errors`) mean *what was asked for cannot be done*; the
frame turns them into one line. The exit codes are

=====  ===========================================================================
0      done
1      something failed that is no fault of the request (a bug, a missing extra)
2      the request cannot be carried out: wrong option, unreadable file, wrong shape, disk full
130    interrupted with Ctrl-C (143: ended with SIGTERM); nothing half-written is left
=====  ===========================================================================

Set ``WHORL_TRACEBACK=1`` to see where an error came from.
"""

import atexit
import functools
import gc
import inspect
import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from whorl import __version__
from whorl.cli import progress

VERBS = {
    "filter": "Smooth pictures with a diffusion model: files, folders, huge images.",
    "denoise": "Remove noise with a trained network.",
    "inpaint": "Fill in what is missing: scratches, text, lost samples.",
    "deblur": "Take away a blur whose kernel is known, and the noise.",
    "segment": "Find lines, such as the vessels of an eye: chances, masks, overlays.",
    "noise": "Measure the noise of a picture: variance over the grey value, correlation.",
    "models": "List the models and what each is good for.",
    "invariance": "Measure how far a filter is from commuting with rotations.",
    "train": "Train a network on pictures.",
    "evaluate": "Measure a trained network on noisy pictures.",
    "reproduce": "Recompute the paper's figures and numbers.",
    "export": "Write a model or network as ONNX or torch.export file.",
    "page": "Serve the page that filters and turns pictures in the browser.",
    "bench": "Measure speed and memory.",
}


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code (never returns)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in words
    if arguments is None:
        _own_the_process()
    progress.handle_signals()
    warnings.formatwarning = _warning
    try:
        raise SystemExit(build(words)(args=words, prog_name="whorl", standalone_mode=not as_json))
    except KeyboardInterrupt:
        raise SystemExit(_complain("interrupted", 130)) from None
    except BrokenPipeError:  # the reader, `head` perhaps, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except Exception as error:  # a wrong option, which otherwise is explained in a frame
        if not as_json or not hasattr(error, "format_message"):
            raise
        raise SystemExit(_complain(f"whorl: {error.format_message()}", 2, as_json)) from None


def _own_the_process() -> None:
    """Settings that a command may choose for its process, and a library may not; before torch is imported."""
    # Torch's threads would wait for work by spinning, and take the processor from this command's own kernels.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    # Torch asks for huge pages where a tensor is large: a network on a volume takes a tenth less time, and less memory.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    # Python would look for cycles among all objects of torch and Numba, again and again while these are imported and
    # once more at the end: 0.2 s and 0.3 s of processor time. No picture is part of a cycle.
    gc.set_threshold(1_000_000, 50, 50)
    atexit.register(_freeze)


def _freeze() -> None:
    """Skip the last collection, unless torch has loaded Triton to train: that complains of every object left."""
    if "triton" not in sys.modules:
        gc.freeze()


def build(words: Sequence[str] = ()) -> typer.Typer:
    """The typer application; only the verbs among ``words`` are imported (all of them for shell completion)."""
    app = typer.Typer(
        help="Rotationally invariant diffusion filters: turn the picture, and the result turns with it.",
        epilog="Exit codes: 0 done, 1 failure, 2 the request cannot be carried out, 130 interrupted.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_main)
    for verb, summary in VERBS.items():
        if find_spec(f"whorl.cli.{verb}") is None:
            continue
        if verb in words or "_WHORL_COMPLETE" in os.environ:
            module = import_module(f"whorl.cli.{verb}")
            examples = _plain("\n\n".join(("Examples:", *module.EXAMPLES)))
            text = _plain(_flowing(module.command.__doc__ or summary))
            app.command(verb, help=text, short_help=summary, epilog=examples)(_framed(verb, module.command))
        else:
            app.command(verb, short_help=summary)(_unloaded)
    return app


def _flowing(docstring: str) -> str:
    """A docstring with the lines of each paragraph joined, so that the help fits any terminal; lists stay."""
    paragraphs = inspect.cleandoc(docstring).split("\n\n")
    return "\n\n".join(part if "\n- " in f"\n{part}" else " ".join(part.split()) for part in paragraphs)


def _plain(text: str) -> str:
    """Text whose brackets are brackets, and no markup."""
    return text.replace("[", "\\[")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"whorl {__version__}")
        raise typer.Exit


def _main(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Carry the options of the command itself."""


def _unloaded() -> None:
    """Stands in the list of verbs for one that was not called."""


def _framed(verb: str, command: Callable[..., Any]) -> Callable[..., None]:
    """``command`` with its errors turned into one line on stderr and an exit code."""

    @functools.wraps(command)
    def framed(*positional: Any, **named: Any) -> None:
        if named.get("quiet"):
            warnings.simplefilter("ignore", UserWarning)
        try:
            command(*positional, **named)
        except KeyboardInterrupt:
            raise SystemExit(_complain("interrupted", 130)) from None
        except BrokenPipeError:
            raise
        except Exception as error:
            ours = type(error).__module__.partition(".")[0] not in ("click", "typer")  # theirs: Exit, BadParameter, ...
            if not ours or os.environ.get("WHORL_TRACEBACK"):
                raise
            line, code = _explain(error)
            raise SystemExit(_complain(f"whorl {verb}: {line}", code, named.get("as_json", False))) from None

    return framed


def _explain(error: Exception) -> tuple[str, int]:
    """The line to print for ``error`` and the exit code."""
    if isinstance(error, ValueError):
        return str(error), 2
    if isinstance(error, ModuleNotFoundError):
        return f"{error}. Install it with: pip install {error.name or 'its package'}", 1
    if isinstance(error, OSError):
        return str(error), 1
    if isinstance(error, MemoryError):
        return "out of memory. Filter in windows with --tile auto, or on fewer pictures at once.", 1
    return f"{type(error).__name__}: {error} (set WHORL_TRACEBACK=1 to see where)", 1


def _warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """A warning as people read it; those of other libraries keep their place in the code."""
    return (
        f"whorl: {message}\n" if category is UserWarning else f"{category.__name__}: {message} ({filename}:{lineno})\n"
    )


def _complain(line: str, code: int, as_json: bool = False) -> int:
    """Print one line; a program that asked for JSON gets it as an object, too."""
    text = " ".join(line.split())
    print(text, file=sys.stderr)
    if as_json:
        typer.echo(json.dumps({"error": text}))
    return code
