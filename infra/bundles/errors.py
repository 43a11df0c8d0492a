"""What can go wrong while a bundle is built."""


class BundlingError(Exception):
    """A bundle could not be built; the message is one line: what is wrong and what to do."""
