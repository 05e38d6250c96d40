"""The CUDA driver by ctypes: which device an address is on, and that the context of a device is current.

In: a device's index, an address, a stream. Out: a device's index, whether its context was entered. One idea: contexts are
the primary ones, which torch, CuPy and JAX work in, and each that is entered here is left here."""
import ctypes
import functools
from ctypes import c_int, c_uint64, c_void_p

import kfuse_library as kf


class Driver:
    ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL

    def __init__(self, cuda):
        self.cuda, self.contexts = cuda, {}
        self.call("cuInit", 0)

    def call(self, name, *arguments):
        error = getattr(self.cuda, name)(*arguments)
        if error != 0:
            raise kf.SetupError(f"{name} fails with {error}")

    def context(self, device):
        """The primary one, which torch, CuPy and JAX work in; kept until the process ends."""
        if device not in self.contexts:
            handle, context = c_int(), c_void_p()
            self.call("cuDeviceGet", ctypes.byref(handle), device)
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
            self.contexts[device] = context
        return self.contexts[device]

    def current(self):
        context = c_void_p()
        self.call("cuCtxGetCurrent", ctypes.byref(context))
        return context.value

    def enter(self, device):
        """Whether its context became current by this, so that leave() has to follow."""
        context = self.context(device)
        if self.current() == context.value:
            return False
        self.call("cuCtxPushCurrent_v2", context)
        return True

    def leave(self):
        self.call("cuCtxPopCurrent_v2", ctypes.byref(c_void_p()))

    def within(self, device, name, *arguments):
        """A call in a device's context."""
        entered = self.enter(device)
        try:
            self.call(name, *arguments)
        finally:
            if entered:
                self.leave()

    def device_of(self, pointer):
        ordinal, arguments = c_int(), (self.ORDINAL, c_uint64(pointer))
        if self.current():
            self.call("cuPointerGetAttribute", ctypes.byref(ordinal), *arguments)
        else:
            self.within(0, "cuPointerGetAttribute", ctypes.byref(ordinal), *arguments)
        return ordinal.value

    def synchronise(self, device, stream):
        self.within(device, "cuStreamSynchronize", c_void_p(stream))

    def close(self, device, close, handle):
        """Closes what was loaded in a device's context, behind all that may run of it; never where that is gone."""
        try:
            entered = self.enter(device)
        except kf.SetupError:
            return
        self.cuda.cuCtxSynchronize()
        close(handle)
        if entered:
            self.leave()


@functools.lru_cache(None)
def driver():
    try:
        return Driver(ctypes.CDLL("libcuda.so.1"))
    except OSError as failure:
        raise kf.SetupError(f"no NVIDIA driver: {failure}") from None
