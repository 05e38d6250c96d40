"""A program as a torch custom operator, and its backward program as another.

In: a name, a text. Out: an operator with a kernel (kfuse.Function), a fake kernel (shapes and types as kfuse infers them,
without a device) and a derivative. One idea: both directions are Functions, and the backward one is an operator of its own,
NAME_backward, so that torch.compile sees it, too."""
import functools
import re
import threading
import weakref

import torch

import kfuse
import kfuse_arrays as arrays
import kfuse_checks as checks
import kfuse_library as kf
from kfuse_program import Program


_operators = {}  # by name: torch would replace one under those that still call it
_making = threading.Lock()


def torch_op(name, text, options):
    """kfuse.torch_op; see there."""
    if not isinstance(name, str):
        raise TypeError(f"an operator's name is a text, not of {arrays.kind_name(name)}")
    function = kfuse.fuse(text, **options)
    with _making:
        if name not in _operators:
            check_name(name)
            _operators[name] = new_operator(name, function, options)
    known = _operators[name].function
    if (known.text, known.options) != (function.text, function.options):
        raise ValueError(f"the operator '{name}' is '{known.text}' already, with the options it has: another program needs "
                         "another name")
    return _operators[name]


def check_name(name):
    if not re.fullmatch(r"[A-Za-z_]\w*::[A-Za-z_]\w*", name):
        raise ValueError(f"an operator's name is NAMESPACE::NAME, not '{name}'")
    namespace, _, own = name.partition("::")
    if hasattr(getattr(torch.ops, namespace), own):
        raise ValueError(f"torch has an operator '{name}' already: take another name")


class Operator(torch.library.CustomOpDef):
    """torch's, which binds arguments as a Function does, refuses what torch would compute without its derivative, and is
    copied and pickled by its name."""

    def __call__(self, /, *given, **named):
        if not torch.compiler.is_compiling():
            given, params = checks.bind(self.function, given, named)
            named = dict(params)
            for name, tensor in zip(self.function.inputs, given):
                self._check(name, tensor)
        if self.updated and torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (*given, *named.values())
                                                            if isinstance(tensor, torch.Tensor)):
            raise ValueError(f"{self.name} updates {', '.join(self.updated)} in place, which has no derivative, but an argument "
                             "requires grad: call it under torch.no_grad()")
        return super().__call__(*given, **named)

    def _check(self, name, tensor):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name} is of {arrays.kind_name(tensor)}, no tensor; {self.name} is an operator of torch")
        if arrays.has_tangent(tensor):
            raise ValueError(f"{name} has a tangent, but {self.name} no forward-mode derivative")

    def __reduce__(self):
        return torch_op, (self.name, self.function.text, self.options)


def new_operator(name, function, options):
    updated = tuple(output for output in function.outputs if output in function.inputs)
    results = [i for i, output in enumerate(function.outputs) if output not in updated]

    def compute(*tensors, **params):
        return chosen(run(function, tensors, params), results)

    def infer(*tensors, **params):
        return chosen(fake(function, tensors, params), results)

    operator = torch.library.custom_op(name, compute, mutates_args=updated, schema=schema(function, updated, len(results)))
    operator.register_fake(infer)
    if not updated:
        Derivative(name, function, options).register(operator)
    operator.__class__ = Operator
    operator.name, operator.function, operator.options, operator.updated = name, function, options, updated
    return operator


def schema(function, updated, count):
    """(Tensor x, Tensor(a1!) m, *, float? eps=None) -> (Tensor, Tensor)"""
    tensors = [f"Tensor(a{i}!) {x}" if x in updated else f"Tensor {x}" for i, x in enumerate(function.inputs)]
    params = [f"float? {param}=None" for param in function.params]
    result = "Tensor" if count == 1 else "(" + ", ".join(["Tensor"] * count) + ")"
    return f"({', '.join(tensors + (['*'] + params if params else []))}) -> {result}"


def chosen(outputs, results):
    """What an operator returns: of all outputs those that update no argument."""
    kept = tuple(outputs[i] for i in results)
    return kept[0] if len(kept) == 1 else kept or None


def given(params):
    return {name: value for name, value in params.items() if value is not None}


_dense = weakref.WeakSet()  # Functions that have met a layout without a kernel: their inputs are made row-major


def run(function, tensors, params):
    """The outputs. Operands of a product may have gaps in torch, and an expanded cotangent is one: these are copied."""
    updates = set(function.outputs) & set(function.inputs)
    strided = not updates and not all(tensor.is_contiguous() for tensor in tensors)
    with torch.no_grad():
        try:
            if not (strided and function in _dense):
                outputs = function(*tensors, **given(params))
                return outputs if isinstance(outputs, tuple) else (outputs,)
        except kfuse.NoKernelError:
            if not strided:
                raise
            _dense.add(function)
        return run(function, [tensor.contiguous() for tensor in tensors], params)


def fake(function, tensors, params):
    """Empty tensors of the outputs' shapes and types, on the device of the inputs."""
    for name, tensor in zip(function.inputs, tensors):
        if tensor.device != tensors[0].device:
            raise ValueError(f"{function.inputs[0]} is on {tensors[0].device}, {name} on {tensor.device}")
    layouts = [(arrays.torch_type(tensor.dtype, name), tuple(map(int, tensor.shape)), None)
               for name, tensor in zip(function.inputs, tensors)]
    session = kf.session()
    with session.lock:
        program = Program(session, function, layouts, tuple(given(params).items()))
    return [torch.empty(output.shape, dtype=getattr(torch, output.dtype), device=tensors[0].device)
            for output in program.outputs]


# --- the derivative

class Derivative:
    """Of an operator's program: a backward program for each set of inputs that it is wanted by, written when it is first
    wanted. A set is a text, "x,b" or, where n is no floating input, "x,b;n"."""

    def __init__(self, name, function, options):
        self.name, self.function = name, function
        self.options = {**options, "out_dtype": None, "point": None, "source": f"<backward of {name}>"}
        self.program = functools.lru_cache(None)(self._program)

    def _program(self, wanted):
        """The backward Function, and the name of each output's cotangent and of each input's."""
        wrt, _, others = wanted.partition(";")
        floats = {name: name not in others.split(",") for name in self.function.inputs}
        written = kfuse.gradient(self.function.text, wrt.split(","), floats)
        return kfuse.fuse(written["program"], **self.options), written["cotangents"], written["results"]

    def read(self, wanted):
        """What the backward program reads: indices of outputs whose cotangents, and of inputs which it takes."""
        backward, cotangents, _ = self.program(wanted)
        outputs = [i for i, name in enumerate(self.function.outputs) if cotangents.get(name) in backward.inputs]
        return outputs, [i for i, name in enumerate(self.function.inputs) if name in backward.inputs]

    def arguments(self, wanted, cotangents, inputs, names, values):
        """Of the backward Function, in its order."""
        backward, cotangent_names, _ = self.program(wanted)
        outputs, read = self.read(wanted)
        tensors = {cotangent_names[self.function.outputs[i]]: tensor for i, tensor in zip(outputs, cotangents)}
        tensors.update((self.function.inputs[i], tensor) for i, tensor in zip(read, inputs))
        params = {name: value for name, value in zip(names, values) if name in backward.params}
        return [tensors[name] for name in backward.inputs], params

    def in_order(self, wanted, outputs):
        """The cotangents of the inputs, in the order of the set."""
        backward, _, results = self.program(wanted)
        return [outputs[backward.outputs.index(results[name])] for name in wanted.partition(";")[0].split(",")]

    def register(self, operator):
        def compute(cotangents, inputs, wanted, names, values):
            tensors, params = self.arguments(wanted, cotangents, inputs, names, values)
            return self.in_order(wanted, run(self.program(wanted)[0], tensors, params))

        def infer(cotangents, inputs, wanted, names, values):
            tensors, params = self.arguments(wanted, cotangents, inputs, names, values)
            return self.in_order(wanted, fake(self.program(wanted)[0], tensors, params))

        backward = torch.library.custom_op(
            self.name + "_backward", compute, mutates_args=(),
            schema="(Tensor[] cotangents, Tensor[] inputs, str wanted, str[] names, float[] values) -> Tensor[]")
        backward.register_fake(infer)
        operator.register_autograd(functools.partial(self._derive, backward), setup_context=self._setup())

    def _setup(self):
        def keep(context, inputs, params):
            others = [name for name, x in zip(self.function.inputs, inputs) if not x.dtype.is_floating_point]
            wrt = [name for name, x, needed in zip(self.function.inputs, inputs, context.needs_input_grad)
                   if needed and x.dtype.is_floating_point]
            context.wanted = ",".join(wrt) + (";" + ",".join(others) if others else "")
            context.params = given(params)
            context.types = [x.dtype for x in inputs]
            context.save_for_backward(*[inputs[i] for i in self.read(context.wanted)[1]])

        if self.function.params:
            return lambda ctx, inputs, keyword_only_inputs, output: keep(ctx, inputs, keyword_only_inputs)
        return lambda ctx, inputs, output: keep(ctx, inputs, {})

    def _derive(self, operator, context, *cotangents):
        wanted, params = context.wanted, context.params
        used = [cotangents[i] for i in self.read(wanted)[0]]
        results = operator(used, list(context.saved_tensors), wanted, list(params), list(params.values()))
        by_name = dict(zip(wanted.partition(";")[0].split(","), results))
        return tuple(None if name not in by_name else by_name[name].to(dtype)
                     for name, dtype in zip(self.function.inputs, context.types))
