/* Shapes and storage types: how many elements, which shapes broadcast, what two types give
 * together. One idea: NumPy's rules, in exact arithmetic (a size that would overflow is an answer,
 * never a wrap). */
#include "compiler/type.h"

#include <stdlib.h>
#include <string.h>

static const int64_t LIMIT = (int64_t)1 << 62; /* bytes */

static int64_t element_bytes(const Type *type) {
    int64_t bytes = dtype_info(type->dtype)->bytes;
    return bytes > 0 ? bytes : 1;
}

int64_t type_count(const Type *type) {
    int64_t count = 1, limit = LIMIT / element_bytes(type);
    for (uint32_t i = 0; i < type->rank; i++)
        if (type->dim[i] == 0) return 0;
    for (uint32_t i = 0; i < type->rank; i++) {
        if (type->dim[i] > limit / count) return -1;
        count *= type->dim[i];
    }
    return count;
}

int64_t type_bytes(const Type *type) {
    int64_t count = type_count(type);
    return count < 0 ? -1 : count * dtype_info(type->dtype)->bytes;
}

bool type_same_shape(const Type *a, const Type *b) {
    return a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof a->dim[0]) == 0;
}

/* Dimension `axis` from the right; 1 beyond the rank. */
static int64_t from_right(const Type *type, uint32_t axis) {
    return axis < type->rank ? type->dim[type->rank - 1 - axis] : 1;
}

bool type_broadcast(const Type *a, const Type *b, Type *shape) {
    Type result = {.dtype = shape->dtype, .rank = a->rank > b->rank ? a->rank : b->rank};
    for (uint32_t i = 0; i < result.rank; i++) {
        int64_t m = from_right(a, i), n = from_right(b, i);
        if (m != n && m != 1 && n != 1) return false;
        result.dim[result.rank - 1 - i] = m == 1 ? n : m;
    }
    *shape = result;
    return true;
}

bool type_broadcasts(const Type *type, const Type *shape) {
    for (uint32_t i = 0; i < shape->rank; i++)
        if (from_right(type, i) == 1 && from_right(shape, i) != 1) return true;
    return false;
}

/* The leading `rank - 2` axes alone. */
static Type batch_of(const Type *type) {
    Type batch = *type;
    batch.rank = type->rank > 2 ? type->rank - 2 : 0;
    return batch;
}

bool type_matmul(const Type *a, const Type *b, Type *shape) {
    if (a->rank == 0 || b->rank == 0) return false;
    int64_t inner = b->rank == 1 ? b->dim[0] : b->dim[b->rank - 2];
    if (a->dim[a->rank - 1] != inner) return false;
    Type batch_a = batch_of(a), batch_b = batch_of(b), result = {.dtype = shape->dtype};
    if (!type_broadcast(&batch_a, &batch_b, &result)) return false;
    if (a->rank > 1) result.dim[result.rank++] = a->dim[a->rank - 2];
    if (b->rank > 1) result.dim[result.rank++] = b->dim[b->rank - 1];
    *shape = result;
    return true;
}

void type_strides(const Type *type, int64_t strides[RANK_MAX]) {
    uint64_t stride = 1; /* may wrap where a size is 0 and nothing is addressed */
    for (uint32_t i = type->rank; i-- > 0;) {
        strides[i] = (int64_t)stride;
        stride *= type->dim[i] > 0 ? (uint64_t)type->dim[i] : 1;
    }
}

bool type_is_full(const Type *type, const int64_t strides[RANK_MAX]) {
    int64_t reach = 0; /* of the axes with smaller strides, in elements */
    bool done[RANK_MAX] = {false};
    if (type_count(type) == 0) return true;
    for (uint32_t round = 0; round < type->rank; round++) {
        uint32_t least = RANK_MAX;
        for (uint32_t i = 0; i < type->rank; i++)
            if (!done[i] && (least == RANK_MAX || llabs(strides[i]) < llabs(strides[least])))
                least = i;
        done[least] = true;
        if (type->dim[least] == 1) continue;
        if (llabs(strides[least]) <= reach) return false;
        reach += llabs(strides[least]) * (type->dim[least] - 1);
    }
    return true;
}

void shape_print(Text *out, const Type *type) {
    if (type->rank == 0) text_add(out, "scalar");
    for (uint32_t i = 0; i < type->rank; i++)
        text_printf(out, "%s%lld", i > 0 ? "x" : "", (long long)type->dim[i]);
}

/* Digits at *text as a size; NULL, or what is wrong with them. */
static const char *parse_size(const char **text, int64_t *size) {
    if (**text < '0' || **text > '9')
        return "sizes are whole numbers with 'x' between, like 4096x4096";
    *size = 0;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        int digit = **text - '0';
        if (*size > (LIMIT - digit) / 10) return "a size exceeds 2^62";
        *size = *size * 10 + digit;
    }
    return NULL;
}

bool shape_parse(const char *text, Type *type, const char **why) {
    Type shape = {.dtype = type->dtype};
    bool scalar = strcmp(text, "scalar") == 0;
    for (bool more = !scalar; more; more = *text++ == 'x') {
        int64_t size = 0;
        *why = shape.rank == RANK_MAX ? "more than 8 axes" : parse_size(&text, &size);
        if (*why == NULL && *text != 'x' && *text != '\0')
            *why = "sizes are whole numbers with 'x' between, like 4096x4096";
        if (*why != NULL) return false;
        shape.dim[shape.rank++] = size;
    }
    if (type_count(&shape) < 0) {
        *why = "more than 2^62 bytes";
        return false;
    }
    *type = shape;
    return true;
}

static DType promote_floats(DType a, DType b) {
    if (a != b && a < DT_F32 && b < DT_F32) return DT_F32; /* f16 with bf16 */
    return a > b ? a : b;
}

static DType promote_integers(DType a, DType b) {
    if (a == DT_BOOL) a = DT_I32;
    if (b == DT_BOOL) b = DT_I32;
    if (a != b && a < DT_I32 && b < DT_I32) return DT_I32; /* u8 with i8 */
    return a > b ? a : b;
}

DType type_promote(DType a, DType b) {
    if (a == DT_WEAK || b == DT_WEAK) return a == DT_WEAK ? b : a;
    if (dtype_is_float(a) != dtype_is_float(b)) return dtype_is_float(a) ? a : b;
    return dtype_is_float(a) ? promote_floats(a, b) : promote_integers(a, b);
}
