"""A program as the library opens it: its names, and its outputs for inputs of certain layouts.

In: a Function (its text, options and names), layouts (kfuse_arrays.View). Out: names, a handle to tune, a Tensor for each
output. One idea: what can be told without a kernel is told here, before anything is searched for."""
import ctypes
from collections import namedtuple

import kfuse_arrays as arrays
import kfuse_checks as checks
import kfuse_library as kf

Tensor = namedtuple("Tensor", "name dtype shape updates")
Tensor.__doc__ = "An output: its name, type and shape, and the index of the input that it updates in place, or None."


def names_of(text, source=None):
    """A dict of "inputs", "params", "outputs": names."""
    encoded = checks.program(text)
    return kf.session().text(kf.library().kf_program_names, encoded, len(encoded), source)


class Program:
    """A program opened for inputs of certain layouts: what its outputs are."""

    def __init__(self, session, function, layouts, params=(), device=arrays.HOST, outs=None):
        lib, self.handle, self.session = kf.library(), ctypes.c_void_p(), session
        inputs = [describe(name, layout) for name, layout in zip(function.inputs, layouts)]
        outputs = [describe(name, layout) for name, layout in zip(function.outputs, outs or ())
                   if layout and layout[2] and name not in function.inputs]
        params = [kf.KfParam(name.encode(), value) for name, value in params]
        where = function.device if device == arrays.HOST else arrays.device_name(device)
        problem = kf.KfProblem(source=function._source, plain=kf.KfTensor(type=plain_type(layouts)),
                               inputs=(kf.KfTensor * len(inputs))(*inputs), input_count=len(inputs),
                               outputs=(kf.KfTensor * len(outputs))(*outputs), output_count=len(outputs),
                               params=(kf.KfParam * len(params))(*params), param_count=len(params),
                               device=(where or "cpu").encode(), **function._problem)
        session.check(lib.kf_program_open(session.handle, function._encoded, len(function._encoded),
                                          ctypes.byref(problem), ctypes.byref(self.handle)))
        kf.own(self, lib.kf_program_close, self.handle, session)
        self.said, self.outputs, self.codes = session.message(), [], []
        for i in range(lib.kf_program_output_count(self.handle)):
            tensor, updates = lib.kf_program_output(self.handle, i), lib.kf_program_updates(self.handle, i)
            self.outputs.append(Tensor(tensor.name.decode(), arrays.NAMES[tensor.type], tuple(tensor.dim[:tensor.rank]),
                                       None if updates < 0 else updates))
            self.codes.append(tensor.type)


def plain_type(layouts):
    """That of the inputs where they have one, for numbers that meet nothing typed."""
    codes = {code for code, _, _ in layouts}
    return codes.pop() if len(codes) == 1 else kf.KF_PLAIN_TYPE


def describe(name, layout):
    code, shape, strides = layout
    tensor = kf.KfTensor(name=name.encode(), type=code, rank=len(shape))
    tensor.dim[:len(shape)] = shape
    if strides is not None:
        tensor.strides = (ctypes.c_int64 * kf.KF_RANK_MAX)(*strides)
    return tensor


def check_outs(views, tensors):
    for i, (view, tensor) in enumerate(zip(views or (), tensors)):
        if view is not None:
            check_out(out_name(i, len(views)), view, tensor)


def check_out(name, view, tensor):
    code, shape, strides = view.layout
    if tensor.updates is not None:
        raise ValueError(f"{tensor.name} updates an input in place: nothing else is given as its output")
    if arrays.NAMES[code] != tensor.dtype:
        raise TypeError(f"{name} is {arrays.NAMES[code]}, the program's output {tensor.name!r} is {tensor.dtype}")
    if shape != tensor.shape:
        raise ValueError(f"{name} has the shape {shape}, the program's output {tensor.name!r} has {tensor.shape}")
    if 0 not in shape and arrays.share_places(shape, strides):
        raise ValueError(f"elements of {name} share a place")


def out_name(i, count):
    return "out" if count == 1 else f"out[{i}]"
