"""`python -m nodewise`."""

from __future__ import annotations

import sys

from nodewise.cli.main import main

sys.exit(main())
