/* What the files of emit_rows_c.c share. A sweep's function of one vector is k_step0 …, a pass'
 * function k_pass0 …, a value t1 … in a step and in the Row. */
#ifndef KF_EMIT_ROWS_C_H
#define KF_EMIT_ROWS_C_H

#include "compiler/emit_c.h"
#include "compiler/sweeps.h"

typedef struct RowsC {
    const Plan *plan;
    const Sweeps *sweeps;
    Text *out;
    Arena *scratch;
    Parameters parameters;
    bool copied; /* steps are, into the loops that call them */
} RowsC;

static inline const IrNode *rows_c_node(const RowsC *e, Value value) {
    return ir_node(e->plan->ir, value);
}
/* One value a row. */
static inline bool rows_c_uniform(const RowsC *e, Value value) {
    return e->sweeps->rows->uniform[value];
}
/* Not of one value a row. */
static inline bool rows_c_full(const RowsC *e, const Access *access) {
    return !plan_is_reduced(e->plan, access);
}
/* The text where values are kept, else "". */
static inline const char *rows_c_kept(const RowsC *e, const char *text) {
    return e->sweeps->kept.count ? text : "";
}
const char *rows_c_type(const RowsC *e, Value value);
/* The stride along a row, where it is given. */
const char *rows_c_step(const RowsC *e, const Access *access);
/* An input of which the next row is fetched ahead; by which function, if there is any. */
bool rows_c_ahead(const RowsC *e, const Access *access);
const char *rows_c_fetch(const RowsC *e);

/* Of names of helpers: "", "_i32", "_i64", "_bool". */
const char *rows_c_suffix(const RowsC *e, Value value);
/* "k_all_i64(0)": what a reduction starts from; "k_join_max_i32": two vectors of it as one. */
const char *rows_c_start(const RowsC *e, Value reduction);
const char *rows_c_join(const RowsC *e, Value reduction);
/* The sweep adds up something for the reduction: two halves in f64; in its own type. */
bool rows_c_adds(const RowsC *e, const Sweep *sweep, Value reduction);
bool rows_c_wide(const RowsC *e, const Sweep *sweep, Value reduction);
bool rows_c_fold(const RowsC *e, const Sweep *sweep, Value reduction);

/* The type Row; of each sweep Sums0 … and k_step0 …; k_values0 … before each pass, k_results. */
void rows_c_steps(const RowsC *e);
/* A step of its own where values are kept. */
bool rows_c_keeps(const RowsC *e, uint32_t sweep);
/* What k_values of a pass gives: loads and values of the body of which there is one. */
Values rows_c_values(const RowsC *e, uint32_t pass);
/* k_pass0 …, k_joined0 … */
void rows_c_passes(const RowsC *e);

#endif
