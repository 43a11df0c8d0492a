"""What all tests share."""

from hypothesis import settings

pytest_plugins = ("tests.support.fixtures",)

# a busy machine is no failure: examples are bounded in number, the suite in time
settings.register_profile("shared-machine", deadline=None)
settings.load_profile("shared-machine")
