/* Writing a cone as CUDA statements, or as a table where it is long. */
#ifndef KF_ORACLE_WRITER_H
#define KF_ORACLE_WRITER_H

#include "compiler/eval_cone.h"
#include "compiler/oracle_cuda.h"

typedef struct Writer {
    Text *out;
    Machine machine;
    uint32_t *variable; /* by slot: the step that filled it */
    bool *whole;        /* by slot: what it holds is an integer */
    const char *pad;
    bool table; /* the cone is a table, and its values stand in arrays */
    bool known; /* else every element is unchecked */
} Writer;

/* "Interval" or "Whole". */
const char *writer_type(DType type);
static inline bool is_whole(DType type) {
    return !dtype_is_float(type);
}
/* An input as it lies; other bases have a reader. */
bool writer_is_stored(const Machine *machine, Value base);
/* The element of a view's base at `offset` (text). */
void writer_load(Text *out, const Machine *machine, Value base, const char *offset);

/* What a cone needs in front of the function that computes it: "KIND_NUMBER_…". */
void writer_table(Writer *w, const Cone *cone, const char *kind, uint32_t number);
/* Statements that leave the root in a variable, whose name goes to `root`. They read `in`, `i`,
 * `ambiguous`. */
void writer_cone(Writer *w, const Cone *cone, const char *kind, uint32_t number, Text *root);

/* The functions and the kernel of a matrix product (oracle_product.c). */
void writer_product(Writer *w, const OracleStep *step);

#endif
