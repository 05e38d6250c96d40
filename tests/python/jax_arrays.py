"""kfuse.fuse on JAX arrays of the CPU."""
import os
import unittest

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402

import support  # noqa: E402
from support import fuse  # noqa: E402


class Jax(unittest.TestCase):
    def test_types(self):
        for dtype in "float32", "float16", "bfloat16", "int32", "int8", "uint8":
            x = jnp.arange(12).reshape(3, 4).astype(dtype)
            result = fuse("x * 2 + x")(x)
            self.assertIsInstance(result, jax.Array)
            self.assertEqual((result.dtype, result.shape), (x.dtype, x.shape))
            numpy.testing.assert_array_equal(numpy.asarray(result, "f8"), numpy.asarray(x, "f8") * 3)
        self.assertEqual((fuse("x > 1")(jnp.arange(3)) + 0).tolist(), [0, 0, 1])

    def test_shapes(self):
        for shape in (), (1,), (0,), (3, 0, 2), (2, 3, 4):
            x = jax.random.normal(jax.random.key(0), shape)
            result = fuse("x * 2")(x)
            self.assertEqual(result.shape, shape)
            numpy.testing.assert_array_equal(result, x * 2)

    def test_results_are_arrays_like_any_other(self):
        x, b = jax.random.normal(jax.random.key(0), (5, 6)), jnp.ones(6)
        y, h = fuse("h = x + b; y = gelu(h); return y, h")(x, b)
        numpy.testing.assert_allclose(jax.jit(lambda a: a * 2)(y), 2 * jax.nn.gelu(x + b, approximate=False), 1e-5, 1e-6)
        again = fuse("h * 1")(h)
        numpy.testing.assert_array_equal(h, x + b)  # what a later call writes is another buffer
        numpy.testing.assert_array_equal(again, h)
        del y, again

    def test_what_is_refused(self):
        f = fuse("x + 1")
        with self.assertRaisesRegex(TypeError, "traced"):
            jax.jit(f)(jnp.ones(3))
        with self.assertRaisesRegex(ValueError, "read-only"):
            fuse("x = x * 2")(jnp.ones(3))
        with self.assertRaisesRegex(ValueError, "read-only"):
            f(jnp.ones(3), out=jnp.ones(3))
        if not jax.config.jax_enable_x64:
            with self.assertRaisesRegex(TypeError, "jax_enable_x64"):
                fuse("f64(x)")(jnp.ones(3))
        for x in (jax.random.key(0), jax.random.split(jax.random.key(0), 3), jax.random.PRNGKey(0), jnp.ones(3, "complex64"),
                  jnp.ones(3, "int4"), jnp.ones(3, "int16"), jnp.ones(3, "float8_e5m2")):
            with self.assertRaisesRegex(TypeError, f"x is {x.dtype.name}; kfuse has bool"):
                f(x)
        gone = jnp.ones(3)
        gone.delete()
        with self.assertRaisesRegex(ValueError, "x is deleted"):
            f(gone)
        places = jax.sharding.NamedSharding(jax.make_mesh((2,), ("a",)), jax.sharding.PartitionSpec("a"))
        with self.assertRaisesRegex(BufferError, "x is not exported by its library: .*unsharded"):
            f(jax.device_put(jnp.ones(4), places))
        out = numpy.zeros(3, "f4")
        self.assertIs(f(jnp.ones(3), out=out), out)
        self.assertEqual(out.tolist(), [2, 2, 2])


support.main()
