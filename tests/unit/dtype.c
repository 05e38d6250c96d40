/* Rounding, saturation and storage of every type; the 16-bit floats exhaustively, against ldexp. */
#include "registry/dtype.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static const DType halves[] = {DT_F16, DT_BF16};

static double load_bits(DType type, uint16_t bits) {
    return dtype_load(type, &bits).real;
}

static uint16_t store_bits(DType type, double value) {
    uint16_t bits;
    dtype_store(type, &bits, (Scalar){.real = value});
    return bits;
}

/* What the bits mean, by the textbook. */
static double meaning(const DTypeInfo *info, uint16_t bits) {
    int fraction = info->precision - 1;
    int exponent = (bits & 0x7fff) >> fraction, significand = bits & ((1 << fraction) - 1);
    double size = exponent ? ldexp(significand + (1 << fraction),
                                   exponent - 1 + info->exponent_min - fraction)
                           : ldexp(significand, info->exponent_min - fraction);
    return bits >> 15 ? -size : size;
}

static void loads_and_stores_every_half(void **state) {
    (void)state;
    for (int t = 0; t < 2; t++) {
        const DTypeInfo *info = dtype_info(halves[t]);
        unsigned infinity = 0x8000 - (1u << (info->precision - 1));
        for (unsigned bits = 0; bits < 0x10000; bits++) {
            double value = load_bits(halves[t], (uint16_t)bits);
            if ((bits & 0x7fff) > infinity) {
                assert_true(isnan(value));
                assert_true((store_bits(halves[t], value) & 0x7fff) > infinity);
                continue;
            }
            if ((bits & 0x7fff) == infinity)
                assert_true(isinf(value) && !signbit(value) == !(bits >> 15));
            else
                assert_true(value == meaning(info, (uint16_t)bits));
            assert_int_equal(store_bits(halves[t], value), bits);
            assert_true(dtype_round(halves[t], value) == value);
        }
    }
}

/* Between two neighbours: the middle goes to the even one, a hair off it to the nearer one. */
static void check_between(DType type, uint16_t low, double a, double b, double sign) {
    double middle = (a + b) / 2;
    uint16_t even = low & 1 ? low + 1 : low, mark = sign < 0 ? 0x8000 : 0;
    assert_int_equal(store_bits(type, sign * middle), even | mark);
    assert_int_equal(store_bits(type, sign * nextafter(middle, 0)), low | mark);
    assert_int_equal(store_bits(type, sign * nextafter(middle, INFINITY)), (low + 1) | mark);
    long double hair = ldexpl(1, ilogb(middle) - 60);
    assert_int_equal(store_bits(type, dtype_round_l(type, sign * (middle - hair))), low | mark);
    assert_int_equal(store_bits(type, dtype_round_l(type, sign * (middle + hair))),
                     (low + 1) | mark);
    assert_int_equal(store_bits(type, dtype_round_l(type, sign * (long double)middle)),
                     even | mark);
}

static void rounds_to_nearest_even_everywhere(void **state) {
    (void)state;
    for (int t = 0; t < 2; t++) {
        const DTypeInfo *info = dtype_info(halves[t]);
        unsigned infinity = 0x8000 - (1u << (info->precision - 1));
        for (unsigned bits = 0; bits < infinity; bits++) {
            double a = meaning(info, (uint16_t)bits), b = meaning(info, (uint16_t)(bits + 1));
            check_between(halves[t], (uint16_t)bits, a, b, 1);
            check_between(halves[t], (uint16_t)bits, a, b, -1);
        }
    }
}

static void rounds_wider_floats(void **state) {
    (void)state;
    assert_true(dtype_round(DT_F32, 1 + 0x1p-24) == 1);
    assert_true(dtype_round(DT_F32, 1 + 0x3p-24) == 1 + 0x1p-22);
    assert_true(dtype_round(DT_F32, 1e-40) == (double)1e-40f);
    assert_true(dtype_round(DT_F32, 0x1p128) == HUGE_VAL);
    assert_true(dtype_round(DT_F32, 0x1.fffffefp127) == 0x1.fffffep127);
    assert_true(dtype_round_l(DT_F32, 1 + 0x1p-24L + 0x1p-60L) == 1 + 0x1p-23);
    assert_true(dtype_round(DT_F64, 0.1) == 0.1);
    assert_true(dtype_round_l(DT_F64, 1 + 0x1p-53L + 0x1p-60L) == 1 + 0x1p-52);
    for (DType t = DT_F16; t < DTYPE_COUNT; t++) {
        assert_true(isnan(dtype_round(t, NAN)) && isnan(dtype_round_l(t, (long double)NAN)));
        assert_true(signbit(dtype_round(t, -0.0)) && signbit(dtype_round_l(t, -0.0L)));
        assert_true(signbit(dtype_round_l(t, -0x1p-16000L)) && dtype_round_l(t, -0x1p-16000L) == 0);
        assert_true(dtype_round_l(t, -0x1p16000L) == -HUGE_VAL);
        assert_true(dtype_round(t, INFINITY) == HUGE_VAL);
    }
}

static void saturates(void **state) {
    (void)state;
    const struct {
        DType type;
        double value;
        int64_t whole;
    } cases[] = {
        {DT_U8, 2.5, 2},
        {DT_U8, 3.5, 4},
        {DT_U8, -1, 0},
        {DT_U8, 255.5, 255},
        {DT_I8, -128.4, -128},
        {DT_I8, 1e9, 127},
        {DT_I32, -0.5, 0},
        {DT_I32, 0x1p31, INT32_MAX},
        {DT_I32, -INFINITY, INT32_MIN},
        {DT_I64, 0x1p63, INT64_MAX},
        {DT_I64, -0x1p63, INT64_MIN},
        {DT_I64, 0x1.fffffffffffffp62, INT64_MAX - 1023},
        {DT_I64, NAN, 0},
        {DT_BOOL, NAN, 1},
        {DT_BOOL, -0.0, 0},
        {DT_BOOL, 0.2, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(dtype_saturate(cases[i].type, cases[i].value), cases[i].whole);
}

static void wraps_and_stores_integers(void **state) {
    (void)state;
    assert_int_equal(dtype_wrap(DT_I8, 128), -128);
    assert_int_equal(dtype_wrap(DT_U8, -1), 255);
    assert_int_equal(dtype_wrap(DT_I32, INT64_C(1) << 31), INT32_MIN);
    assert_int_equal(dtype_wrap(DT_I64, INT64_MIN), INT64_MIN);
    for (DType t = DT_BOOL; t <= DT_I64; t++) {
        const int64_t ends[] = {dtype_info(t)->low, dtype_info(t)->high};
        for (int i = 0; i < 2; i++) {
            unsigned char bytes[8];
            dtype_store(t, bytes, (Scalar){.whole = ends[i]});
            assert_int_equal(dtype_load(t, bytes).whole, ends[i]);
            assert_int_equal(dtype_wrap(t, ends[i]), ends[i]);
        }
    }
}

static void has_names_and_ranges(void **state) {
    (void)state;
    DType type;
    for (DType t = DT_BOOL; t < DTYPE_COUNT; t++) {
        assert_true(dtype_find(dtype_name(t), &type) && type == t);
        assert_non_null(strstr(dtype_names(), dtype_name(t)));
    }
    assert_false(dtype_find("number", &type) || dtype_find("", &type) || dtype_find("f8", &type));
    assert_string_equal(dtype_names(), "bool u8 i8 i32 i64 f16 bf16 f32 f64");
    assert_int_equal(dtype_info(DT_F16)->exponent_max, 15);
    assert_int_equal(dtype_info(DT_F16)->exponent_min, -14);
    assert_int_equal(dtype_info(DT_BF16)->exponent_min, -126);
    assert_int_equal(dtype_info(DT_F64)->exponent_max, 1023);
    assert_int_equal(dtype_info(DT_I32)->low, INT32_MIN);
    assert_int_equal(dtype_info(DT_U8)->high, 255);
    assert_int_equal(dtype_info(DT_I64)->low, INT64_MIN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_and_stores_every_half),
        cmocka_unit_test(rounds_to_nearest_even_everywhere),
        cmocka_unit_test(rounds_wider_floats),
        cmocka_unit_test(saturates),
        cmocka_unit_test(wraps_and_stores_integers),
        cmocka_unit_test(has_names_and_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
