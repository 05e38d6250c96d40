"""examples/programs through kfuse.fuse, beside tests/programs/references.py."""
import os
import sys
import unittest

import numpy

import support
from support import fuse

sys.path.insert(0, os.path.join(support.SOURCE, "tests", "programs"))
import listing  # noqa: E402
import references  # noqa: E402

SIZES = 3, 33, 7, 2


def arrays_of(program):
    generator = numpy.random.default_rng(len(program.text))
    for name, shape in program.sized(dict(zip(program.symbols, SIZES))).items():
        span, dtype = listing.span(program.values, name), program.type_of(name, "f32")
        if dtype == "i8":
            array = generator.integers(-128, 128, shape, "i1")
        else:
            array = generator.uniform(*span, shape) if span else generator.standard_normal(shape)
        yield name, array.astype({"i8": "i1", "f32": "f4", "f64": "f8"}[dtype])


class Programs(unittest.TestCase):
    def test_each(self):
        for program in listing.programs():
            with self.subTest(program.name):
                f, given = fuse(program.text, source=program.path), dict(arrays_of(program))
                self.assertEqual(set(f.inputs), set(given))
                with numpy.errstate(all="ignore"):
                    right = getattr(references, program.name)(**{name: a.astype("f8") for name, a in given.items()})
                right.pop("factors", None)
                results = f(**given)
                results = dict(zip(f.outputs, results if isinstance(results, tuple) else [results]))
                self.assertEqual(set(results), set(right))
                for name, result in results.items():
                    whole = result.dtype.kind == "i"
                    scale = 1 if whole else float(numpy.sqrt(numpy.mean(numpy.square(right[name]))))
                    numpy.testing.assert_allclose(result.astype("f8"), right[name], 0 if whole else 1e-5, scale * (1 if whole else 1e-5))


support.main()
