"""Coverage-guided fuzzing of the handler's events: see :mod:`driver`."""

from tests.fuzz.driver import run

if __name__ == "__main__":
    run("event")
