"""The page in the browser: static files, a server for them, and a way to copy them elsewhere.

Any web server can host the files under ``static``, in any folder. They compute in the browser with a small WebAssembly
kernel, built from ``web/kernel`` in the source tree, and ask nothing of the network.
"""

from whorl.page.server import STATIC, copy_site, make_server

__all__ = ["STATIC", "copy_site", "make_server"]
