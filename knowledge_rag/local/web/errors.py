"""What can go wrong with one page; the others go on."""


class NotFetched(Exception):  # noqa: N818 - named for what it is
    """A page that was not fetched; the message is one clause that a person can act on."""
