"""The function behind the agent: a question in, cited lines out.

Python's garbage collector is off while Lambda initialises the function. Modules, patterns and service models
are not garbage, and traversing them repeatedly took a tenth of a cold start.
"""

import gc
import os
from typing import Final

IS_IN_LAMBDA: Final = "AWS_LAMBDA_INITIALIZATION_TYPE" in os.environ

if IS_IN_LAMBDA:
    gc.disable()
