"""``python -m whorl`` is the ``whorl`` command."""

from whorl.cli.main import run

if __name__ == "__main__":
    run()
