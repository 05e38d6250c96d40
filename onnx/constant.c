/* In: a TensorProto. Out: its shape and single values. Its data come as raw little-endian bytes or in a
 * list of a wider type; both are read as they are, never beyond their end. */
#include "onnx/constant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INTEGERS_MOST = 1024 /* a shape, axes, pads: not data */ };

#define TYPE(name) ONNX__TENSOR_PROTO__DATA_TYPE__##name

KfType onnx_type(int32_t type) {
    switch (type) {
    case TYPE(FLOAT): return KF_F32;
    case TYPE(UINT8): return KF_U8;
    case TYPE(INT8): return KF_I8;
    case TYPE(INT32): return KF_I32;
    case TYPE(INT64): return KF_I64;
    case TYPE(BOOL): return KF_BOOL;
    case TYPE(FLOAT16): return KF_F16;
    case TYPE(DOUBLE): return KF_F64;
    case TYPE(BFLOAT16): return KF_BF16;
    default: return KF_PLAIN_TYPE;
    }
}

const char *onnx_type_text(int32_t type) {
    if (onnx_type(type) != KF_PLAIN_TYPE) return kf_type_name(onnx_type(type));
    const ProtobufCEnumValue *value =
        protobuf_c_enum_descriptor_get_value(&onnx__tensor_proto__data_type__descriptor, type);
    return value && type ? value->name : "?";
}

OnnxShape onnx_constant_shape(const Onnx__TensorProto *proto) {
    OnnxShape shape = {.known = proto->n_dims <= KF_RANK_MAX};
    if (!shape.known) return shape;
    shape.rank = (int)proto->n_dims;
    if (proto->n_dims) memcpy(shape.dim, proto->dims, proto->n_dims * sizeof *shape.dim);
    return shape;
}

static bool is_elsewhere(const Onnx__TensorProto *proto) {
    return proto->has_data_location &&
           proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

/* Elements in the list that holds this type; -1: a type whose lists are not looked at. */
static int64_t listed(const Onnx__TensorProto *proto) {
    switch (proto->data_type) {
    case TYPE(FLOAT): return (int64_t)proto->n_float_data;
    case TYPE(DOUBLE): return (int64_t)proto->n_double_data;
    case TYPE(INT64): return (int64_t)proto->n_int64_data;
    case TYPE(UINT8):
    case TYPE(INT8):
    case TYPE(INT32):
    case TYPE(BOOL):
    case TYPE(FLOAT16):
    case TYPE(BFLOAT16): return (int64_t)proto->n_int32_data;
    default: return -1;
    }
}

bool onnx_constant_check(const Onnx__TensorProto *proto, const char **why) {
    const OnnxShape shape = onnx_constant_shape(proto);
    KfType type = onnx_type(proto->data_type);
    *why = "has a negative size";
    for (size_t i = 0; i < proto->n_dims; i++)
        if (proto->dims[i] < 0) return false;
    if (!shape.known || type == KF_PLAIN_TYPE || is_elsewhere(proto)) return true;
    int64_t count = onnx_count(&shape);
    *why = "is larger than memory";
    if (count < 0) return false;
    *why = "has data of another length than its shape says";
    if (proto->has_raw_data)
        return (int64_t)proto->raw_data.len == count * (int64_t)kf_type_size(type);
    return listed(proto) == count;
}

/* --- single values */

static double half(uint32_t bits) {
    uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
    double value = exponent == 31 ? (fraction ? (double)NAN : (double)INFINITY)
                   : exponent     ? ldexp(1024 + (double)fraction, (int)exponent - 25)
                                  : ldexp(fraction, -24);
    return bits & 0x8000 ? -value : value;
}

static double brain(uint32_t bits) {
    bits <<= 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

#define READ(Type, data)                      \
    {                                         \
        Type value_;                          \
        memcpy(&value_, data, sizeof value_); \
        return (double)value_;                \
    }

/* One element as raw bytes have it. */
static double raw(KfType type, const uint8_t *data) {
    uint16_t bits;
    switch (type) {
    case KF_F32: READ(float, data)
    case KF_F64: READ(double, data)
    case KF_I64: READ(int64_t, data)
    case KF_I32: READ(int32_t, data)
    case KF_I8: READ(int8_t, data)
    case KF_U8:
    case KF_BOOL: READ(uint8_t, data)
    default: break;
    }
    memcpy(&bits, data, sizeof bits);
    return type == KF_F16 ? half(bits) : brain(bits);
}

static double first(const Onnx__TensorProto *proto, KfType type) {
    switch (type) {
    case KF_F32: return (double)proto->float_data[0];
    case KF_F64: return proto->double_data[0];
    case KF_I64: return (double)proto->int64_data[0];
    case KF_F16: return half((uint32_t)proto->int32_data[0]);
    case KF_BF16: return brain((uint32_t)proto->int32_data[0]);
    default: return (double)proto->int32_data[0];
    }
}

bool onnx_constant_number(const Onnx__TensorProto *proto, double *value) {
    const OnnxShape shape = onnx_constant_shape(proto);
    KfType type = onnx_type(proto->data_type);
    if (!shape.known || onnx_count(&shape) != 1 || type == KF_PLAIN_TYPE || is_elsewhere(proto))
        return false;
    *value = proto->has_raw_data ? raw(type, proto->raw_data.data) : first(proto, type);
    return true;
}

const int64_t *onnx_constant_integers(Arena *arena, const Onnx__TensorProto *proto,
                                      uint32_t *count) {
    bool wide = proto->data_type == TYPE(INT64);
    if ((!wide && proto->data_type != TYPE(INT32)) || proto->n_dims > 1 || is_elsewhere(proto))
        return NULL;
    const OnnxShape shape = onnx_constant_shape(proto);
    int64_t n = onnx_count(&shape);
    if (n < 0 || n > INTEGERS_MOST) return NULL;
    int64_t *list = arena_array(arena, int64_t, n);
    for (int64_t i = 0; i < n; i++) {
        int32_t narrow = 0;
        if (proto->has_raw_data && wide)
            memcpy(&list[i], proto->raw_data.data + 8 * i, 8);
        else if (proto->has_raw_data)
            memcpy(&narrow, proto->raw_data.data + 4 * i, 4), list[i] = narrow;
        else
            list[i] = wide ? proto->int64_data[i] : proto->int32_data[i];
    }
    *count = (uint32_t)n;
    return list;
}

const char *onnx_number_text(Arena *arena, double value, bool wide) {
    const char *text = isnan(value) ? "nan" : NULL;
    for (int digits = 6; !text; digits++) {
        const char *try = arena_printf(arena, "%.*g", digits, value);
        bool same = wide ? strtod(try, NULL) == value : strtof(try, NULL) == (float)value;
        if (same || digits == 17) text = try;
    }
    return *text == '-' ? arena_printf(arena, "(%s)", text) : text;
}
