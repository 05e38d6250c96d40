"""Arrays of libraries that kfuse has not heard of: DLPack, old and new, and __cuda_array_interface__."""
import unittest

import numpy

import support
from support import fuse
import kfuse_arrays
import kfuse_library


OLD_NUMPY = tuple(map(int, numpy.__version__.split(".")[:2])) < (2, 1)  # exports what may be written, without version


def export(array, max_version):
    return array.__dlpack__() if OLD_NUMPY else array.__dlpack__(max_version=max_version)


class Exporter:
    """NumPy's memory under another name."""

    def __init__(self, array):
        self.array, self.asked = array, []

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, max_version=None):
        self.asked.append(max_version)
        return export(self.array, max_version)


class OldExporter(Exporter):
    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


class OnDevice(Exporter):
    def __init__(self, array, device):
        super().__init__(array)
        self.device = device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, max_version=None, stream="none"):
        self.asked.append(stream)
        return export(self.array, max_version)


class Given:
    """A capsule, or what is none, as it is."""

    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **_):
        return self.capsule


class DLPack(unittest.TestCase):
    def test_new_and_old(self):
        x = numpy.arange(12, dtype="f4").reshape(3, 4)
        for exporter in Exporter, OldExporter:
            for view in x, x.T, x[::-1, ::2], x[:0], x[0, 0:1], x[..., None]:
                result = fuse("x * 2")(exporter(view))
                self.assertIs(type(result), numpy.ndarray)
                numpy.testing.assert_array_equal(result, view * 2)
        for dtype in "bool", "u1", "i1", "i4", "i8", "f2", "f4", "f8":
            if OLD_NUMPY and dtype == "bool":  # NumPy 1.24 does not export it
                continue
            numpy.testing.assert_array_equal(fuse("y = x")(Exporter(x.astype(dtype))), x.astype(dtype))

    def test_outputs(self):
        x, room = numpy.ones((3, 4), "f4"), numpy.zeros((3, 8), "f4")
        out = Exporter(room[:, ::2])
        self.assertIs(fuse("x + 1")(x, out=out), out)
        numpy.testing.assert_array_equal(room[:, ::2], x + 1)
        frozen = numpy.zeros((3, 4), "f4")
        frozen.flags.writeable = False
        with self.assertRaises(BufferError if OLD_NUMPY else ValueError):
            fuse("x + 1")(x, out=Exporter(frozen))
        updated = Exporter(x)
        self.assertIs(fuse("x = x * 5")(updated), updated)
        numpy.testing.assert_array_equal(x, numpy.full((3, 4), 5))

    def test_what_is_refused(self):
        f = fuse("x + 1")
        with self.assertRaisesRegex(TypeError, "x is uint32; kfuse has"):
            f(Exporter(numpy.zeros(3, "u4")))
        with self.assertRaisesRegex(BufferError, "x is not exported by its library: .*read-?only"):  # says NumPy
            f(OldExporter(numpy.broadcast_to(numpy.float32(1), (3,))))
        for code, bits, lanes, name in (5, 64, 1, "complex64"), (2, 32, 4, "float32x4"), (77, 4, 1, "DLPack's type 77 of bits 4"):
            with self.assertRaisesRegex(TypeError, f"x is {name};"):
                kfuse_arrays.dlpack_type(kfuse_arrays.DLTensor(code=code, bits=bits, lanes=lanes), "x")

    def test_broken_exporters(self):
        used = numpy.ones(3, "f4").__dlpack__()
        fuse("x + 1")(Given(used))
        numpy.from_dlpack(Given(used))  # which renames it
        for given in Given(None), Given(3), Given(used):
            with self.assertRaisesRegex(TypeError, "x is exported by its library as .*, which is no DLPack capsule"):
                fuse("x + 1")(given)

    def test_memory_outlives_its_exporter(self):
        f = fuse("x * 3")
        for i in range(100):
            numpy.testing.assert_array_equal(f(Exporter(numpy.full(1000, i, "f4"))), numpy.full(1000, 3 * i))

    def test_devices(self):
        """The device of the tensor itself counts; what is said to be on a GPU is asked for in the legacy default stream."""
        exporter = OnDevice(numpy.ones(3, "f4"), (2, 0))
        fuse("x + 1")(exporter)
        self.assertEqual(exporter.asked, [1])
        tensor = kfuse_arrays.DLTensor(device_type=2, device_id=3)
        self.assertEqual(kfuse_arrays.dlpack_device(tensor, "x"), 3)
        tensor.device_type = 8
        with self.assertRaisesRegex(TypeError, "device 8"):
            kfuse_arrays.dlpack_device(tensor, "x")


class Described:
    def __init__(self, **described):
        self.__cuda_array_interface__ = {"version": 3, "typestr": "<f4", "shape": (2, 3), "data": (4096, False), **described}


class FakeDriver:
    synchronised = []

    def device_of(self, pointer):
        return pointer // 65536

    def synchronise(self, device, stream):
        self.synchronised.append(stream)


class Interface(unittest.TestCase):
    """Without a GPU: what is read from __cuda_array_interface__, and which stream a call is in."""

    def setUp(self):
        driver, kfuse_arrays.driver = kfuse_arrays.driver, FakeDriver
        FakeDriver.synchronised = []
        self.addCleanup(setattr, kfuse_arrays, "driver", driver)

    def view(self, **described):
        return kfuse_arrays.view(Described(**described), "x")

    def test_layout(self):
        view = self.view()
        self.assertEqual((view.pointer, view.layout), (4096, (kfuse_library.KF_F32, (2, 3), None)))
        self.assertEqual((view.device, view.readonly, view.stream), (0, False, None))
        self.assertEqual(self.view(strides=(12, 4)).layout[2], None)
        self.assertEqual(self.view(strides=(4, 8)).layout[2], (1, 2))
        self.assertEqual(self.view(strides=(-12, 4), data=(131072, True)).layout[2], (-3, 1))
        view = self.view(data=(131072, True), stream=7)
        self.assertEqual((view.device, view.readonly, view.stream), (2, True, 7))
        self.assertEqual([self.view(typestr=t).layout[0] for t in ("|b1", "|u1", "|i1", "<i4", "<i8", "<f2", "<f8")],
                         [getattr(kfuse_library, "KF_" + n) for n in ("BOOL", "U8", "I8", "I32", "I64", "F16", "F64")])
        self.assertEqual(self.view(shape=(0, 3), data=(0, False)).layout[1], (0, 3))

    def test_what_is_refused(self):
        for described in dict(typestr=">f4"), dict(typestr="<c8"), dict(typestr="<u4"), dict(mask=self), dict(typestr="|V8"):
            with self.assertRaises(TypeError):
                self.view(**described)
        for described in dict(strides=(13, 4)), dict(data=(4097, False)):
            with self.assertRaises(ValueError):
                self.view(**described)

    def test_streams(self):
        def stream(*streams):
            given = [Described(stream=s) for s in streams]
            return support.kfuse.Call(fuse("x + y"), given, {}, None).stream
        self.assertEqual((stream(None, None), stream(1, 1), stream(7, 7), stream(2, 2)), (None, None, 7, 2))
        self.assertEqual((FakeDriver.synchronised, stream(7, 9), FakeDriver.synchronised), ([9], 7, [9]))

    def test_devices(self):
        with self.assertRaisesRegex(ValueError, "x is on cuda:0, y on cuda:1"):
            fuse("x + y")(Described(), Described(data=(65536, False)))
        with self.assertRaisesRegex(ValueError, "x is on cuda:0, y on cpu"):
            fuse("x + y")(Described(), numpy.zeros((2, 3), "f4"))
        with self.assertRaisesRegex(ValueError, "the option device is 'cpu'"):
            fuse("x + y", device="cpu")(Described(), Described())


@unittest.skipIf(kfuse_library.os.path.exists("/dev/nvidiactl"), "there is a GPU")
class WithoutGpu(unittest.TestCase):
    def test_setup_errors(self):
        with self.assertRaisesRegex(support.kfuse.SetupError, "no NVIDIA driver"):
            fuse("x")(Described())
        with self.assertRaises(support.kfuse.SetupError):
            fuse("x * 2", device="cuda")(numpy.zeros(3, "f4"))


support.main()
