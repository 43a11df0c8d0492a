"""Runs a benchmark by name: ``python -m benchmarks NAME``."""

from benchmarks.commands.app import main

if __name__ == "__main__":
    main()
