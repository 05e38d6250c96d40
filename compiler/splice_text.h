/* What the two languages of a splice share. */
#ifndef KF_SPLICE_TEXT_H
#define KF_SPLICE_TEXT_H

#include "compiler/core.h"
#include "compiler/hoist.h"
#include "compiler/language.h"

typedef struct SpliceText {
    const Core *core;
    const Plan *epilogue;  /* a load of a slot behind the program's inputs is a product */
    const char *a, *b, *y; /* the template's names */
    Hoist whole;           /* the epilogue in one piece */
    Parameters parameters; /* of the epilogue */
    Parameters batch;      /* of the factors' matrices */
    Arena *arena;
} SpliceText;

/* The number of the product that access `i` loads, or -1. */
int32_t splice_product(const SpliceText *s, uint32_t i);
/* "in_x + i": where elements from (row, column) on, which is element i, begin. */
const char *splice_place(const SpliceText *s, const Access *access);
/* "kf_a_z0": from matrix to matrix of factor `name`; "kf_z1": extent of a batch axis. */
const char *splice_stride_name(Arena *arena, const char *name, uint32_t axis);
const char *splice_extent_name(Arena *arena, uint32_t axis);
/* KF_AT_a and KF_AT_b. */
void splice_print_factors(Text *out, const SpliceText *s);
/* "#define NAME TEXT" with TEXT's lines continued. */
void splice_define(Text *out, const char *name, const char *text);

/* Text that the splice points call. */
void splice_cuda(Text *out, const SpliceText *s);
void splice_c(Text *out, const SpliceText *s);

#endif
