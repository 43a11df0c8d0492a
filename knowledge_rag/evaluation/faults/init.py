"""Starts the function as Lambda does, in a process of its own, and asks it once.

The event comes on standard input. What the function writes goes to standard output as it is; the
last line there is the answer and the seconds that the call took, start-up apart. Imports only the
standard library, because a package without its dependencies is one of the faults.
"""

from __future__ import annotations

import json
import os
import sys
import time


def main() -> None:
    """Start the function, hand it the event, print what it answers."""
    event = json.load(sys.stdin)
    os.environ["AWS_LAMBDA_INITIALIZATION_TYPE"] = "on-demand"
    from lambdas.retrieve_knowledge.handler import lambda_handler  # noqa: PLC0415 - its import is the start-up

    started = time.perf_counter()
    answer = lambda_handler(event, None)
    seconds = time.perf_counter() - started
    sys.stdout.write(json.dumps({"answer": answer, "seconds": seconds}) + "\n")


if __name__ == "__main__":
    main()
