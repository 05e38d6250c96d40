/* Type of a value: storage type and shape, with NumPy broadcasting. */
#ifndef KF_TYPE_H
#define KF_TYPE_H

#include "compiler/base/text.h"
#include "registry/dtype.h"

enum { RANK_MAX = 8 };

typedef struct Type {
    DType dtype;
    uint32_t rank;
    int64_t dim[RANK_MAX];
} Type;

/* Element count; -1 if it exceeds 2^62 bytes with this dtype. */
int64_t type_count(const Type *type);
int64_t type_bytes(const Type *type); /* likewise */
bool type_same_shape(const Type *a, const Type *b);
/* NumPy's rule, right-aligned: *shape is the result's shape. False if they do not broadcast. */
bool type_broadcast(const Type *a, const Type *b, Type *shape); /* keeps shape->dtype */
/* `type`, which broadcasts to `shape`, has fewer elements for an axis whose extent is not 1. */
bool type_broadcasts(const Type *type, const Type *shape);
/* NumPy's rule for a @ b: 1-D operands are a row and a column that vanish, leading axes broadcast.
 * False if they do not fit. */
bool type_matmul(const Type *a, const Type *b, Type *shape);
/* Row-major strides in elements. */
void type_strides(const Type *type, int64_t strides[RANK_MAX]);
/* Every element has a place of its own (no broadcast axis, no overlap). */
bool type_is_full(const Type *type, const int64_t strides[RANK_MAX]);
void shape_print(Text *out, const Type *type); /* "4096x4096" */
/* "4096x4096", "4096", "0", "300x0", "scalar". False with *why (static). */
bool shape_parse(const char *text, Type *type, const char **why);

/* Result storage type of an operation on two types by language.md (floats decide among integers,
 * f16 with bf16 gives f32, widest of a kind, bool counts as i32 in arithmetic, u8 with i8 gives
 * i32, WEAK takes the other's). */
DType type_promote(DType a, DType b);

#endif
