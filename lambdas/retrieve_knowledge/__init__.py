"""The function behind the agent: a question in, cited lines out.

Python's garbage collector rests while Lambda initialises it. Modules, patterns and service models
are no garbage, and traversing them again and again took a tenth of a cold start.
"""

import gc
import os
from typing import Final

IS_IN_LAMBDA: Final = "AWS_LAMBDA_INITIALIZATION_TYPE" in os.environ

if IS_IN_LAMBDA:
    gc.disable()
