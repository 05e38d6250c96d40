/* What a pass of a kernel over rows gathers of the elements it sees, on its way through the threads of
 * a row. */
#ifndef KF_ROWS_CUDA_PARTS_H
#define KF_ROWS_CUDA_PARTS_H

#include "compiler/rows_cuda_code.h"

/* A field: a reduction's own, or one of what its result is made of. */
typedef enum PartKind {
    PART_OWN,     /* t5 */
    PART_MEAN,    /* m5, the sum for a variance's mean */
    PART_REST,    /* d5, the sum of distances from it */
    PART_SQUARE,  /* q5, that of their squares */
    PART_SCALED,  /* t5, a sum of exp(a - largest so far) */
    PART_MOMENTS, /* v5, a variance in one pass */
} PartKind;

typedef struct Part {
    Value value;
    PartKind kind;
} Part;

typedef struct Parts {
    ARRAY(Part) list;
    bool online; /* there are PART_SCALED ones */
} Parts;

Parts parts_find(const RowsEmitter *e, uint32_t pass);
/* The mean of the operand of `variance`, if it is computed anyway; else 0. */
Value parts_mean(const RowsEmitter *e, Value variance);
/* The first of those that follow the same largest element; no other part is. */
bool parts_first(const RowsEmitter *e, const Parts *parts, uint32_t at);

/* "t5": the field. Its value's kind; the reduction that joins it. */
const char *part_name(const RowsEmitter *e, const Part *part);
ValueKind part_kind(const RowsEmitter *e, const Part *part);
uint16_t part_op(const RowsEmitter *e, const Part *part);
/* What scales an online sum: "k_rescale". */
const char *part_rescale(const RowsEmitter *e, Value sum);
/* "a + b", "k_max(a, b)", "k_fmax_i64(a, b)" */
void part_join(const RowsEmitter *e, const Part *part, const char *a, const char *b);
/* What no element at all gives. */
void part_nothing(const RowsEmitter *e, const Part *part);

#endif
