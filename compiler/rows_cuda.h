/* What emit_rows_cuda must know of a plan besides its passes, and the space of the kernel it makes. */
#ifndef KF_ROWS_CUDA_H
#define KF_ROWS_CUDA_H

#include "compiler/language.h"
#include "compiler/rows.h"

/* How a load is read. */
typedef enum RowsRole {
    ROWS_KEPT,    /* an element for each of the iteration */
    ROWS_COLUMN,  /* the same in every row */
    ROWS_UNIFORM, /* one value a row */
} RowsRole;

RowsRole rows_role(const Plan *plan, const Access *access);

/* In one form of passes. */
typedef struct RowsCuda {
    const Plan *plan;
    const Rows *rows;
    bool keeps;           /* several passes read elements: what stays where is a question */
    bool columns;         /* there are ROWS_COLUMN loads with unit stride */
    bool dense;           /* some array is dense: vectors may begin at multiples in memory */
    bool means;           /* something is divided by the number of columns */
    bool low;             /* floating elements outside a row are seen as -inf, else as 0 */
    const bool *harmless; /* by Value: a reduction that does not mind elements outside the row */
    const bool *read;     /* by Value: something reads it, see emit_read */
    const bool *folded;   /* by Value: a square that a sum alone reads: it is multiplied there */
} RowsCuda;

RowsCuda rows_cuda_find(Arena *arena, const Plan *plan, RowsForm form);

/* How an element is divided by what is one value a row. */
typedef enum RowsQuotient {
    ROWS_DIVIDED, /* by `/` */
    ROWS_ROUNDED, /* with the same result, by a k_divisor */
    ROWS_MULTIPLIED, /* by the reciprocal of a sum over exp(a - max(a)): it is from 1 on, and less exact
                        than one more rounding */
} RowsQuotient;
/* How the element `value` is made; how elements are divided by `value`. */
RowsQuotient rows_quotient(const RowsCuda *facts, Value value);
RowsQuotient rows_divisor(const RowsCuda *facts, Value value);

enum { ROWS_CUDA_KNOBS = 12 };
/* Online passes are fewer, and their kernel is there as well. */
bool rows_cuda_offers(const RowsCuda *split, const RowsCuda *online);
/* TPR threads in each of CLUSTER blocks share a row; RPB rows a block; VEC elements a vector, which
 * PEEL lets begin at multiples in memory, whatever a row's length; KEEP 0 in registers, at most
 * ITEMS vectors a thread, 1 in shared memory, 2 read again, ITEMS on their way; ONLINE 1 takes the
 * online passes where the row is not in registers; EARLY 1 reads columns ahead, GRID blocks a
 * multiprocessor (0: one a row); NEXT 1 lets the next kernel begin early. Returns their number. */
uint32_t rows_cuda_knobs(const RowsCuda *split, const RowsCuda *online,
                         KnobText knobs[ROWS_CUDA_KNOBS]);
/* 32-bit registers that an element takes where the row stays in them. */
uint32_t rows_cuda_words(const RowsCuda *split);
/* There is a knob PEEL. */
bool rows_cuda_peels(const RowsCuda *facts);
/* The lines "//! require", "//! prefer" and "//! launch". */
void rows_cuda_rules(Text *out, const RowsCuda *split, const RowsCuda *online);

#endif
