"""What a caller gives besides arrays: a program's text, options, names, numbers.

In: values of any type. Out: these as kfuse.h has them, or as a Function keeps them. One idea: what is wrong is told where it
was given and beside what would be right, by the exception that Python has for it: TypeError for another type, ValueError
for another value."""
import difflib
import numbers

import kfuse_arrays as arrays
import kfuse_library as kf
from kfuse_library import ProgramError, UsageError

EFFORTS = {"normal": kf.KF_NORMAL, "quick": kf.KF_QUICK, "full": kf.KF_FULL}
MATHS = {"default": kf.KF_MATH_DEFAULT, "strict": kf.KF_MATH_STRICT, "fast": kf.KF_MATH_FAST, "tf32": kf.KF_MATH_TF32}
# As kfuse calls types, and as the arrays' libraries do.
OUT_TYPES = {**arrays.TYPES, "bool": kf.KF_BOOL, "u8": kf.KF_U8, "i8": kf.KF_I8, "i32": kf.KF_I32, "i64": kf.KF_I64,
             "f16": kf.KF_F16, "bf16": kf.KF_BF16, "f32": kf.KF_F32, "f64": kf.KF_F64}


def encoded(what, value, error=UsageError):
    """A text as C takes it; None stays."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"{what} is a text, not of {arrays.kind_name(value)}")
    if "\0" in value:
        raise error(f"{what} has a NUL character")
    try:
        return value.encode()
    except UnicodeEncodeError as failure:
        raise error(f"{what} is no text: {failure}") from None


def program(text):
    if text is None:
        raise TypeError("a program is a text, not of NoneType")
    return encoded("a program", text, ProgramError)


# --- options of fuse(): each is checked and comes out hashable, so that a Function can be kept by them

def choose(option, value, choices):
    if not isinstance(value, str):
        raise TypeError(f"{option} is {value!r}, no text; choose {', '.join(choices)}")
    if value not in choices:
        raise UsageError(f"{option} is {value!r}; choose {', '.join(choices)}")
    return value


def whole(option, value, most):
    return int(_between(option, value, most, numbers.Integral, "a whole number"))


def real(option, value, most):
    return float(_between(option, value, most, numbers.Real, "a number"))


def _between(option, value, most, kind, kind_name):
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{option} is {value!r}, of {arrays.kind_name(value)}; it is {kind_name} from 0 to {most}")
    if not 0 <= value <= most:
        raise UsageError(f"{option} is {value!r}; it is from 0 to {most}")
    return value


def flag(option, value, _):
    if not isinstance(value, bool):
        raise TypeError(f"{option} is {value!r}, of {arrays.kind_name(value)}; it is True or False")
    return value


def word(option, value, _):
    encoded(option, value)
    return value


def dtype(option, value, choices):
    """A type's name, which types of NumPy, torch and JAX stand for."""
    if value is None:
        return None
    name = value if isinstance(value, str) else getattr(value, "name", None) or getattr(value, "__name__", None)
    return choose(option, name or str(value).removeprefix("torch."), choices)


CHECKS = {"effort": (choose, EFFORTS), "math": (choose, MATHS), "out_dtype": (dtype, OUT_TYPES), "jobs": (whole, 4096),
          "trials": (whole, 2 ** 32 - 1), "seed": (whole, 2 ** 64 - 1), "budget": (real, 10 ** 9), "stop_at": (real, 1),
          **dict.fromkeys(("strategy", "device", "point", "source"), (word, None)),
          **dict.fromkeys(("round_each_op", "hot", "exact", "retune", "no_tune"), (flag, None))}


def options(given):
    """Pairs in the order of their names."""
    pairs = []
    for option in sorted(given):
        check, known = CHECKS[option]
        pairs.append((option, check(option, given[option], known)))
    return tuple(pairs)


# --- arguments of a call: which is which

def bind(function, given, named):
    """Values in the order of the inputs, and the params as pairs."""
    rest = function.inputs[len(given):]
    if len(given) > len(function.inputs) or not all([name in named for name in rest]):
        raise _unbound(function, given, named)
    values = [*given, *[named[name] for name in rest]]
    if len(named) == len(rest):
        return values, ()
    _check_names(function, len(given), named)
    return values, tuple([(name, number(name, named[name])) for name in sorted(named)
                          if name in function.params and named[name] is not None])


def _check_names(function, positions, named):
    for name in named:
        if name in function.inputs[:positions]:
            raise TypeError(f"{name!r} is given twice, by position and by name")
        if name not in function.inputs + function.params:
            raise TypeError(unknown(name, function.inputs + function.params, "input or param"))


def _unbound(function, given, named):
    """What is wrong with arguments that do not fit the inputs."""
    _check_names(function, len(given), named)
    inputs = ", ".join(function.inputs)
    if len(given) > len(function.inputs):
        params = f"; params are given by name: {', '.join(function.params)}" if function.params else ""
        return TypeError(f"{len(given)} arrays are given, the program's inputs are {inputs}{params}")
    missing = ", ".join(repr(name) for name in function.inputs[len(given):] if name not in named)
    return TypeError(f"no array for {missing}; the program's inputs are {inputs}")


def unknown(name, known, what):
    """A message about a name."""
    close = difflib.get_close_matches(str(name), known, 1)
    guess = f"; did you mean {close[0]!r}?" if close else ""
    return f"the program has no {what} {name!r}; it has {', '.join(known)}{guess}"


def number(name, value):
    """A param's. A text is none, and a tensor that requires grad would lose it."""
    if getattr(value, "requires_grad", False):
        raise ValueError(f"the param {name!r} requires grad, which params do not give: make it an input, or detach() it")
    try:
        if not isinstance(value, (str, complex)):
            found = complex(value)  # float() would drop half of what NumPy has
            if found.imag == 0:
                return found.real
    except OverflowError:
        raise ValueError(f"the param {name!r} is too large for a double") from None
    except (TypeError, ValueError):
        pass
    raise TypeError(f"the param {name!r} is of {arrays.kind_name(value)}, no number")
