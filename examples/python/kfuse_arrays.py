"""Arrays of NumPy, torch, CuPy, JAX and of whoever exports DLPack or __cuda_array_interface__.

In: a caller's array. Out: where it is and how it is laid out (View), and, by its kind, how a result of that kind is made,
which stream the caller is in, and what has to be done behind a launch. Nothing is copied."""
import ctypes
import functools
import sys
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

import kfuse_library as kf
from kfuse_driver import driver

SIZES = {kf.KF_BOOL: 1, kf.KF_U8: 1, kf.KF_I8: 1, kf.KF_I32: 4, kf.KF_I64: 8, kf.KF_F16: 2, kf.KF_BF16: 2,
         kf.KF_F32: 4, kf.KF_F64: 8}
# As NumPy, torch and JAX call them.
NAMES = {kf.KF_BOOL: "bool", kf.KF_U8: "uint8", kf.KF_I8: "int8", kf.KF_I32: "int32", kf.KF_I64: "int64",
         kf.KF_F16: "float16", kf.KF_BF16: "bfloat16", kf.KF_F32: "float32", kf.KF_F64: "float64"}
TYPES = {name: code for code, name in NAMES.items()}
HOST = -1  # a device: HOST, or a GPU's index
LEGACY = 1  # a stream: the legacy default one, for the driver, DLPack and __cuda_array_interface__; None is the same


def device_name(device):
    return "cpu" if device == HOST else f"cuda:{device}"


def kind_name(value):
    """What a value is an instance of, for messages."""
    of = type(value)
    return of.__qualname__ if of.__module__ == "builtins" else f"{of.__module__}.{of.__qualname__}"


def type_of(name, array):
    """A kfuse type by the name that its library gives it."""
    code = TYPES.get(name)
    if code is None:
        raise TypeError(f"{array} is {name}; kfuse has {', '.join(NAMES.values())}")
    return code


class View:
    """An array as kfuse sees it. `layout` is what a kernel depends on: type, shape, strides (None: row-major)."""
    __slots__ = "array", "kind", "pointer", "layout", "device", "readonly", "stream", "keep"

    def __init__(self, array, kind, pointer, layout, device=HOST, readonly=False, stream=None, keep=None):
        self.array, self.kind, self.pointer, self.layout = array, kind, pointer, layout
        self.device, self.readonly, self.stream, self.keep = device, readonly, stream, keep


def row_major(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def arrangement(shape, strides):
    """Strides in elements; None where they are row-major, or no stride matters."""
    if strides is None or 0 in shape:
        return None
    usual = row_major(shape)
    strides = tuple(u if size == 1 else s for s, u, size in zip(strides, usual, shape))
    return None if strides == usual else strides


def in_elements(strides, size, name):
    if any(stride % size for stride in strides):
        raise ValueError(f"the strides of {name} are no whole elements")
    return tuple(stride // size for stride in strides)


def share_places(shape, strides):
    """Whether elements of an output might: each step has to pass all that lies within it."""
    reach = 0
    for stride, size in sorted((abs(s), n) for s, n in zip(strides or row_major(shape), shape) if n > 1):
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


# --- kinds. view: what an array is; empty: a result to be written, as a view; stream: the caller's on that device; finish: the
# result as its library has it, behind the launch.

class NumpyKind:
    @staticmethod
    def view(array, name):
        code = numpy_type(array.dtype, name)
        pointer, readonly = array.__array_interface__["data"]
        strides = None
        if not array.flags.c_contiguous:
            strides = arrangement(array.shape, in_elements(array.strides, array.itemsize, name))
        return View(array, NumpyKind, pointer, (code, array.shape, strides), readonly=readonly)

    @staticmethod
    def empty(shape, code, device):
        import numpy
        array = numpy.empty(shape, numpy_dtype(code))
        return View(array, NumpyKind, array.__array_interface__["data"][0], None)

    @staticmethod
    def stream(device):
        return None

    @staticmethod
    def finish(view, shape, stream):
        return view.array


class ScalarKind:
    """NumPy's scalars are arrays without dimensions, which nobody can write to."""

    @staticmethod
    def view(value, name):
        view = NumpyKind.view(sys.modules["numpy"].asarray(value), name)
        view.readonly = True
        return view


class MaskedKind:
    @staticmethod
    def view(array, name):
        raise TypeError(f"{name} has a mask, which kfuse does not look at: give {name}.filled(…) or {name}.data")


@functools.lru_cache(None)
def numpy_type(dtype, name):
    if not dtype.isnative:
        raise TypeError(f"{name} has the bytes of its elements in another order than this machine: give "
                        f"{name}.astype('{dtype.newbyteorder('=').str}')")
    return type_of(dtype.name, name)


@functools.lru_cache(None)
def numpy_dtype(code):
    import numpy
    if code != kf.KF_BF16:
        return numpy.dtype(NAMES[code])
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError("NumPy has bfloat16 by the package ml_dtypes alone, which is not installed") from None
    return numpy.dtype(ml_dtypes.bfloat16)


class TorchKind:
    @staticmethod
    def view(tensor, name):
        check_dense(tensor, name)
        check_derivative(tensor, name)
        if tensor.device.type not in ("cpu", "cuda"):
            raise TypeError(f"{name} is on {tensor.device}; kfuse runs on cpu and cuda")
        shape = tuple(tensor.shape)
        strides = None if tensor.is_contiguous() else arrangement(shape, tensor.stride())
        layout = (torch_type(tensor.dtype, name), shape, strides)
        return View(tensor, TorchKind, torch_address(tensor, name), layout, tensor.device.index if tensor.is_cuda else HOST)

    @staticmethod
    def empty(shape, code, device):
        dtype, place = torch_names(code, device)
        tensor = sys.modules["torch"].empty(shape, dtype=dtype, device=place)
        return View(tensor, TorchKind, tensor.data_ptr(), None, device)

    @staticmethod
    def stream(device):
        return sys.modules["torch"].cuda.current_stream(device).cuda_stream

    @staticmethod
    def finish(view, shape, stream):
        if view.layout:  # it was there before: whoever saved it for a derivative is told
            sys.modules["torch"].autograd.graph.increment_version(view.array)
        return view.array


def check_dense(tensor, name):
    torch = sys.modules["torch"]
    if tensor.layout is not torch.strided or tensor.is_nested:
        layout = "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.")
        raise TypeError(f"{name} has the layout {layout}; kfuse takes dense tensors, of strides")
    if tensor.is_conj() or tensor.is_neg():
        raise TypeError(f"{name} is conjugated or negated when it is read: give {name}.resolve_conj().resolve_neg()")


def check_derivative(tensor, name):
    """No derivative gets lost."""
    torch = sys.modules["torch"]
    if tensor.requires_grad and torch.is_grad_enabled():
        raise ValueError(f"{name} requires grad, which a plain call does not give: kfuse.torch_op does, or call it "
                         "under torch.no_grad()")
    if has_tangent(tensor):
        raise ValueError(f"{name} has a tangent (forward-mode derivatives), which kfuse does not carry on")


def has_tangent(tensor):
    return sys.modules["torch"].autograd.forward_ad.unpack_dual(tensor).tangent is not None


def torch_address(tensor, name):
    """Where its elements are. Tensors that stand for others have none; what a trace records is not what is computed here."""
    torch = sys.modules["torch"]
    if torch.jit.is_tracing():
        raise TypeError(f"{name} is being traced, which does not see a plain call: kfuse.torch_op makes what it sees")
    try:
        pointer = tensor.data_ptr()
    except RuntimeError:
        pointer = 0
    if pointer == 0 and tensor.numel() > 0:
        raise TypeError(f"{name} is a {kind_name(tensor)} without memory of its own (fake, wrapped, of vmap, or freed), which a "
                        "plain call cannot read; kfuse.torch_op makes an operator of torch")
    return pointer


@functools.lru_cache(None)
def torch_type(dtype, name):
    return type_of(str(dtype).removeprefix("torch."), name)


@functools.lru_cache(None)
def torch_names(code, device):
    torch = sys.modules["torch"]
    return getattr(torch, NAMES[code]), torch.device(device_name(device))


class CupyKind:
    @staticmethod
    def view(array, name):
        strides = None
        if not array.flags.c_contiguous:
            strides = arrangement(array.shape, in_elements(array.strides, array.itemsize, name))
        layout = (numpy_type(array.dtype, name), array.shape, strides)
        return View(array, CupyKind, array.data.ptr, layout, array.device.id)

    @staticmethod
    def empty(shape, code, device):
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(device):
            array = cupy.empty(shape, numpy_dtype(code))
        return View(array, CupyKind, array.data.ptr, None, device)

    @staticmethod
    def stream(device):
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(device):
            return cupy.cuda.get_current_stream().ptr

    @staticmethod
    def finish(view, shape, stream):
        return view.array


class JaxKind:
    """Its arrays cannot be written, but a new one, that nobody else has seen, is: by its address."""

    @staticmethod
    def view(array, name):
        jax = sys.modules["jax"]
        if isinstance(array, jax.core.Tracer):
            raise TypeError(f"{name} is being traced by JAX; kfuse takes arrays, outside of jit, grad and vmap")
        if array.is_deleted():
            raise ValueError(f"{name} is deleted, or was donated")
        type_of(array.dtype.name, name)  # that of keys and of 4 bits is none of DLPack
        view = dlpack_view(array.block_until_ready(), name)
        view.kind, view.readonly = JaxKind, True
        return view

    @staticmethod
    def empty(shape, code, device):
        import jax
        if code in (kf.KF_I64, kf.KF_F64) and not jax.config.jax_enable_x64:
            raise TypeError(f"a result is {NAMES[code]}, which JAX has with jax_enable_x64 alone")
        place = jax.devices("cpu")[0] if device == HOST else jax.devices("cuda")[device]
        with jax.default_device(place):
            view = JaxKind.view(jax.numpy.empty(shape or (1,), NAMES[code]), "a result")
        view.readonly = False
        return view

    @staticmethod
    def stream(device):
        return None

    @staticmethod
    def finish(view, shape, stream):
        if view.device != HOST:
            driver().synchronise(view.device, stream)
        return view.array if shape else view.array.reshape(())


class OtherKind:
    """Whoever exports DLPack or __cuda_array_interface__. Results are NumPy's; on a GPU the caller gives the outputs."""

    @staticmethod
    def view(array, name):
        if hasattr(array, "__dlpack__") and not isinstance(array, type):
            return dlpack_view(array, name)
        if hasattr(array, "__cuda_array_interface__"):
            return interface_view(array, name)
        raise TypeError(f"{name} is of {kind_name(array)}, no array of NumPy, torch, CuPy, JAX or by DLPack or "
                        "__cuda_array_interface__; numpy.asarray() or torch.tensor() makes one")

    @staticmethod
    def empty(shape, code, device):
        if device != HOST:
            raise TypeError("arrays of this library are not made here: give out=")
        return NumpyKind.empty(shape, code, device)

    @staticmethod
    def stream(device):
        return None

    @staticmethod
    def finish(view, shape, stream):
        if view.device != HOST:  # DLPack has no word for "written in this stream"
            driver().synchronise(view.device, stream)
        return view.array


class InterfaceKind(OtherKind):
    """By __cuda_array_interface__, which may name the stream that an array is used in."""

    @staticmethod
    def finish(view, shape, stream):
        if view.stream != (stream or LEGACY):
            driver().synchronise(view.device, stream)
        return view.array


def _is_of(array_type, module, name):
    """Whether a type derives from what a module that is loaded calls `name`."""
    loaded = getattr(sys.modules.get(module), name, None)
    return loaded is not None and issubclass(array_type, loaded)


@functools.lru_cache(None)
def kind_of(array_type):
    """None: of no library that is known."""
    for module, name, kind in (("numpy.ma", "MaskedArray", MaskedKind), ("numpy", "ndarray", NumpyKind),
                               ("numpy", "generic", ScalarKind), ("torch", "Tensor", TorchKind), ("cupy", "ndarray", CupyKind),
                               ("jax", "Array", JaxKind), ("jax.core", "Tracer", JaxKind)):
        if _is_of(array_type, module, name):
            return kind
    return None


def view(array, name):
    """How kfuse sees a caller's array; TypeError where it is none."""
    result = (kind_of(type(array)) or OtherKind).view(array, name)
    code, shape, _ = result.layout
    if len(shape) > kf.KF_RANK_MAX:
        raise ValueError(f"{name} has {len(shape)} dimensions; kfuse takes {kf.KF_RANK_MAX} at most")
    if result.pointer % SIZES[code] and 0 not in shape:
        raise ValueError(f"{name} begins within an element: its address is not a multiple of {SIZES[code]}")
    return result


# --- DLPack, read in place: the capsule is kept, not consumed, so that it frees what it holds by itself

class DLTensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32), ("code", c_uint8),
                ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


class DLManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", c_void_p), ("deleter", c_void_p)]


class DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", c_void_p), ("flags", c_uint64),
                ("tensor", DLTensor)]


DLPACK_HOST, DLPACK_CUDA = (1, 3), (2, 13)  # with pinned and managed memory
DLPACK_TYPES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}  # and the bits
DLPACK_READ_ONLY = 1

_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = c_int, [ctypes.py_object, c_char_p]
_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype, _pointer_in.argtypes = c_void_p, [ctypes.py_object, c_char_p]


def dlpack_capsule(array, name):
    """Of version 1, which says what may be written, where the exporter has it."""
    try:
        on_gpu = array.__dlpack_device__()[0] in DLPACK_CUDA
        stream = {"stream": LEGACY} if on_gpu else {}
        try:
            return array.__dlpack__(max_version=(1, 0), **stream)
        except TypeError:
            return array.__dlpack__(**stream)
    except BufferError as failure:
        raise BufferError(f"{name} is not exported by its library: {failure}") from None


def dlpack_view(array, name):
    capsule, readonly = dlpack_capsule(array, name), False
    if not _is_valid(capsule, b"dltensor_versioned") and not _is_valid(capsule, b"dltensor"):
        raise TypeError(f"{name} is exported by its library as {capsule!r}, which is no DLPack capsule that can be used")
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = DLManagedTensorVersioned.from_address(_pointer_in(capsule, b"dltensor_versioned"))
        if managed.major != 1:
            raise TypeError(f"{name} is exported by DLPack {managed.major}, which this module does not know")
        readonly = bool(managed.flags & DLPACK_READ_ONLY)
    else:
        managed = DLManagedTensor.from_address(_pointer_in(capsule, b"dltensor"))
    tensor = managed.tensor
    shape = tuple(tensor.shape[:tensor.ndim])
    strides = arrangement(shape, tensor.strides[:tensor.ndim] if tensor.strides else None)
    layout = (dlpack_type(tensor, name), shape, strides)
    pointer = (tensor.data or 0) + tensor.byte_offset
    device = dlpack_device(tensor, name)
    return View(array, OtherKind, pointer, layout, device, readonly, None if device == HOST else LEGACY, capsule)


def dlpack_type(tensor, name):
    word = DLPACK_TYPES.get(tensor.code, f"DLPack's type {tensor.code} of bits ")
    lanes = "" if tensor.lanes == 1 else f"x{tensor.lanes}"
    return type_of("bool" if (word, tensor.bits, lanes) == ("bool", 8, "") else f"{word}{tensor.bits}{lanes}", name)


def dlpack_device(tensor, name):
    if tensor.device_type in DLPACK_HOST:
        return HOST
    if tensor.device_type in DLPACK_CUDA:
        return tensor.device_id
    raise TypeError(f"{name} is on DLPack's device {tensor.device_type}; kfuse runs on cpu and cuda")


# --- __cuda_array_interface__

def interface_view(array, name):
    described = array.__cuda_array_interface__
    pointer, readonly = described["data"]
    kinds = {"b": "bool", "u": "uint", "i": "int", "f": "float"}
    order, kind, size = described["typestr"][0], described["typestr"][1], int(described["typestr"][2:])
    word = kinds.get(kind, kind) + ("" if kind == "b" else str(8 * size))
    if described.get("mask") is not None or order == ">":
        raise TypeError(f"{name} has a mask, or the bytes of its elements in another order than this machine")
    code, shape, strides = type_of(word, name), tuple(described["shape"]), described.get("strides")
    strides = arrangement(shape, in_elements(strides, size, name)) if strides else None
    device = driver().device_of(pointer) if pointer else 0
    return View(array, InterfaceKind, pointer, (code, shape, strides), device, readonly, described.get("stream"), described)
