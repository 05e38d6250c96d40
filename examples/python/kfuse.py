"""Fused, verified and tuned kernels from one line, on arrays of NumPy, torch, CuPy, JAX and others.

    import numpy, kfuse
    y = kfuse.fuse("gelu(x + b) + res")(x, b=b, res=res)

The first call with arrays of new shapes, types, strides or on a new device tunes a kernel, for seconds (the progress is silent,
Ctrl-C ends it); the result is kept in this process and in the store, which answers other processes in milliseconds. The
language is that of `kfuse --help` and kfuse(1); libkfuse is loaded from KFUSE_LIB if that is set, from the repository's
build/release, or as the loader finds libkfuse.so.0. There is no build step: this folder on the path is the installation.

Arguments

    f = kfuse.fuse("param eps = 1e-5; y = x / sqrt(mean(x * x) + eps) * g")
    f.inputs, f.params, f.outputs        ('x', 'g'), ('eps',), ('y',)
    f(x, g)                              by position, in the order of the inputs
    f(x, g=g, eps=1e-6)                  by name; params are numbers, by name alone

Inputs are read where they are, by their strides (broadcast, transposed, negative, with gaps); nothing is copied. Their types
are bool, uint8, int8, int32, int64, float16, bfloat16, float32 and float64 (bfloat16 in NumPy is that of ml_dtypes), those of
the program's results follow by its rules. Operands of a product have no gaps. All are on one device, which the kernel is
for: the CPU or a GPU. NumPy scalars are arrays without dimensions; other numbers are params. A kernel is looked up by the
values of its params, too (3 ms for a new one): what changes with every call, such as a learning rate, is better an input
without dimensions. An input that is called out is given by position.

Results

are new arrays, row-major, of the kind that the inputs have: NumPy's for NumPy's, torch's on the same device for torch's. A
program with several outputs gives a tuple of them. An output that updates an input in place (`x = x * 2`) is that input's
array, updated. `out=` gives an array to write to, or for several outputs a tuple of arrays or None; its type and shape are
those of the output, its strides any, and it overlaps no input:

    f(x, g, out=y)

On a GPU work is enqueued in the caller's stream (torch's or CuPy's current one; that of __cuda_array_interface__, if it
names one), and the call returns before it is done, as theirs do. Kernels run in the primary context of the device. JAX's
arrays are waited for before a call and are ready behind it. Arrays of other libraries come by DLPack or
__cuda_array_interface__; results of theirs are NumPy's on the CPU, and on a GPU out= has to be given. What a CUDA graph
captures is called once before, in the stream of the capture: it is then that a kernel is loaded and has its memory.

What is called

    fuse(text, **options)                a Function. The same text and options give the same one.
    Function.__call__                    as above
    Function.kernel(*arrays, ...)        the Kernel for such arrays, tuned, not launched
    Kernel.report(), .result, .cached    what tuning found, as text and as a dict; whether the store answered
    gradient(text, wrt=(), floats={})    the backward program of a text
    torch_op(name, text, **options)      a torch custom operator with its derivative, for autograd and torch.compile

A Function keeps its 128 newest kernels; they are closed when they are collected. Threads may share all of this. A thread
waits for another only to tune for the same Function, or to launch what that other's session made while it tunes something.

Errors

    TypeError                            no array, another type than kfuse has, arrays that are missing or too many
    ValueError                           arrays on several devices, outputs that do not fit
    ProgramError (a ValueError)          the program or a shape does not work: kfuse's message, with its caret
    UsageError (a ValueError)            an option's value is unknown
    NoKernelError                        nothing covers the program, or every candidate failed
    SetupError (a RuntimeError)          no library, driver or compiler: the message says what is missing

The last four are kfuse.Error. What kfuse warns of is a ProgramWarning.
"""
import ctypes
import functools
import inspect
import os
import threading
import warnings
import weakref
from collections import OrderedDict, namedtuple

import kfuse_arrays as arrays
import kfuse_library as kf
from kfuse_library import Error, NoKernelError, ProgramError, SetupError, UsageError

__all__ = ["fuse", "gradient", "torch_op", "Function", "Kernel", "Tensor", "Error", "ProgramError", "UsageError",
           "NoKernelError", "SetupError", "ProgramWarning"]

KEPT = 128  # kernels of one Function; the store answers for an older one in milliseconds


for _error in (Error, ProgramError, UsageError, NoKernelError, SetupError):
    _error.__module__ = __name__  # as callers know them


class ProgramWarning(UserWarning):
    """What kfuse warns of, such as a name that looks like another."""


Tensor = namedtuple("Tensor", "name dtype shape updates")
Tensor.__doc__ = "An output: its name, type and shape, and the index of the input that it updates in place, or None."

EFFORTS = {"normal": kf.KF_NORMAL, "quick": kf.KF_QUICK, "full": kf.KF_FULL}
MATHS = {"default": kf.KF_MATH_DEFAULT, "strict": kf.KF_MATH_STRICT, "fast": kf.KF_MATH_FAST, "tf32": kf.KF_MATH_TF32}
# As kfuse calls types, and as the arrays' libraries do.
OUT_TYPES = {**arrays.TYPES, "bool": kf.KF_BOOL, "u8": kf.KF_U8, "i8": kf.KF_I8, "i32": kf.KF_I32, "i64": kf.KF_I64,
             "f16": kf.KF_F16, "bf16": kf.KF_BF16, "f32": kf.KF_F32, "f64": kf.KF_F64}


def fuse(text, *, effort="normal", trials=0, budget=0, strategy=None, seed=0, jobs=0, math="default", out_dtype=None,
         round_each_op=False, device=None, hot=False, exact=False, retune=False, no_tune=False, point=None, source=None):
    """A Function that computes the program `text`.

    effort         "quick", "normal" or "full": how many candidates are tried
    trials         candidates at most (0: by effort)
    budget         seconds for a search (0: 20)
    strategy       "auto", "grid", "random"; seed: of the strategy and of the data that kernels are judged with
    jobs           compile workers (0: by CPUs and memory)
    math           "default", "strict", "fast", "tf32"
    out_dtype      the type of all outputs, "bf16" or "bfloat16" (None: as inferred)
    round_each_op  round after every operation, as an eager framework does
    device         "cuda" or "cuda:1" runs host arrays there, by copies; else it is where the arrays are
    hot, exact, retune, no_tune, point, source
                   as the options of kfuse(1): timed in the cache; kept by the very shape; without stored results; without a
                   search; at this point alone; the name of the text in messages
    """
    return _function(text, tuple(sorted(locals().items())))


@functools.lru_cache(256)
def _function(text, options):
    return Function(text, **{name: value for name, value in options if name != "text"})


def choose(option, value, choices):
    if value not in choices:
        raise UsageError(f"{option} is {value!r}; choose {', '.join(filter(None, choices))}")
    return choices[value]


def encoded(text):
    return None if text is None else text.encode()


class Function:
    """A program and the kernels that it has become; made by fuse(), whose options it has."""

    def __init__(self, text, *, effort, trials, budget, strategy, seed, jobs, math, out_dtype, round_each_op, device, hot,
                 exact, retune, no_tune, point, source):
        if not isinstance(text, str):
            raise TypeError(f"a program is a text, not of {type(text).__qualname__}")
        for option, value, most in (("trials", trials, 2 ** 32), ("budget", budget, 1e9), ("seed", seed, 2 ** 64),
                                    ("jobs", jobs, 4096)):
            if not 0 <= value < most:
                raise UsageError(f"{option} is {value!r}; it is from 0 to {most:g}")
        self.text, self.device = text, device
        self._encoded, self._source = text.encode(), encoded(source)
        if "\0" in text:
            raise ProgramError("the program has a NUL character")
        self._tune = kf.KfTuneOptions(choose("effort", effort, EFFORTS), encoded(strategy), trials, budget, seed, jobs, hot,
                                      exact, retune, False, no_tune, encoded(point))
        self._problem = dict(math=choose("math", math, MATHS), round_each_op=round_each_op,
                             out_type=choose("out_dtype", out_dtype, {None: 0, **OUT_TYPES}))
        names = kf.session().text(kf.library().kf_program_names, self._encoded, len(self._encoded), self._source)
        self.inputs, self.params, self.outputs = map(tuple, (names["inputs"], names["params"], names["outputs"]))
        self.__signature__ = self._signature()
        self._forget()
        _functions.add(self)

    def _forget(self):
        """Without kernels: a new one, or in a child that was forked, which has none of its parent's threads."""
        self._kernels, self._tuning = OrderedDict(), threading.Lock()

    def _signature(self):
        kinds = inspect.Parameter
        try:
            given = [kinds(name, kinds.POSITIONAL_OR_KEYWORD) for name in self.inputs]
            return inspect.Signature(given + [kinds(name, kinds.KEYWORD_ONLY, default=None) for name in (*self.params, "out")])
        except ValueError:  # a name that Python keeps for itself
            return None

    def __repr__(self):
        return f"<kfuse.Function {self.text!r} of {', '.join(self.inputs)}>"

    def __call__(self, *given, out=None, **named):
        """Computes; see the module's description for arguments and results."""
        call = Call(self, given, named, out)
        return call.launch(self._kernel(call))

    def kernel(self, *given, out=None, **named):
        """The Kernel for such arguments, tuned but not launched."""
        return self._kernel(Call(self, given, named, out))

    # --- kernels by what they depend on

    def _kernel(self, call):
        return self._kernels.get(call.key) or self._make(call)

    def _make(self, call):
        with self._tuning:
            kernel = self._kernels.get(call.key)
            if kernel is None:
                kernel = Kernel(self, call)
                self._kernels[call.key] = kernel
                while len(self._kernels) > KEPT:
                    self._kernels.popitem(last=False)
        return kernel


_functions = weakref.WeakSet()


def _forget_kernels():
    for function in list(_functions):
        function._forget()


os.register_at_fork(after_in_child=_forget_kernels)


class Call:
    """The arguments of one call, bound: views of the inputs and of what is given as outputs."""

    def __init__(self, function, given, named, out):
        self.function = function
        values, params = bind(function, given, named)
        self.inputs = [arrays.view(value, name) for value, name in zip(values, function.inputs)]
        self.outs = None if out is None else [
            None if array is None else arrays.view(array, "out") for array in (out if isinstance(out, (tuple, list)) else [out])]
        if self.outs is not None and len(self.outs) != len(function.outputs):
            raise ValueError(f"out has {len(self.outs)} arrays, the program the outputs {', '.join(function.outputs)}")
        self.params = params
        self.device = self._place()
        self.stream = self._stream() if self.device != arrays.HOST else None
        outs = None if out is None else tuple([view and view.layout for view in self.outs])
        self.key = (tuple([view.layout for view in self.inputs]), self.device, params, outs)

    def _views(self):
        return self.inputs + [view for view in self.outs or () if view]

    def _place(self):
        views = self._views()
        device = views[0].device if views else arrays.HOST
        for view, name in zip(views, self.function.inputs + ("out",) * len(views)):
            if view.device != device:
                raise ValueError(f"{self.function.inputs[0]} is on {arrays.device_name(device)}, {name} on "
                                 f"{arrays.device_name(view.device)}")
        wanted = self.function.device
        if wanted and device != arrays.HOST and wanted not in ("cuda", arrays.device_name(device)):
            raise ValueError(f"the arrays are on {arrays.device_name(device)}, the option device is {wanted!r}")
        return device

    def _stream(self):
        """The caller's, None for the default one; what another stream writes is waited for."""
        views = self._views()
        stream = views[0].kind.stream(self.device) or views[0].stream or arrays.LEGACY
        for view in views:
            if view.stream not in (None, stream):
                arrays.driver().synchronise(self.device, view.stream)
        return None if stream == arrays.LEGACY else stream

    def launch(self, kernel):
        outputs = self._outputs(kernel)
        kernel.launch(self.inputs, outputs, self.stream)
        results = tuple([view.kind.finish(view, tensor.shape, self.stream) for view, tensor in zip(outputs, kernel.outputs)])
        return results[0] if len(results) == 1 else results

    def _outputs(self, kernel):
        views, kind = [], None
        for i, tensor in enumerate(kernel.outputs):
            view = self.outs[i] if self.outs else None
            if tensor.updates is not None:
                view = self.inputs[tensor.updates]
            elif view is None:
                kind = kind or self._kind()
                view = kind.empty(tensor.shape, kernel.codes[i], self.device)
            if view.readonly:
                raise ValueError(f"{tensor.name} is read-only")
            views.append(view)
        return views

    def _kind(self):
        """Of the results: that of the inputs."""
        kinds = {view.kind for view in self.inputs}
        if len(kinds) > 1:
            raise TypeError("the arrays are of several libraries: of which the results are to be is not said")
        return kinds.pop()


def bind(function, given, named):
    """Values in the order of the inputs, and the params as pairs."""
    inputs = function.inputs
    if len(given) > len(inputs):
        raise TypeError(f"{len(given)} arrays are given, the program has {len(inputs)} inputs: {', '.join(inputs)}")
    values = list(given)
    for name in inputs[len(given):]:
        if name not in named:
            raise TypeError(f"no array for {name!r}; the program's inputs are {', '.join(inputs)}")
        values.append(named[name])
    if len(given) + len(named) == len(inputs):
        taken = [name for name in inputs[:len(given)] if name in named]
        if not taken:
            return values, ()
    return values, bind_params(function, len(given), named)


def bind_params(function, positions, named):
    params = []
    for name in sorted(named):
        if name in function.inputs[:positions]:
            raise TypeError(f"{name!r} is given twice, by position and by name")
        if name in function.params:
            params.append((name, float(named[name])))
        elif name not in function.inputs:
            known = ", ".join(function.inputs + function.params)
            raise TypeError(f"the program has no input or param {name!r}; it has {known}")
    return tuple(params)


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


class Kernel:
    """A kernel for arrays of certain layouts on a certain device.

    outputs    a Tensor each
    workspace  bytes that a call's kernels hand each other, held for each stream
    """

    def __init__(self, function, call):
        lib, session = kf.library(), kf.session()
        self.text, self.device = function.text, call.device
        with session.lock:
            layouts, device, params, outs = call.key
            program = Program(session, function, layouts, params, device, outs)
            check_outs(call.outs, program.outputs)
            self._handle = search(session, program, function, call)
            kf.own(self, _closer(device), self._handle, program)
            self.workspace = lib.kf_kernel_result(self._handle).workspace
        if program.said:
            warnings.warn(program.said, ProgramWarning, stacklevel=6)
        self.outputs, self.codes = program.outputs, program.codes
        self._session, self._lock, self._on_gpu = session, session.lock, device != arrays.HOST
        copied = not self._on_gpu and (function.device or "cpu").startswith("cuda")
        self._launch = run_by_copies if copied else lib.kf_launch
        self._addresses = ctypes.c_void_p * max(len(layouts), 1), ctypes.c_void_p * len(self.outputs)

    def launch(self, inputs, outputs, stream):
        """Enqueues on views that fit; on the CPU it is done behind this."""
        of_inputs, of_outputs = self._addresses
        given, made = of_inputs(*[view.pointer for view in inputs]), of_outputs(*[view.pointer for view in outputs])
        with self._lock:
            entered = self._on_gpu and arrays.driver().enter(self.device)
            try:
                status = self._launch(self._handle, given, made, stream)
                if status != kf.KF_OK:
                    self._session.check(status)
            finally:
                if entered:
                    arrays.driver().leave()

    def report(self, form="text"):
        """What tuning found: "text", "json", or "phases" for where the time went."""
        form = choose("form", form, {"text": kf.KF_TEXT, "json": kf.KF_JSON, "phases": kf.KF_PHASES})
        with self._lock:
            return kf.library().kf_kernel_report(self._handle, form).decode()

    @property
    def result(self):
        """winner, time and eager_time (seconds a call), roof_fraction, speedup, max_ulp, candidates, compiled, cached,
        workspace; 0 where it was not measured."""
        result = kf.library().kf_kernel_result(self._handle)
        values = {name: getattr(result, name) for name, _ in kf.KfResult._fields_}
        return {**values, "winner": result.winner.decode()}

    @property
    def cached(self):
        return self.result["cached"]

    def __repr__(self):
        return f"<kfuse.Kernel {self.result['winner']} of {self.text!r} on {arrays.device_name(self.device)}>"


def search(session, program, function, call):
    """A kernel's handle. On a GPU what is in flight ends first, so that it is not timed."""
    if call.device != arrays.HOST and not function._tune.no_tune:
        arrays.driver().within(call.device, "cuCtxSynchronize")
    try:
        return kf.tune(session, program.handle, ctypes.byref(function._tune))
    except NoKernelError as failure:
        strided = [name for name, view in zip(function.inputs, call.inputs) if view.layout[2]]
        if not strided:
            raise
        raise NoKernelError(f"{failure}\n{', '.join(strided)}: not row-major; a copy that is may have a kernel") from None


def run_by_copies(handle, inputs, outputs, stream):
    """kf_launch for host arrays on a GPU."""
    return kf.library().kf_run(handle, inputs, outputs)


def _closer(device):
    """What closes a kernel: on a GPU in the context that its modules are loaded in."""
    close = kf.library().kf_kernel_close
    return close if device == arrays.HOST else functools.partial(arrays.driver().close, device, close)


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
    for view, tensor in zip(views or (), tensors):
        if view is not None:
            check_out(view, tensor)


def check_out(view, tensor):
    code, shape, strides = view.layout
    if tensor.updates is not None:
        raise ValueError(f"{tensor.name} updates an input in place: nothing else is given as its output")
    if arrays.NAMES[code] != tensor.dtype:
        raise TypeError(f"out is {arrays.NAMES[code]}, {tensor.name} is {tensor.dtype}")
    if shape != tensor.shape:
        raise ValueError(f"out has the shape {shape}, {tensor.name} has {tensor.shape}")
    if 0 not in shape and arrays.share_places(shape, strides):
        raise ValueError("elements of out share a place")


def gradient(text, wrt=(), floats=None):
    """The backward program of `text` by the inputs `wrt` (none: all floating ones): a dict of "program", its text,
    "cotangents", the name of each output's, and "results", the name of each input's. `floats` says which inputs are floating,
    by name, where that is not all."""
    names = [kf.KfTensor(name=name.encode(), type=kf.KF_F32 if floating else kf.KF_I32, rank=-1)
             for name, floating in (floats or {}).items()]
    problem = kf.KfProblem(inputs=(kf.KfTensor * len(names))(*names), input_count=len(names))
    by = (ctypes.c_char_p * len(wrt))(*[name.encode() for name in wrt])
    written = kf.session().text(kf.library().kf_program_grad, text.encode(), len(text.encode()), ctypes.byref(problem), by,
                                len(wrt), kf.KF_JSON)
    return {"program": written["program"], "cotangents": {pair["output"]: pair["name"] for pair in written["cotangents"]},
            "results": {pair["input"]: pair["name"] for pair in written["results"]}}


def torch_op(name, text, **options):
    """A custom operator of torch, "library::name", that computes `text` and has its derivative: it works under autograd,
    torch.compile and torch.export. Its arguments are the program's inputs, tensors, and its params, by keyword; options are
    those of fuse(). A program that updates an input in place has no derivative, and its operator mutates that argument.
    torch.compile compiles anew for new shapes. Tensors with gaps are copied where no kernel takes them, as in a product.
    The same name again gives the same operator, if the program is the same, and is a ValueError otherwise.

        bias_gelu = kfuse.torch_op("demo::bias_gelu", "gelu(x + b)")
        bias_gelu(x, b).sum().backward()
    """
    import kfuse_torch
    return kfuse_torch.torch_op(name, text, options)
