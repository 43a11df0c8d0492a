"""Coverage-guided fuzzing of what follows what on a kept connection: see :mod:`driver`."""

from tests.fuzz.driver import run

if __name__ == "__main__":
    run("exchange")
