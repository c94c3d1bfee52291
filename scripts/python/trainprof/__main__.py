# SPDX-License-Identifier: Apache-2.0
"""python -m trainprof"""

import sys

from .command import main

sys.exit(main())
