/* The pieces of a kernel over rows that emit_rows_cuda puts together. */
#ifndef KF_ROWS_CUDA_CODE_H
#define KF_ROWS_CUDA_CODE_H

#include "compiler/cuda_code.h"
#include "compiler/emit.h"
#include "compiler/rows_cuda.h"

typedef struct RowsEmitter {
    const Plan *plan;
    const RowsCuda *facts;
    const char *stem; /* of what a pass gathers: "pass", "online" */
    Text *out;
    Arena *scratch;
    Parameters parameters;
} RowsEmitter;

const IrNode *rows_node(const RowsEmitter *e, Value value);
/* "float", what a value of elements or rows is. */
const char *rows_type(const RowsEmitter *e, Value value);
const char *rows_real(const RowsEmitter *e);
const char *rows_operand(const RowsEmitter *e, Value value);
/* The load that `value` is, or NULL. */
const Access *rows_load(const RowsEmitter *e, Value value);
/* Loads of a role, one after the other from *i (0) on; NULL behind the last. */
const Access *rows_next_load(const RowsEmitter *e, RowsRole role, uint32_t *i);
/* "in_x + (i0 * kf_in_x_s0)": where an array has the row; "in_s[i0]": its value of the row. */
void rows_print_begin(const RowsEmitter *e, const Access *access);
const char *rows_single(const RowsEmitter *e, const Access *access);
/* "kf_in_x_s1": the distance of a strided array's elements. */
const char *rows_step(const RowsEmitter *e, const Access *access);

/* What elements are divided by `value` with, behind it: "const k_divisor<float> k6(t6);"; or nothing. */
void rows_print_divisor(const RowsEmitter *e, Value value);

/* struct k_source: the arrays that are kept, for k_kept; and k_find_source, which gives that of a row. */
void rows_print_source(const RowsEmitter *e);
void rows_print_find_source(const RowsEmitter *e);
/* A vector of it is converted as a whole. */
bool rows_sees_words(const RowsEmitter *e, const Access *access);
/* struct k_ahead: columns, read ahead or not; and one of them, `ahead`, for a row. */
void rows_print_ahead(const RowsEmitter *e);
void rows_print_make_ahead(const RowsEmitter *e, const char *type, const char *row, int indent);

/* struct k_pass0: what pass 0 gathers; nothing if it only stores. */
void rows_print_struct(const RowsEmitter *e, uint32_t pass);
/* The pass: a loop over the thread's vectors, a reduction, results. */
void rows_print_pass(const RowsEmitter *e, uint32_t pass);

#endif
