"""Sphinx configuration. Build with ``make docs``; ``-D plot_gallery=0`` leaves the gallery's scripts unexecuted."""

import re
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

from sphinx.errors import ExtensionError

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]

import command_reference
import readers_map

import whorl

project = "whorl"
author = "the authors of whorl"
copyright = author
version = release = whorl.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx-mathjax-offline",  # formulas without a network
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
copybutton_prompt_text = "$ "  # prompts and what commands print stay behind
copybutton_only_copy_prompt_lines = True

# Pages of the API stand for packages; a package that is not there has no page.
_PAGES = [path.stem for path in (HERE / "api").glob("*.rst") if path.stem not in ("index", "synthetic", "whorl")]
exclude_patterns = ["_build", "examples", "figures", "gallery/*.ipynb", "gallery/**/*.md5"]
exclude_patterns += [f"api/{name}.rst" for name in _PAGES if find_spec(f"whorl.{name}") is None]
if not (HERE / "benchmarks").is_dir():
    exclude_patterns.append("benchmarks.rst")
suppress_warnings = ["config.cache"]

language = "en_GB"
nitpicky = True
nitpick_ignore_regex = [
    # Names of other libraries are printed, not linked: the build needs no network.
    (r"py:.*", r"(?!whorl\.).*"),
    # So are whorl's own inner modules and constants; public names are whorl.<concept>.<Name>.
    (r"py:.*", r"whorl\.\w+\.\w+\..*"),
    (r"py:mod", r"whorl\.\w+\.\w+"),
    (r"py:data", r".*"),
]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "imported-members": True}
autodoc_inherit_docstrings = False  # a method says what it does where it is declared, in the base class
napoleon_google_docstring = False
napoleon_numpy_docstring = True
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_custom_sections = ["Guarantees"]

html_theme = "pydata_sphinx_theme"
html_title = "whorl"
html_static_path = ["_static"]
html_css_files = ["whorl.css"]
html_favicon = "_static/whorl.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": f"whorl {release}", "image_light": "_static/whorl.svg", "image_dark": "_static/whorl.svg"},
    "header_links_before_dropdown": 5,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\d\d_.*\.py",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1,
    "abort_on_example_error": True,
    "matplotlib_animations": False,
    "reset_modules": ("matplotlib",),
    "image_scrapers": ("matplotlib",),
    "doc_module": ("whorl",),
    "thumbnail_size": (360, 260),
    "plot_gallery": True,
}


def _drop_missing_pages(app, docname, source) -> None:
    """Take pages that are not there out of the tables of contents: optional parts have pages of their own."""
    if docname in ("reference", "api/index"):
        folder = docname.rpartition("/")[0] + "/" if "/" in docname else ""
        entries = re.findall(r"^   ([\w/-]+)$", source[0], flags=re.MULTILINE)
        for entry in entries:
            if folder + entry not in app.env.found_docs:
                source[0] = re.sub(rf"^   {entry}\n", "", source[0], flags=re.MULTILINE)


def _fill_in_the_map(app, docname, source) -> None:
    """Put the tables of equations, rows and principles in the place of their names."""
    if docname == "map":
        source[0] = re.sub(
            r"^\.\. readers-map:: (\w+)$", lambda found: readers_map.table(found[1]), source[0], flags=re.MULTILINE
        )


def _fill_in_the_commands(app, docname, source) -> None:
    """Put the reference of the command line in its place."""
    if docname == "command-line":
        source[0] = source[0].replace(".. command-reference::", command_reference.reference())


def _fill_in_the_changes(app, docname, source) -> None:
    """CHANGELOG.md, whose headings, code and lists are all the Markdown it has."""
    if docname == "changelog":
        text = (HERE.parent / "CHANGELOG.md").read_text(encoding="utf-8").partition("\n## ")[2]
        text = re.sub(r"(?<!`)`([^`]+)`(?!`)", lambda code: f"``{' '.join(code[1].split())}``", f"\n## {text}")
        text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text)
        for mark, line in (("###", "~"), ("##", "-")):
            under = lambda title, line=line: f"{title[1]}\n{line * len(title[1])}"  # noqa: E731
            text = re.sub(rf"^{mark} (.+)$", under, text, flags=re.M)
        source[0] = source[0].replace(".. changes::", text)


def _check_anchors(app, exception) -> None:
    """Every link within the documentation leads to a page, and to a place on it."""
    if exception is None and app.builder.name == "html":
        folder = Path(app.outdir)
        pages = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}
        places = {path: set(re.findall(r'\b(?:id|name)="([^"]+)"', text)) for path, text in pages.items()}
        dead = []
        for path, text in pages.items():
            for link in set(re.findall(r'<a [^>]*href="([^"]+)"', text)):
                target, _, place = link.partition("#")
                if re.match(r"\w+:|//", link) or "_modules/" in f"{path}":
                    continue
                other = (path.parent / unquote(target)).resolve() if target else path
                if not other.exists() or (place and other in places and unquote(place) not in places[other]):
                    dead.append(f"{path.relative_to(folder)}: {link}")
        if dead:
            raise ExtensionError("dead links:\n" + "\n".join(sorted(dead)))


def _always_read_made_pages(app, env, added, changed, removed) -> list[str]:
    """Any change of the code may change these pages."""
    return ["changelog", "command-line", "map"]


def setup(app) -> None:
    app.connect("source-read", _drop_missing_pages)
    app.connect("source-read", _fill_in_the_map)
    app.connect("source-read", _fill_in_the_commands)
    app.connect("source-read", _fill_in_the_changes)
    app.connect("build-finished", _check_anchors)
    app.connect("env-get-outdated", _always_read_made_pages)
