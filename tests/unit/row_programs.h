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
    {"x / sqrt(sum(x*x) + 1e-6)", "16x64"},
    {"m = mean(x); v = var(x); return (x - m) / sqrt(v + 1e-5), m, v", "12x257"},
    {"return sum(x*x), max(x), min(x*y), prod(1 + x/1024)", "x=11x70 y=11x70"},
};

#endif
