"""Notebooks become Markdown lines: cells in their order, code in fences, no outputs."""

import json

import pytest

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.extract import notebook as notebooks
from knowledge_rag.extract.documents import extract
from knowledge_rag.extract.notebook import read_notebook


def cell(kind, source, **more):
    return {"cell_type": kind, "metadata": {}, "source": source, **more}


def notebook(*cells, **metadata):
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4}).encode()


def test_cells_are_read_in_their_order_and_outputs_left_out():
    output = [{"output_type": "stream", "text": "depth 12 " * 10_000}]
    read = extract(
        "runbooks/queue.ipynb",
        notebook(
            cell("markdown", ["# Queue backlog\n", "\n", "1. Look:"]),
            cell("code", "depth('billing')\n", outputs=output),
            cell("code", "%%bash\naws sqs list-queues", outputs=[]),
            cell("code", "!kubectl get pods\n!kubectl get nodes"),
            cell("code", "print('```')"),
            cell("raw", "as it is"),
            cell("code", "  \n"),
            kernelspec={"language": "python"},
        ),
    )
    assert read.text == (
        "# Queue backlog\n\n1. Look:\n\n```python\ndepth('billing')\n```\n\n```bash\naws sqs list-queues\n```\n\n"
        "```bash\nkubectl get pods\nkubectl get nodes\n```\n\n````python\nprint('```')\n````\n\n```\nas it is\n```\n"
    )
    assert read.notes == ("left out the outputs of 1 cell",)
    assert (read.document.title, read.document.document_type) == ("Queue backlog", "runbook")


def test_a_notebook_of_version_3_is_read():
    sheet = [cell("heading", "Old", level=2), {"cell_type": "code", "input": "run()"}]
    data = json.dumps({"worksheets": [{"cells": sheet}], "metadata": {}}).encode()
    assert read_notebook("a.ipynb", data).text == "## Old\n\n```\nrun()\n```\n"


def test_what_is_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(notebooks, "MAX_CHARACTERS", 20)
    with pytest.raises(UnreadableDocument, match="more than 20 characters in its cells"):
        read_notebook("a.ipynb", notebook(cell("markdown", "x" * 20)))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty file"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b"{}", "not a Jupyter notebook"),
        (b"[1]", "not a Jupyter notebook"),
        (b'{"cells": [{"source": 1, "cell_type": "code"}]}', "not a Jupyter notebook"),
        (b"[" * 100_000, "not a Jupyter notebook"),
        (notebook(cell("code", "", outputs=[1])), "a notebook without text"),
    ],
)
def test_what_is_no_notebook_is_refused_with_the_reason(data, reason):
    with pytest.raises(UnreadableDocument, match=reason):
        read_notebook("a.ipynb", data)
