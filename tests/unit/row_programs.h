/* For tests of generated kernels over rows: programs of one and several passes, outputs of both
 * shapes, every layout class. Inputs whose type is not said are of the type under test. */
#ifndef TEST_ROW_PROGRAMS_H
#define TEST_ROW_PROGRAMS_H

static const char *const row_programs[][2] = {
    {"softmax(x)", "37x264"},
    {"layernorm(x, g, b)", "x=5x1003 g=1003 b=1003"},
    {"rmsnorm(x + res, g)", "x=9x520 res=9x520 g=520"},
    {"s = max(abs(x))/127; q = i8(x/s); return q, s", "33x100"},
    {"x - max(x) - log(sum(exp(x - max(x))))", "7x333"},
    {"m = max(x); return m + log(sum(exp(x - m)))", "19x515"},
    {"x / sqrt(sum(x*x) + 1e-6)", "16x64"},
    {"m = mean(x); v = var(x); return (x - m) / sqrt(v + 1e-5), m, v", "12x257"},
    {"var(x * s)", "x=21x96 s=96"},
    {"return sum(x*x), max(x), min(x*y), prod(1 + x/1024), mean(y), var(y)", "x=11x70 y=11x70"},
    {"return sum(x), prod(x), max(x), min(x)", "x=13x67:i8"},
    {"return sum(x), max(x), min(y), max(y), x - min(x)", "x=5x131:i64 y=5x131:bool"},
    {"return sum(x) - sum(y), x // max(y)", "x=17x48:u8 y=17x48:i32"},
    {"softmax(x * s + b)", "x=4x6x40 s=6x1 b=4x1x40"},
    {"y = x.T - mean(x.T); return y * w, max(y)", "x=40x24 w=24x40"},
    {"x / sum(x) + y", "x=10x36@52,1 y=10x36@-1,10"},
    {"rmsnorm(x, g) + c", "x=6x80 g=80@2 c=scalar"},
    {"x = x * 2 - mean(y); s = s + sum(y); return x, s", "x=23x72 y=23x72 s=23x1"},
    {"x = x + 1; return x, sum(y)", "x=15x200 y=15x200"},
    {"h = x + res; return h, layernorm(h, g, b)", "x=8x288 res=8x288 g=288 b=288"},
    {"y = x * 2; return y, sum(y)", "x=9x45"},
    {"p = exp(x - max(x)); return sum(p * w) / sum(p), p > 0.5", "x=7x90 w=90"},
    {"exp2(x - max(x)) / (mean(exp2(x - max(x))) + 1e-3)", "14x60"},
    {"a = softmax(x); b = softmax(a * 2); return b", "33x127"},
    {"softmax(layernorm(x, g, b))", "x=3x150 g=150 b=150"},
    {"param t = 2; softmax(x / t) * (x > 0 ? 1 : 0.5)", "x=6x66"},
    {"f16(x) - bf16(mean(x))", "x=6x34"},
    {"softmax(x)", "9"},
    {"sum(x)", "x=1x300"},
    {"t = tanh(x); return t / max(abs(t)), sum(t)", "x=6x120"},
    {"layernorm(x, g, b)", "x=3x4099 g=4099 b=4099"}, /* odd rows, several whole vectors a thread */
    {"softmax(x)", "5x4101"},
};

#endif
