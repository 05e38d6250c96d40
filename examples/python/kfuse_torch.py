"""A program as a torch custom operator, and its backward program as another.

In: a name, a text. Out: an operator with a kernel (kfuse.Function), a fake kernel (shapes and types as kfuse infers them,
without a device) and a derivative. One idea: both directions are Functions; the backward one is an operator of its own, so
that torch.compile traces it, too."""
import functools
import json

import torch

import kfuse
import kfuse_arrays as arrays
import kfuse_library as kf


def torch_op(name, text, options):
    """kfuse.torch_op; see there."""
    function = kfuse.fuse(text, **options)
    updated = updated_inputs(text)
    operator = torch.library.custom_op(name, functools.partial(compute, function, updated), mutates_args=updated,
                                       schema=schema(function, updated, text))
    operator.register_fake(functools.partial(infer, function, updated))
    if not updated:
        register_derivative(operator, Derivative(name, function, options))
    return operator


# --- forward

def schema(function, updated, text):
    """(Tensor x, Tensor(a0!) m, *, float? eps=None) -> (Tensor, Tensor)"""
    tensors = [f"Tensor(a{i}!) {x}" if x in updated else f"Tensor {x}" for i, x in enumerate(function.inputs)]
    params = [f"float? {param}=None" for param in function.params]
    count = output_count(text) - len(updated)
    results = "()" if count == 0 else "Tensor" if count == 1 else "(" + ", ".join(["Tensor"] * count) + ")"
    return f"({', '.join(tensors + (['*'] + params if params else []))}) -> {results}"


@functools.lru_cache(None)
def described(text):
    """What the program gives, by the library: names of outputs and which inputs they update."""
    return kf.session().text(kf.library().kf_program_names, text.encode(), len(text.encode()), None)


def updated_inputs(text):
    return tuple(output["updates"] for output in described(text)["outputs"] if output["updates"])


def output_count(text):
    return len(described(text)["outputs"])
