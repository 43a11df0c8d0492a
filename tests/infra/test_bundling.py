"""What goes into a Lambda's zip: the closure, the locked wheels, their byte code, nothing else."""

import os
import re
import subprocess
import sys

import grimp
import pytest

from infra import bundling
from infra.bundling import (
    BUNDLES,
    LOCK,
    LOCKS,
    SHIPPED,
    BundlingError,
    bundle,
    files_of,
    zipped_size,
)
from tests.support.bundles import ADVISE, CHUNK, HANDLERS, RETRIEVE, RUNTIME_PACKAGES, make_wheel

MAX_ZIPPED_BYTES = 4_500_000
MAX_ZIPPED_BYTES_OF = {CHUNK: 9_500_000, ADVISE: 5_600_000}
PARSERS = {
    "cobble",
    "confusable_homoglyphs",
    "mammoth",
    "markdown_it",
    "mdurl",
    "pypdfium2",
    "pypdfium2_cfg",
    "pypdfium2_cli",
    "pypdfium2_raw",
    "selectolax",
    "tree_sitter",
    "tree_sitter_bash",
}
WRITERS = {
    "anyio",
    "certifi",
    "confusable_homoglyphs",
    "h11",
    "httpcore",
    "httpx",
    "idna",
    "markdown_it",
    "mdurl",
}
MORE = {CHUNK: PARSERS, ADVISE: WRITERS}
OWN = ("knowledge_rag", "lambdas")


@pytest.fixture(scope="module", params=HANDLERS)
def module(request):
    return request.param


@pytest.fixture(scope="module")
def lock(module):
    return LOCKS.get(module, LOCK)


@pytest.fixture(scope="module")
def packed(module):
    """Give the very bundle that synth deploys."""
    return bundle(module, BUNDLES)


@pytest.fixture(scope="module")
def files(packed):
    return files_of(packed.path)


def test_the_project_s_part_is_the_import_closure(module, files):
    shipped = {path.as_posix() for path in files if path.parts[0] in OWN and path.suffix == ".py"}
    folders = {path.rpartition("/")[0] for path in shipped}
    own = {f"lambdas/{module.split('.')[1]}"}
    if module == CHUNK:
        own |= {"knowledge_rag/drift", "knowledge_rag/extract", "knowledge_rag/extract/lint"}
        own.add("knowledge_rag/guardrails")
    if module in (RETRIEVE, ADVISE):
        own.add("knowledge_rag/core/net")
    if module == ADVISE:  # no search, and no reader of documents
        own |= {
            "knowledge_rag/channel",
            "knowledge_rag/guardrails",
            "knowledge_rag/guardrails/support",
        }
        own |= {"knowledge_rag/orchestrator", "knowledge_rag/orchestrator/advisors"}
        own |= {"knowledge_rag/orchestrator/backends"}
        own |= {"knowledge_rag/extract", "knowledge_rag/extract/lint"}
        assert "knowledge_rag/extract/documents.py" not in shipped
    assert folders == {"knowledge_rag", "knowledge_rag/core", "lambdas"} | own
    assert module.replace(".", "/") + ".py" in shipped
    assert {"lambdas/__init__.py", "knowledge_rag/core/__init__.py"} <= shipped


def test_what_it_imports_from_elsewhere_ships_or_is_the_runtime_s(module, files):
    graph = grimp.build_graph(
        *OWN, include_external_packages=True, exclude_type_checking_imports=True, cache_dir=None
    )
    imported = {name.split(".")[0] for name in graph.find_upstream_modules(module)}
    shipped = {path.parts[0].removesuffix(".py") for path in files}
    assert imported - shipped - sys.stdlib_module_names <= set(RUNTIME_PACKAGES)


def test_the_rest_is_the_locked_wheels(packed, files, lock, module):
    infos = {path.parts[0] for path in files if path.parts[0].endswith(".dist-info")}
    locked = re.findall(r"^([\w-]+)==(\S+)", lock.read_text(), re.MULTILINE)
    assert infos == {f"{name.replace('-', '_')}-{version}.dist-info" for name, version in locked}
    top = {path.parts[0] for path in files} - infos - set(OWN)
    needed = {"aws_lambda_powertools", "jmespath", "typing_extensions.py"}
    shipped = {path.parts[0] for path in SHIPPED.get(module, ())}
    assert top - {"__pycache__"} == needed | MORE.get(module, set()) | shipped
    assert {path.name for path in (packed.path / "__pycache__").glob("*")} <= {
        "typing_extensions.cpython-313.pyc",
        "six.cpython-313.pyc",
    }


def test_every_lock_has_the_same_versions_of_what_every_function_needs():
    of_all, *others = [
        dict(re.findall(r"^([\w-]+)==(\S+)", path.read_text(), re.MULTILINE))
        for path in (LOCK, *LOCKS.values())
    ]
    for pinned in others:
        assert of_all.items() <= pinned.items()


def test_what_ships_is_what_the_tests_ran_with(lock):
    pinned = dict(re.findall(r"^([\w-]+)==(\S+)", lock.read_text(), re.MULTILINE))
    tested = LOCK.with_name("dev.txt").read_text()
    assert pinned == {
        name: version
        for name, version in re.findall(r"^([\w-]+)==(\S+)", tested, re.MULTILINE)
        if name in pinned
    }


def test_every_wheel_runs_on_arm64(packed):
    tags = [
        line.removeprefix("Tag: ")
        for path in packed.path.glob("*.dist-info/WHEEL")
        for line in path.read_text().splitlines()
        if line.startswith("Tag: ")
    ]
    assert tags
    assert [tag for tag in tags if not tag.endswith(("-none-any", "_aarch64"))] == []


def test_a_library_for_another_processor_is_refused_even_in_a_wheel_that_says_it_has_none(
    tmp_path, monkeypatch
):
    x86 = "\x7fELF" + "\0" * 14 + "\x3e\0"
    lock = tmp_path / "lock.txt"
    lock.write_text(make_wheel(tmp_path, "tiny", **{"tiny/fast.so": x86})[1])
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path))
    monkeypatch.setattr(bundling, "LOCK", lock)
    with pytest.raises(BundlingError, match=r"^tiny/fast\.so is not a library for Lambda's arm64"):
        bundle(RETRIEVE, tmp_path / "bundles")


def test_licences_stay_and_installers_notes_go(packed):
    for info in packed.path.glob("*.dist-info"):
        names = {path.relative_to(info).parts[0] for path in info.rglob("*") if path.is_file()}
        assert {"METADATA", "WHEEL"} <= names, info
        # cobble's wheel has no file of its licence, its metadata names it
        assert len(names) > 2 or "License :: OSI Approved" in (info / "METADATA").read_text(), info
        assert all(
            re.match("METADATA|WHEEL|LICEN[CS]E|licenses|AUTHORS", name) for name in names
        ), names


def test_there_are_no_stray_files(files, module):
    suffixes = {path.suffix for path in files if not path.parts[0].endswith(".dist-info")}
    # .typed marks a package as typed; the page is that of Powertools' own OpenAPI documentation
    allowed = {".py", ".pyc", ".typed", ".js", ".css"}
    # libraries, and what pypdfium2, markdown-it and tree-sitter note of their own
    allowed |= {".so", ".json", ".pyi", ".scm", ".yaml"} if module == CHUNK else set()
    # tables of characters, markdown-it's note, certifi's certificates
    allowed |= {".json", ".yaml", ".pem"} if module == ADVISE else set()
    allowed |= {path.suffix for path in SHIPPED.get(module, ())}
    assert suffixes <= allowed
    assert [path for path in files if {"tests", "bin", "test"} & set(path.parts)] == []


def test_byte_code_is_3_13_s_of_every_source_and_needs_no_check(packed, files):
    if not packed.byte_code:
        pytest.skip("no Python 3.13 here: the bundle has sources only")
    sources = [path for path in files if path.suffix == ".py"]
    expected = [path.parent / "__pycache__" / f"{path.stem}.cpython-313.pyc" for path in sources]
    assert sorted(path for path in files if path.suffix == ".pyc") == sorted(expected)
    unchecked = (0b01).to_bytes(4, "little")
    for source, compiled in zip(sources, expected, strict=True):
        header = (packed.path / compiled).read_bytes()[:16]
        assert header[:8] == bytes.fromhex("f30d0d0a") + unchecked
        assert len(header) == 16, source


def test_nothing_tells_of_the_machine_that_built_it(packed, files):
    place = os.fsencode(bundling.ROOT)  # bundles are built below it
    assert [path for path in files if place in (packed.path / path).read_bytes()] == []


def test_lambda_s_user_may_read_everything_and_write_nothing(packed):
    modes = {
        (path.is_dir(), path.stat().st_mode & 0o777)
        for path in [packed.path, *packed.path.rglob("*")]
    }
    assert modes == {(True, 0o755), (False, 0o644)}


def test_the_zip_is_within_its_size(packed, module):
    most = MAX_ZIPPED_BYTES_OF.get(module, MAX_ZIPPED_BYTES)
    assert zipped_size(packed.path) <= most


def test_another_place_and_another_umask_give_the_same_hash(tmp_path):
    before = os.umask(0o077)
    try:
        again = bundle(RETRIEVE, tmp_path / "elsewhere")
    finally:
        os.umask(before)
    assert again.content_hash == bundle(RETRIEVE, BUNDLES).content_hash


def test_unchanged_inputs_start_no_installer_and_no_compiler(packed, module, monkeypatch):
    def started(*arguments, **_):
        raise AssertionError(arguments)

    monkeypatch.setattr(subprocess, "run", started)
    assert bundle(module, BUNDLES) == packed


def test_without_a_matching_python_sources_alone_ship(tmp_path, monkeypatch):
    monkeypatch.setattr(bundling, "find_compiler", lambda _: None)
    bare = bundle(RETRIEVE, tmp_path)
    assert not bare.byte_code
    assert {path.suffix for path in files_of(bare.path)} & {".pyc"} == set()
