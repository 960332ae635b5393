"""What whorl is for other libraries; each module needs the library of its name, which nothing else imports."""

from whorl.integrations import deepinv

__all__ = ["deepinv"]
