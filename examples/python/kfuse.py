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
program with several outputs gives a tuple of them, in the order of Function.outputs. An output that updates an input in place
(`x = x * 2`) is that input's array, updated. `out=` gives an array to write to, or for several outputs a tuple of arrays or
None; its type and shape are those of the output, its strides any, and it overlaps no input:

    f(x, g, out=y)

Results have no derivative: torch's tensors that require grad, or have a tangent, are refused (torch_op has derivatives), and
autograd is told of those that are written. Subclasses of arrays are read as the plain arrays that they are in memory.

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
Ctrl-C ends a search of the main thread; one in another ends by its budget.

Functions, and operators of torch_op, are copied and pickled by their text and options; a process that was forked has kernels
of its own.

Errors

    TypeError                            no array or number, another type than kfuse has, arguments that are missing, unknown or
                                         too many, an option of another type
    ValueError                           arrays on several devices, outputs that do not fit or are read-only, a derivative that
                                         would get lost
    ProgramError (a ValueError)          the program or a shape does not work: kfuse's message, with its caret
    UsageError (a ValueError)            an option's value is unknown
    NoKernelError                        nothing covers the program, or every candidate failed
    SetupError (a RuntimeError)          no library, driver or compiler: the message says what is missing

The last four are kfuse.Error. What kfuse warns of, that nothing can be stored among it, is a ProgramWarning.
"""
from __future__ import annotations

import ctypes
import functools
import inspect
import json
import os
import reprlib
import threading
import warnings
import weakref
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

import kfuse_arrays as arrays
import kfuse_checks as checks
import kfuse_library as kf
from kfuse_program import Program, Tensor, check_outs, names_of, out_name
from kfuse_library import Error, NoKernelError, ProgramError, SetupError, UsageError

__all__ = ["fuse", "gradient", "torch_op", "Function", "Kernel", "Tensor", "Error", "ProgramError", "UsageError",
           "NoKernelError", "SetupError", "ProgramWarning"]

KEPT = 128  # kernels of one Function; the store answers for an older one in milliseconds


for _public in (Error, ProgramError, UsageError, NoKernelError, SetupError, Tensor):
    _public.__module__ = __name__  # as callers know them


class ProgramWarning(UserWarning):
    """What kfuse warns of, such as a name that looks like another, or that nothing can be stored."""


def fuse(text: str, *, effort: str = "normal", trials: int = 0, budget: float = 0, stop_at: float = 0,
         strategy: str | None = None, seed: int = 0, jobs: int = 0, math: str = "default", out_dtype: Any = None,
         round_each_op: bool = False, device: str | None = None, hot: bool = False, exact: bool = False, retune: bool = False,
         no_tune: bool = False, point: str | None = None, source: str | None = None) -> Function:
    """A Function that computes the program `text`.

    effort         "quick", "normal" or "full": how many candidates are tried
    trials         candidates at most (0: by effort)
    budget         seconds for a search (0: 20)
    stop_at        the part of the roof at which a search ends, such as 0.9 (0: nearly all of it)
    strategy       "auto", "grid", "random"; seed: of the strategy and of the data that kernels are judged with
    jobs           compile workers (0: by CPUs and memory)
    math           "default", "strict", "fast", "tf32"
    out_dtype      the type of all outputs, "bf16", "bfloat16" or a type of NumPy, torch or JAX (None: as inferred)
    round_each_op  round after every operation, as an eager framework does
    device         "cuda" or "cuda:1" runs host arrays there, by copies; else it is where the arrays are
    hot, exact, retune, no_tune, point, source
                   as the options of kfuse(1): timed in the cache; kept by the very shape; without stored results; without a
                   search; at this point alone; the name of the text in messages
    """
    given = locals()
    del given["text"]
    checks.program(text)
    return _function(text, checks.options(given))


@functools.lru_cache(256)
def _function(text, options):
    return Function(text, options)


class Function:
    """A program and the kernels that it has become; made by fuse(), whose options it has. It is copied and pickled by its text
    and options: kernels stay in their process."""

    text: str
    inputs: tuple[str, ...]  # names, in the order of positions
    params: tuple[str, ...]
    outputs: tuple[str, ...]

    def __init__(self, text, options):
        self.text, self.options = text, options
        given = dict(options)
        texts = {option: checks.encoded(option, given.pop(option)) for option in ("source", "strategy", "point")}
        self._encoded, self._source, self.device = checks.program(text), texts.pop("source"), given.pop("device")
        self._problem = dict(math=checks.MATHS[given.pop("math")], round_each_op=given.pop("round_each_op"),
                             out_type=checks.OUT_TYPES.get(given.pop("out_dtype"), kf.KF_PLAIN_TYPE))
        self._tune = kf.KfTuneOptions(effort=checks.EFFORTS[given.pop("effort")], **texts, **given)
        names = names_of(text, self._source)
        self.inputs, self.params, self.outputs = map(tuple, (names["inputs"], names["params"], names["outputs"]))
        if not self.inputs:
            raise ProgramError(f"the program {text!r} reads no input, so that its outputs have no shape")
        self._updated = [self.inputs.index(name) for name in self.outputs if name in self.inputs]
        self.__signature__ = self._signature()
        self._forget()
        _functions.add(self)

    def __reduce__(self):
        return _function, (self.text, self.options)

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
        return f"<kfuse.Function {shortened(self.text)} of {', '.join(self.inputs)}>"

    def __call__(self, /, *given: Any, out: Any = None, **named: Any) -> Any:
        """Computes; see the module's description for arguments and results."""
        call = Call(self, given, named, out)
        return call.launch(self._kernel(call))

    # torch.compile breaks its graph here; with fullgraph=True it says this.
    __call__._torchdynamo_disable = True
    __call__._torchdynamo_disable_msg = "a kfuse.Function is no operator of torch: kfuse.torch_op makes one"

    def kernel(self, /, *given: Any, out: Any = None, **named: Any) -> Kernel:
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


def shortened(text):
    """For a repr."""
    short = reprlib.Repr()
    short.maxstring = 100
    return short.repr(text)


_functions = weakref.WeakSet()


def _forget_kernels():
    for function in list(_functions):
        function._forget()


os.register_at_fork(after_in_child=_forget_kernels)


class Call:
    """The arguments of one call, bound: views of the inputs and of what is given as outputs."""

    def __init__(self, function, given, named, out):
        self.function = function
        values, self.params = checks.bind(function, given, named)
        self.inputs = [arrays.view(value, name) for value, name in zip(values, function.inputs)]
        self.outs = None if out is None else self._outs(out)
        self._check_written()
        self.device = self._place()
        self.stream = self._stream() if self.device != arrays.HOST else None
        outs = None if out is None else tuple([view and view.layout for view in self.outs])
        params = self.params and tuple([(name, value.hex()) for name, value in self.params])  # -0 is another than 0, NaN is NaN
        self.key = (tuple([view.layout for view in self.inputs]), self.device, params, outs)

    def _outs(self, out):
        """Views of what is given as outputs, or None."""
        given, outputs = out if isinstance(out, (tuple, list)) else (out,), self.function.outputs
        if len(given) != len(outputs):
            raise ValueError(f"out= gives {len(given)} arrays for the outputs {', '.join(outputs)}; one, or None, is for each")
        return [None if array is None else arrays.view(array, out_name(i, len(given))) for i, array in enumerate(given)]

    def _check_written(self):
        for i in self.function._updated:
            if self.inputs[i].readonly:
                raise ValueError(f"{self.function.inputs[i]} is read-only, but the program updates it in place")
        for i, view in enumerate(self.outs or ()):
            if view and view.readonly:
                raise ValueError(f"{out_name(i, len(self.outs))} is read-only")

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
            views.append(view)
        return views

    def _kind(self):
        """Of the results: that of the inputs."""
        kinds = {view.kind: name for name, view in zip(self.function.inputs, self.inputs)}
        if len(kinds) > 1:
            several = ", ".join(f"{name} of {arrays.kind_name(self.inputs[self.function.inputs.index(name)].array)}"
                                for name in kinds.values())
            raise TypeError(f"the arrays are of several libraries, {several}: give out=, or convert them")
        return next(iter(kinds))


FORMS = {"text": kf.KF_TEXT, "json": kf.KF_JSON, "phases": kf.KF_PHASES}


class Kernel:
    """A kernel for arrays of certain layouts on a certain device.

    outputs    a Tensor each
    workspace  bytes that a call's kernels hand each other, held for each stream
    """

    def __init__(self, function, call):
        lib, session = kf.library(), kf.session()
        self.text, self.device = function.text, call.device
        with session.lock:
            layouts, device, _, outs = call.key
            program = Program(session, function, layouts, call.params, device, outs)
            check_outs(call.outs, program.outputs)
            self._handle = search(session, program, function, call)
            kf.own(self, _closer(device), self._handle, program)
            self.workspace = lib.kf_kernel_result(self._handle).workspace
        self.outputs, self.codes = program.outputs, program.codes
        self._session, self._lock, self._on_gpu = session, session.lock, device != arrays.HOST
        copied = not self._on_gpu and (function.device or "cpu").startswith("cuda")
        self._launch = run_by_copies if copied else lib.kf_launch
        self._addresses = ctypes.c_void_p * len(layouts), ctypes.c_void_p * len(self.outputs)
        for said in program.said, self._store_note():
            if said:
                warnings.warn(said, ProgramWarning, stacklevel=5)  # at who calls a Function

    def __reduce__(self):
        raise TypeError("a kfuse.Kernel stays in its process and is not copied: pickle or copy its Function")

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

    def report(self, form: str = "text") -> str:
        """What tuning found: "text", "json", or "phases" for where the time went."""
        code = FORMS[checks.choose("form", form, FORMS)]
        with self._lock:
            return kf.library().kf_kernel_report(self._handle, code).decode(errors="replace")

    def _store_note(self):
        note = json.loads(self.report("json")).get("store_note")
        return note and f"nothing is stored, so that each process tunes anew: {note}"

    @property
    def result(self) -> dict[str, Any]:
        """winner, time and eager_time (seconds a call), roof_fraction, speedup, max_ulp, candidates, compiled, cached,
        workspace; 0 where it was not measured."""
        result = kf.library().kf_kernel_result(self._handle)
        values = {name: getattr(result, name) for name, _ in kf.KfResult._fields_}
        return {**values, "winner": result.winner.decode()}

    @property
    def cached(self) -> bool:
        """Whether the store answered."""
        return self.result["cached"]

    def __repr__(self):
        return f"<kfuse.Kernel {self.result['winner']} of {shortened(self.text)} on {arrays.device_name(self.device)}>"


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


def gradient(text: str, wrt: str | Iterable[str] = (), floats: Mapping[str, bool] | None = None) -> dict[str, Any]:
    """The backward program of `text` by the input or inputs `wrt` (none: all floating ones): a dict of "program", its text,
    "cotangents", the name of each output's, and "results", the name of each input's. `floats` says which inputs are floating,
    by name, where that is not all."""
    if not isinstance(floats or {}, Mapping):
        raise TypeError(f"floats is of {arrays.kind_name(floats)}; it is a dict, from names of inputs to True or False")
    wrt, floats = [wrt] if isinstance(wrt, str) else list(wrt), dict(floats or {})
    inputs, encoded = names_of(text)["inputs"], text.encode()
    for name in (*wrt, *floats):
        if name not in inputs:
            raise ProgramError(checks.unknown(name, inputs, "input"))
    names = [kf.KfTensor(name=name.encode(), type=kf.KF_F32 if floating else kf.KF_I32, rank=-1)
             for name, floating in floats.items()]
    problem = kf.KfProblem(inputs=(kf.KfTensor * len(names))(*names), input_count=len(names))
    by = (ctypes.c_char_p * len(wrt))(*[name.encode() for name in wrt])
    written = kf.session().text(kf.library().kf_program_grad, encoded, len(encoded), ctypes.byref(problem), by, len(wrt),
                                kf.KF_JSON)
    return {"program": written["program"], "cotangents": {pair["output"]: pair["name"] for pair in written["cotangents"]},
            "results": {pair["input"]: pair["name"] for pair in written["results"]}}


def torch_op(name: str, text: str, **options: Any) -> Any:
    """A custom operator of torch, "library::name", that computes `text` and has its derivative: it works under autograd,
    torch.compile and torch.export. Its arguments are the program's inputs, tensors, and its params, by keyword; options are
    those of fuse(). A program that updates an input in place has no derivative, and its operator mutates that argument: it is
    called under torch.no_grad() where tensors require grad. There are no forward-mode and no second derivatives.
    torch.compile compiles anew for new shapes. Tensors with gaps are copied where no kernel takes them, as in a product.
    The same name again gives the same operator, if the program is the same, and is a ValueError otherwise.

        bias_gelu = kfuse.torch_op("demo::bias_gelu", "gelu(x + b)")
        bias_gelu(x, b).sum().backward()
    """
    import kfuse_torch
    return kfuse_torch.torch_op(name, text, options)
