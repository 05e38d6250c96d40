/* Infer: the shapes and types of a template's tensors, from what is said of some of them. A size
 * that two tensors share has one value; an input of which nothing is said takes the shape of one with
 * the same dimensions, else its shape from sizes that others gave (g[cols] from x[rows, cols]), else
 * the plain shape, and its type from
 * `like`, else the plain type where its line allows that, else the first type of its line. */
#ifndef KF_INFER_H
#define KF_INFER_H

#include "compiler/lower.h"
#include "registry/template.h"

typedef struct Size {
    const char *name;
    int64_t value;
    const char *by; /* the tensor that gave it */
} Size;

typedef struct Inference {
    Arena *arena;
    Diags *diags;
    const Template *template;
    ARRAY(Size) sizes;
    Type *inputs; /* in the template's order */
    bool *shaped; /* per input: its shape is known */
} Inference;

/* `said` is about inputs by the template's names; `typed`: its plain type was asked for, not a
 * default. False after diagnostics with a caret at the tensor's line. */
bool infer_inputs(Inference *inference, const LowerOptions *said, bool typed);
/* Output `index`, behind the inputs: `type` as far as `has_shape` and `has_dtype` say it, completed
 * and checked. */
bool infer_output(Inference *inference, uint32_t index, bool has_shape, bool has_dtype, Type *type);
/* `type` where the output's line allows it, else the one that the line says. */
DType infer_output_type(const Inference *inference, uint32_t index, DType type);

#endif
