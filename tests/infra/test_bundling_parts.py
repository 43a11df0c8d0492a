"""The parts of bundling, each on its own: closure, wheels, byte code, contents, cache."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from infra.bundling import (
    KEPT,
    ROOT,
    BundlingError,
    built_once,
    check_libraries,
    compile_folder,
    content_hash,
    find_compiler,
    import_closure,
    install,
    lambda_target,
)
from tests.support.bundles import CHUNK, make_wheel

ELF_X86_64 = 62


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


class TestClosure:
    def test_it_has_what_is_imported_within_functions_and_nothing_for_annotations_only(
        self, tmp_path
    ):
        sources = write(
            tmp_path,
            {
                "knowledge_rag/__init__.py": "",
                "knowledge_rag/lazy.py": "",
                "knowledge_rag/hints.py": "",
                "knowledge_rag/unused.py": "import typer",
                "lambdas/__init__.py": "",
                "lambdas/one/__init__.py": "",
                "lambdas/one/handler.py": (
                    "from typing import TYPE_CHECKING\n"
                    "if TYPE_CHECKING:\n    from knowledge_rag import hints\n"
                    "def lambda_handler(event, context):\n    from knowledge_rag import lazy\n"
                ),
            },
        )
        closure = _closure_elsewhere(sources, "lambdas.one.handler")
        assert closure == [
            "knowledge_rag/__init__.py",
            "knowledge_rag/lazy.py",
            "lambdas/__init__.py",
            "lambdas/one/__init__.py",
            "lambdas/one/handler.py",
        ]

    def test_sources_that_are_elsewhere_are_told(self, tmp_path):
        with pytest.raises(BundlingError, match=r"^no source of .* run this from"):
            import_closure(CHUNK, tmp_path)


def _closure_elsewhere(folder, module):
    """Ask a process of its own, whose packages are those of a folder."""
    program = (
        f"import sys; sys.path.insert(0, {str(folder)!r}); from pathlib import Path;"
        "from infra.bundling import import_closure as c;"
        f"print(*[p.as_posix() for p in c({module!r}, Path({str(folder)!r}))])"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split()


class TestWheels:
    @pytest.fixture(autouse=True)
    def index(self, tmp_path, monkeypatch):
        """A folder of wheels in place of an index."""
        folder = tmp_path / "wheels"
        folder.mkdir()
        monkeypatch.setenv("UV_FIND_LINKS", str(folder))
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
        monkeypatch.setenv("UV_OFFLINE", "1")
        return folder

    @pytest.fixture
    def lock(self, tmp_path):
        return tmp_path / "lock.txt"

    def problem(self, lock, tmp_path):
        with pytest.raises(BundlingError) as raised:
            install(lock, tmp_path / "out", lambda_target())
        assert "\n" not in str(raised.value)
        return str(raised.value)

    def test_commands_tests_and_installers_notes_are_left_out(self, index, lock, tmp_path):
        info = "tiny-1.0.dist-info"
        files = {
            "tiny/tests/test_it.py": "",
            f"{info}/entry_points.txt": "[console_scripts]\ntiny = tiny:main\n",
            f"{info}/licenses/LICENSE": "",
            f"{info}/NOTICE.txt": "",
        }
        lock.write_text(make_wheel(index, "tiny", **files)[1])
        out = tmp_path / "out"
        install(lock, out, lambda_target())
        assert sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()) == [
            f"{info}/METADATA",
            f"{info}/NOTICE.txt",
            f"{info}/WHEEL",
            f"{info}/licenses/LICENSE",
            "tiny/__init__.py",
        ]

    def test_a_wheel_for_another_processor_is_refused(self, index, lock, tmp_path):
        lock.write_text(make_wheel(index, "fat", "cp313-cp313-manylinux2014_x86_64")[1])
        assert "no wheels with a matching platform tag" in self.problem(lock, tmp_path)

    def test_a_wheel_that_is_not_what_was_locked_is_refused(self, index, lock, tmp_path):
        path, line = make_wheel(index, "tiny")
        lock.write_text(line)
        path.write_bytes(path.read_bytes() + b"\0")
        assert "Hash mismatch for `tiny==1.0`" in self.problem(lock, tmp_path)

    def test_a_lock_without_hashes_is_refused(self, index, lock, tmp_path):
        make_wheel(index, "tiny")
        lock.write_text("tiny==1.0\n")
        assert "must have a hash" in self.problem(lock, tmp_path)

    def test_an_index_that_cannot_be_reached_is_told_in_one_line(self, lock, tmp_path):
        lock.write_text(f"absent==1.0 --hash=sha256:{'0' * 64}\n")
        problem = self.problem(lock, tmp_path)
        assert problem.startswith("can't get the wheels of lock.txt for a Lambda bundle: ")
        assert "network was disabled" in problem

    def test_a_missing_uv_is_told(self, lock, tmp_path, monkeypatch):
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
        monkeypatch.setenv("PATH", "")
        lock.write_text("")
        assert self.problem(lock, tmp_path).startswith("uv is needed to bundle a Lambda: run ")


class TestByteCode:
    @pytest.fixture
    def candidates(self, tmp_path, monkeypatch):
        """Leave this machine no Python but what a test puts on its path."""
        monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
        monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
        monkeypatch.setenv("PATH", str(tmp_path))
        return tmp_path

    def interpreter(self, path, says, code=0):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho {says}\nexit {code}\n")
        path.chmod(0o755)
        return path

    def test_one_on_the_path_is_found(self, candidates):
        path = self.interpreter(candidates / "python3.13", "cpython-313 f30d0d0a")
        assert find_compiler.__wrapped__("3.13") == path

    def test_one_of_pyenv_is_found_behind_a_command_that_only_points_to_it(self, candidates):
        self.interpreter(candidates / "python3.13", "command not found", code=127)
        path = candidates / "pyenv/versions/3.13.5/bin/python3.13"
        assert find_compiler.__wrapped__("3.13") is None
        self.interpreter(path, "cpython-313 f30d0d0a")
        assert find_compiler.__wrapped__("3.13") == path

    def test_one_whose_byte_code_the_runtime_would_not_read_is_passed_over(self, candidates):
        self.interpreter(candidates / "python3.13", "cpython-313 e90d0d0a")  # a beta
        assert find_compiler.__wrapped__("3.13") is None

    def test_a_source_that_is_no_python_is_told_in_one_line(self, tmp_path):
        write(tmp_path, {"broken.py": "def"})
        with pytest.raises(BundlingError, match=r"^can't compile the bundle with [^\n]*broken\.py"):
            compile_folder(tmp_path, Path(sys.executable))

    def test_a_compiled_file_names_where_it_is_deployed(self, tmp_path):
        write(tmp_path, {"one.py": "def f(): ..."})
        compile_folder(tmp_path, Path(sys.executable))
        (compiled,) = (tmp_path / "__pycache__").iterdir()
        assert b"/var/task/one.py" in compiled.read_bytes()
        assert os.fsencode(tmp_path) not in compiled.read_bytes()


class TestContents:
    @pytest.fixture
    def folder(self, tmp_path):
        return write(tmp_path / "a", {"one.py": "1", "__pycache__/one.cpython-313.pyc": "x"})

    def test_neither_times_nor_byte_code_counts(self, folder):
        before = content_hash(folder)
        os.utime(folder / "one.py", (0, 0))
        write(folder, {"__pycache__/one.cpython-313.pyc": "y"})
        assert content_hash(folder) == before
        (folder / "__pycache__" / "one.cpython-313.pyc").unlink()  # no Python 3.13 there
        assert content_hash(folder) == before

    @pytest.mark.parametrize(
        "change",
        [
            lambda folder: write(folder, {"one.py": "2"}),
            lambda folder: write(folder, {"two.py": ""}),
            lambda folder: (folder / "one.py").rename(folder / "eno.py"),
            lambda folder: (folder / "one.py").chmod(0o600),
        ],
        ids=["bytes", "another file", "name", "mode"],
    )
    def test_everything_else_does(self, folder, change):
        (folder / "one.py").chmod(0o644)
        before = content_hash(folder)
        change(folder)
        assert content_hash(folder) != before

    def test_a_boundary_between_name_and_bytes_cannot_move(self, tmp_path):
        hashes = {
            content_hash(write(tmp_path / name, files))
            for name, files in {
                "x": {"ab": "c"},
                "y": {"a": "bc"},
                "z": {"a": "b", "c": ""},
            }.items()
        }
        assert len(hashes) == 3

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("x86.so", b"\x7fELF" + bytes(14) + ELF_X86_64.to_bytes(2, "little")),
            ("hidden", b"\x7fELF" + bytes(14) + ELF_X86_64.to_bytes(2, "little")),
            ("mac.so", b"\xcf\xfa\xed\xfe" + bytes(16)),
            ("win.pyd", b"MZ" + bytes(18)),
            ("cut.so", b"\x7fELF"),
        ],
    )
    def test_a_library_for_another_machine_is_named(self, tmp_path, name, content):
        (tmp_path / "package").mkdir()
        (tmp_path / "package" / name).write_bytes(content)
        with pytest.raises(
            BundlingError, match=rf"^package/{name} is not a library for Lambda's arm64"
        ):
            check_libraries(tmp_path)


class TestCache:
    KEY = "0123456789abcdef0123"

    def test_a_failure_leaves_nothing_behind(self, tmp_path):
        def fails(folder):
            (folder / "half").touch()
            raise BundlingError("no")

        with pytest.raises(BundlingError):
            built_once(tmp_path, "name", self.KEY, fails)
        assert [path.name for path in tmp_path.iterdir()] == [".gitignore"]

    def test_what_another_process_built_meanwhile_is_taken(self, tmp_path):
        def overtaken(folder):
            (folder / "ours").touch()
            write(tmp_path, {"name-0123456789abcdef/theirs": ""})

        folder = built_once(tmp_path, "name", self.KEY, overtaken)
        assert [path.name for path in folder.iterdir()] == ["theirs"]
        assert len(list(tmp_path.iterdir())) == 2  # and .gitignore

    def test_the_longest_unused_are_forgotten_and_other_names_stay(self, tmp_path):
        old = [
            built_once(tmp_path, "name", f"{number:016x}", lambda _: None) for number in range(KEPT)
        ]
        for age, folder in enumerate(old):
            os.utime(folder, (age, age))
        other = built_once(tmp_path, "name-of-another", self.KEY, lambda _: None)
        used = built_once(tmp_path, "name", f"{0:016x}", lambda _: None)  # the oldest, used again
        built_once(tmp_path, "name", self.KEY, lambda _: None)
        assert other.is_dir()
        assert used.is_dir()
        assert [folder.is_dir() for folder in old[1:]] == [False] + [True] * (KEPT - 2)
