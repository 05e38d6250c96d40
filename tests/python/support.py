"""What the tests of examples/python share: the module on the path, quick options, unittest's end."""
import os
import sys
import unittest

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MODULES = os.path.join(SOURCE, "examples", "python")
sys.path.insert(0, MODULES)
sys.dont_write_bytecode = True

import kfuse  # noqa: E402

AT_ONCE = dict(no_tune=True)  # the analytic default: compiled, checked, not searched for
SEARCHED = dict(effort="quick", trials=2, budget=20)


def fuse(text, **options):
    return kfuse.fuse(text, **{**AT_ONCE, **options})


def main(**options):
    unittest.main(verbosity=1, **options)
