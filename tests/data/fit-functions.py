#!/usr/bin/env python3
"""Prints the coefficients of registry/templates/prelude_cuda_math.h, each set with the relative error that it leaves
in exact arithmetic (pip install mpmath numpy). Minimax by Remez' exchange on a fine grid; coefficients are rounded to
f32 from the highest down, and those below fitted again each time, so that a rounding is made good by the rest.
"""
import struct

import numpy as np
from mpmath import mp, mpf

mp.dps = 40
LOG2E, LN2 = 1 / mp.log(2), mp.log(2)


def f32(value):
    return mpf(struct.unpack("f", struct.pack("f", float(value)))[0])


def grid(low, high, points=900):
    low, high = mpf(low), mpf(high)
    return [low + (high - low) * (1 - mp.cos(mp.pi * i / (points - 1))) / 2 for i in range(points)]


def alternating(error, wanted):
    """Where |error| is largest between changes of sign: `wanted` of them, weak ends dropped."""
    sign, peaks, begin = np.sign(error), [], 0
    for i in range(1, len(error) + 1):
        if i == len(error) or sign[i] != sign[begin]:
            peaks.append(begin + int(np.argmax(np.abs(error[begin:i]))))
            begin = i
    while len(peaks) > wanted:
        peaks.pop(0 if abs(error[peaks[0]]) < abs(error[peaks[-1]]) else -1)
    return peaks


def minimax(basis, target, weight):
    """Factors of the basis' columns that make the largest weighted error least, and that error."""
    n, points = len(basis), len(target)
    at = [round((points - 1) * (1 - np.cos(np.pi * i / n)) / 2) for i in range(n + 1)]
    for _ in range(20):
        rows = mp.matrix([[b[p] * weight[p] for b in basis] + [(-1) ** i] for i, p in enumerate(at)])
        solved = mp.lu_solve(rows, mp.matrix([target[p] * weight[p] for p in at]))
        factors = list(solved)[:n]
        rest = [(y - mp.fdot(factors, [b[i] for b in basis])) * w for i, (y, w) in enumerate(zip(target, weight))]
        error = np.array([float(r) for r in rest])
        peaks, worst = alternating(error, n + 1), np.max(np.abs(error))
        if len(peaks) <= n or peaks == at or worst < abs(solved[n]) * 1.001:
            break
        at = peaks
    return factors, worst


def rounded(basis, target, weight):
    """The same with factors of f32; the largest weighted error with them."""
    found, rest = [], list(target)
    for column in range(len(basis) - 1, -1, -1):
        factors, _ = minimax(basis[:column + 1], rest, weight)
        found.insert(0, f32(factors[-1]))
        rest = [y - found[0] * b for y, b in zip(rest, basis[column])]
    return polished(found, basis, rest, weight)


def polished(found, basis, rest, weight):
    """Factors, alone and in pairs, moved by units in their last places while that helps."""
    units = [mpf(2) ** (mp.floor(mp.log(abs(c), 2)) - 23) for c in found]
    columns = np.array([[float(u * y * w) for y, w in zip(b, weight)] for u, b in zip(units, basis)])
    error, steps = np.array([float(y * w) for y, w in zip(rest, weight)]), np.zeros(len(found), dtype=int)
    moves = [np.eye(len(found), dtype=int)[i] * a for i in range(len(found)) for a in (-1, 1)]
    moves += [p + q for p in moves for q in moves]
    while True:
        worst, best = min((np.max(np.abs(error - m @ columns)), i) for i, m in enumerate(moves))
        if worst >= np.max(np.abs(error)):
            return [c + int(n) * u for c, n, u in zip(found, steps, units)], np.max(np.abs(error))
        error, steps = error - moves[best] @ columns, steps + moves[best]


def show(name, found, error):
    print(f"{name}: {mp.nstr(mpf(error), 3)} = {mp.nstr(mpf(error) * 2**24, 3)} / 2^24")
    print("    " + ", ".join(repr(float(np.float32(float(c)))) + "f" for c in found))


def relative(name, function, points, powers):
    target = [function(x) for x in points]
    show(name, *rounded([[x**j for x in points] for j in powers], target, [1 / y for y in target]))


def scaled_erfc(z):
    return mp.exp(z * z) * mp.erfc(z)


# exp(z^2) erfc(z) = t Q(t), t = 1 / (1 + z / 2). The kernel's -z^2 is n * f32(ln 2) + delta, of which n * ln 2 is raised:
# what f32's ln 2 is off by grows with z^2 and is part of the fit.
def erfc():
    ts, off = grid(1 / (1 + mpf("10.06") / 2), 1), f32(LN2) / LN2 - 1
    zs = [2 / t - 2 for t in ts]
    target = [scaled_erfc(z) * mp.exp(-off * z * z) for z in zs]
    show("k_erfc, t Q(t)", *rounded([[t**j for t in ts] for j in range(1, 10)], target, [1 / y for y in target]))


# For gelu as ops.kf has it, with s = f32(sqrt(1/2)): h = |x| / 2, t = 1 / (1 + s h), w = h t,
# 2^(x x f32(log2(e) / 2)) erfc(s |x|) = t (1 + w P(w)).
def gelu():
    root, power = f32(mp.sqrt(mpf(1) / 2)), f32(LOG2E / 2)
    ts = grid(1 / (1 + root * mpf("7.12")), 1)
    xs = [(1 / t - 1) / root * 2 for t in ts]
    target = [mp.erfc(x * root) * mp.power(2, power * x * x) for x in xs]
    basis = [[t * (x / 2 * t) ** j for x, t in zip(xs, ts)] for j in range(1, 9)]
    show("k_gelu, P(w)", *rounded(basis, [y - t for y, t in zip(target, ts)], [1 / y for y in target]))


# erfc(z) = t 2^(q(t) - z^2 f32(log2 e)).
def near_erfc():
    ts = grid(1 / (1 + mpf("10.06") / 2), 1)
    zs = [2 / t - 2 for t in ts]
    target = [mp.log(mp.erfc(z) / t, 2) + z * z * f32(LOG2E) for z, t in zip(zs, ts)]
    show("k_near_erfc, q(t)", *rounded([[t**j for t in ts] for j in range(6)], target, [LN2] * len(ts)))


# erf(x) = x P(x^2) below the bound, else 1 - 2^q(x) to x = 4, beyond which that is 1.
def near_erf(bound="0.82"):
    xs = grid("1e-6", bound)
    relative("k_near_erf, x P(x^2)", mp.erf, xs, (1, 3, 5, 7))
    xs = grid(bound, 4)
    weight = [LN2 * mp.erfc(x) / mp.erf(x) for x in xs]
    target = [mp.log(mp.erfc(x), 2) for x in xs]
    show("k_near_erf, q(x)", *rounded([[x**j for x in xs] for j in range(4)], target, weight))


def quotient(function, first):
    return lambda x: function(x) / x if x else mpf(first)


def near_small():
    squares = grid(0, mpf(1) / 9)
    relative("k_near_tanh, |x| < 1/3, tanh(x) = x P(x^2)", lambda s: quotient(mp.tanh, 1)(mp.sqrt(s)), squares, range(3))
    xs = grid(-mpf(1) / 32, mpf(1) / 32)
    relative("k_near_log, |f| < 1/32, log(1 + f) = f P(f)", quotient(mp.log1p, 1), xs, range(3))
    relative("k_near_log2, the same", quotient(lambda x: mp.log1p(x) * LOG2E, LOG2E), xs, range(3))
    xs = grid(-mpf(1) / 16, mpf(1) / 16)
    relative("k_near_expm1, |x| < 1/16, expm1(x) = x P(x)", quotient(mp.expm1, 1), xs, range(3))


if __name__ == "__main__":
    erfc()
    gelu()
    near_erfc()
    near_erf()
    near_small()
