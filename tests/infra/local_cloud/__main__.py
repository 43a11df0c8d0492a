"""``python -m tests.infra.local_cloud``: deploys both stacks to a cloud on this machine."""

import sys

from tests.infra.local_cloud.deployment import main

sys.exit(main(sys.argv[1:]))
