"""Coverage-guided fuzzing of what the service answers: see :mod:`driver`."""

from tests.fuzz.driver import run

if __name__ == "__main__":
    run("response")
