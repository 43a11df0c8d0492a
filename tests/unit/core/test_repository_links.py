"""Addresses where documents can be changed."""

from __future__ import annotations

import pytest

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.repository_links import RepositoryLinks

TEMPLATE = "https://git.example:8443/org/repo/blob/main/{path}#L{start}-L{end}"


def test_lines_have_an_address_in_the_repository():
    url = RepositoryLinks(TEMPLATE).url('a/"b" {start}.md', 5, 10)
    assert url == "https://git.example:8443/org/repo/blob/main/a/%22b%22%20%7Bstart%7D.md#L5-L10"
    assert (
        RepositoryLinks("http://git.example/{path}").url("a.md", 5, 10) == "http://git.example/a.md"
    )


@pytest.mark.parametrize(
    "template",
    [
        "",
        "https://git.example/blob/main",
        "javascript:alert('{path}')",
        "//git.example/{path}",
        "https://{path}/",
        "https://{path}.example/x",
        "https://user:password@git.example/{path}",
        "https:///{path}",
        "https://git.example/{path}/{line}",
        "https://git.example/{path!r}",
        "https://git.example/{path:>10}",
        "https://git.example/{path.__class__}",
        "https://git.example/{path",
        "https://git.example/{}",
        "https://git.example/{0}/{path}",
    ],
)
def test_a_template_that_could_lead_elsewhere_is_refused(template):
    with pytest.raises(InvalidSettings, match="repository URL"):
        RepositoryLinks(template)
