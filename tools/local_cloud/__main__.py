"""``python -m tools.local_cloud``: deploys both stacks to a cloud on this machine."""

import sys

from tools.local_cloud.deployment import main

sys.exit(main(sys.argv[1:]))
