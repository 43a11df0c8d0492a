"""``python -m tools.local_cloud``: deploys the stacks to a cloud on this machine.

With ``--alarm NAME`` the advice stack, too, whose alarm then goes off; it prints what Slack would show.
"""

import sys

from tools.local_cloud import advising, deployment

if sys.argv[1:2] == ["--alarm"]:
    sys.exit(advising.main(sys.argv[2]))
sys.exit(deployment.main(sys.argv[1:]))
