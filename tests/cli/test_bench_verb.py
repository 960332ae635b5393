import subprocess
from types import SimpleNamespace


def test_bench_passes_its_words_on(tmp_path, whorl_command, monkeypatch):
    calls = []
    monkeypatch.setattr(
        subprocess, "run", lambda words, **options: calls.append(words) or SimpleNamespace(returncode=3)
    )
    answer = whorl_command("bench", "speed_grey", "--again", "--out", tmp_path)
    assert answer.code == 3
    assert calls[0][-5:] == ["benchmarks", "speed_grey", "--out", str(tmp_path), "--again"]


def test_bench_outside_a_clone_says_so(tmp_path, whorl_command, monkeypatch):
    import whorl

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(whorl, "__file__", str(tmp_path / "lib" / "whorl" / "__init__.py"))
    answer = whorl_command("bench")
    assert (answer.code, "clone" in answer.err) == (2, True)
