/* For tests of products with an epilogue: programs of every layout and kind. Inputs whose type is not
 * said are of the type under test. */
#ifndef TEST_SPLICED_H
#define TEST_SPLICED_H

#include "fused.h"

static const char *const spliced_programs[][2] = {
    {"x @ w", "x=37x40 w=40x264"},
    {"gelu(x @ w + b) + res", "x=37x40 w=40x264 b=264 res=37x264"},
    {"param eps = 2; relu(x @ w) * c + s * eps", "x=33x70 w=70x40 c=33x1 s=scalar"},
    {"h = x @ w; y = h * h + b.T; return h, y", "x=20x33 w=33x17 b=17x20"},
    {"r = r + x @ w", "x=19x24 w=24x72 r=19x72"},
    {"i8(x @ w + m)", "x=9x16 w=16x136 m=9x136:i8"},
    {"f32(x @ w) + r", "x=40x36 w=36x64 r=40x64:f32"},
    {"tanh(x @ w * res + b) * sigmoid(x @ w) + 0.5 * res", "x=19x24 w=24x72 b=72 res=19x72"},
    {"x @ w * log1p(f32(3))", "x=9x16 w=16x24"},
    {"x @ w.T + b", "x=37x40 w=136x40 b=136"},
    {"relu(x.T @ w)", "x=40x72 w=40x48"},
    {"x.T @ w.T", "x=33x24 w=40x33"},
    {"relu(x @ w) + b", "x=3x17x40 w=3x40x24 b=24"},
    {"x @ w.T * s + m", "x=2x1x9x32 w=3x16x32 s=3x1x1 m=9x16"},
    {"x @ w", "x=2x5x24 w=24x40"},
    {"w @ x", "w=16x24 x=3x24x40"},
    {"silu(x @ u) * (x @ v)", "x=37x40 u=40x136 v=40x136"},
    {"silu(x.T @ u.T) * (x.T @ v.T) + b", "x=2x40x24 u=2x64x40 v=2x64x40 b=2x1x64"},
    {"x @ w + r", "x=37x40@1,37 w=40x136 r=37x136@144,1"},
    {"x @ v + b", "x=3x33x40 v=40 b=33"},
    {"x @ w + b", "x=5x0 w=0x16 b=16"},
    {"x @ w + b", "x=1x65 w=65x1 b=1"},
    {"gelu(x @ w + b) + res.T", "x=37x40:f64 w=40x136:f64 b=136:f64 res=136x37:f64"},
};

#endif
