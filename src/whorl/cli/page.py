"""``whorl page``: serve the page that filters and turns pictures in the browser."""

from typing import Annotated

import typer

from whorl.cli.options import Force, option

EXAMPLES = ("whorl page", "whorl page --no-browser --port 9000", "whorl page --out public/whorl")


def command(
    port: Annotated[
        int | None, option("--port -p", "Port to serve on. Default: 8173, or a free one.", min=0, max=65535)
    ] = None,
    browser: Annotated[bool, option("--browser/--no-browser", "Open the page in the browser.")] = True,
    out: Annotated[str | None, option("--out -o", "Copy the page into this folder, for a web server of yours.")] = None,
    force: Force = False,
) -> None:
    """Serve the page on this machine, until Ctrl-C.

    Drop a picture, choose a model, and turn it: the page shows that coupled filters turn with the picture and uncoupled
    ones do not. It is made of static files and computes in the browser; no picture leaves the machine.
    """
    from whorl.page.server import HOST, copy_site, make_server

    if out is not None:
        typer.echo(f"Copied the page to {copy_site(out, force=force)}")
        return
    with make_server(port) as server:
        address = f"http://{HOST}:{server.server_port}/"
        typer.echo(f"whorl is at {address} (stop with Ctrl-C)")
        if browser:
            import webbrowser

            webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:  # the way to stop it, hence no failure
            typer.echo("Stopped.")
