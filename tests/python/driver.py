"""The driver as kfuse_driver calls it, on a libcuda that is compiled here: contexts are entered and left in pairs."""
import ctypes
import os
import subprocess
import tempfile
import unittest

import support  # noqa: F401
import kfuse_driver
import kfuse_library

STUB = r"""
#include <stdint.h>
static void *stack[8];
static int depth;
int log_retained, log_waited;
uintptr_t log_stream, log_closed_in;
int cuInit(unsigned flags) { return flags ? 1 : 0; }
int cuDeviceGet(int *device, int ordinal) { if (ordinal > 1) return 101; *device = ordinal + 40; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { log_retained++; *context = (void *)(uintptr_t)(0x7f0000000000 + device); return 0; }
int cuCtxGetCurrent(void **context) { *context = depth ? stack[depth - 1] : 0; return 0; }
int cuCtxPushCurrent_v2(void *context) { stack[depth++] = context; return 0; }
int cuCtxPopCurrent_v2(void **context) { if (!depth) return 201; *context = stack[--depth]; return 0; }
int cuStreamSynchronize(void *stream) { log_stream = (uintptr_t)stream; log_waited++; return depth ? 0 : 201; }
int cuCtxSynchronize(void) { return depth ? 0 : 201; }
int cuPointerGetAttribute(void *data, int attribute, uint64_t pointer) {
    if (!depth || attribute != 9) return 201;
    *(int *)data = (int)(pointer >> 60);
    return 0;
}
void close_kernel(void *handle) { log_closed_in = depth ? (uintptr_t)stack[depth - 1] : 0; (void)handle; }
int current_depth(void) { return depth; }
"""


def compiled(folder):
    path = os.path.join(folder, "stub.c")
    with open(path, "w") as file:
        file.write(STUB)
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", path, "-o", path[:-1] + "so"], check=True)
    return ctypes.CDLL(path[:-1] + "so")


class Contexts(unittest.TestCase):
    def setUp(self):
        with tempfile.TemporaryDirectory() as folder:
            self.cuda = compiled(folder)
        self.driver = kfuse_driver.Driver(self.cuda)

    def logged(self, name, kind=ctypes.c_int):
        return kind.in_dll(self.cuda, name).value

    def test_primary_contexts_are_entered_once(self):
        self.assertTrue(self.driver.enter(1))
        self.assertFalse(self.driver.enter(1))
        self.assertTrue(self.driver.enter(0))
        self.driver.leave(), self.driver.leave()
        self.assertEqual((self.cuda.current_depth(), self.logged("log_retained")), (0, 2))
        self.assertEqual(self.driver.contexts[1].value, 0x7f0000000000 + 41)

    def test_waiting(self):
        self.driver.synchronise(0, 0x7f1234567890)
        self.assertEqual(self.logged("log_stream", ctypes.c_uint64), 0x7f1234567890)
        self.driver.synchronise(0, None)
        self.assertEqual((self.logged("log_stream", ctypes.c_uint64), self.logged("log_waited")), (0, 2))
        self.assertEqual(self.cuda.current_depth(), 0)

    def test_which_device(self):
        self.assertEqual(self.driver.device_of(3 << 60 | 4096), 3)
        self.assertEqual(self.cuda.current_depth(), 0)

    def test_closing(self):
        self.driver.close(1, self.cuda.close_kernel, None)
        self.assertEqual((self.logged("log_closed_in", ctypes.c_uint64), self.cuda.current_depth()), (0x7f0000000000 + 41, 0))
        self.driver.close(7, self.cuda.close_kernel, None)  # a device that is gone: nothing is called

    def test_failures_are_told(self):
        with self.assertRaisesRegex(kfuse_library.SetupError, "cuDeviceGet fails with 101"):
            self.driver.enter(5)
        with self.assertRaisesRegex(kfuse_library.SetupError, "cuCtxPopCurrent_v2 fails with 201"):
            self.driver.leave()


support.main()
