/* What the emitters share: how values, arrays and offsets are spelled in a language, and the pieces
 * every emitted file is made of. */
#ifndef KF_LANGUAGE_H
#define KF_LANGUAGE_H

#include "compiler/emit.h"

/* How a value lives in generated code: floats in the compute type, small integers as 32 bits. */
typedef enum ValueKind { VALUE_REAL, VALUE_I32, VALUE_I64, VALUE_BOOL, VALUE_KINDS } ValueKind;

ValueKind value_kind(DType type);

enum { PRELUDES = 4 };

struct EmitLanguage {
    const char *name;                  /* "cuda", "c" */
    const char *preludes[PRELUDES];    /* paths of the helpers, see emit_prelude; or NULL */
    const char *index;                 /* type of sizes, strides and offsets */
    bool divides;                      /* by multiplying with an extent's reciprocal */
    bool vector;                       /* a value is many elements: no ?: && || ! on it */
    const char *type_f32[VALUE_KINDS]; /* a value's type where the compute type is f32 */
    const char *type_f64[VALUE_KINDS];
};

const char *language_type(const EmitLanguage *language, const Plan *plan, ValueKind kind);
/* Type of stored elements. */
const char *language_storage(const EmitLanguage *language, DType type);
/* The operand as written in an expression: a name or a literal; `spread` makes a vector of a
 * scalar. */
void emit_operand(Text *out, const Plan *plan, const EmitLanguage *language, Value value,
                  bool spread);

/* By Value: a store reads it, or a statement that is read itself. Not the condition of max(a, c) where that
 * is one call. */
const bool *emit_read(Arena *arena, const Plan *plan, const EmitLanguage *language);

/* A literal of whole numbers or truth values. */
void emit_whole(Text *out, ValueKind kind, int64_t value);

/* Arrays in the order of args: loads, then stores. */
uint32_t access_count(const Plan *plan);
const Access *access_at(const Plan *plan, uint32_t i);
bool access_is_store(const Plan *plan, uint32_t i);
/* It has other elements in other rows. */
bool access_walks_rows(const Plan *plan, const Access *access);
/* The kernel's arguments besides arrays, as parameters: sizes and strides, then scalars. */
typedef struct Parameter {
    const char *name;
    DType dtype; /* DT_I64, or a scalar's */
} Parameter;
typedef struct Parameters {
    ARRAY(Parameter) list;
} Parameters;
bool parameter_is_scalar(const Parameter *parameter);
bool parameter_is_reciprocal(const Parameter *parameter); /* of an extent */
Parameters language_parameters(const EmitLanguage *language, const Plan *plan, Arena *arena);

/* "a / b", for an extent b; by the fastest way the language has. */
void emit_quotient(Text *out, const EmitLanguage *language, const char *a, const char *b);
/* Coordinates i0 i1 … of all axes but the last, from `row`; nothing if no array needs them. */
void emit_coordinates(Text *out, const EmitLanguage *language, const Plan *plan, const char *row,
                      int indent);
/* Number of elements, over sizes: "kf_rows * kf_cols". */
const char *language_total(const Plan *plan);
/* Stores lie along the linear index: a kernel may walk it and look up where the loads lie. */
bool language_linear(const Plan *plan);
/* Where the array's element (row, column) lies: "row * kf_cols + column", "i0 * kf_in_x_s0 +
 * column". Without a column: of the row. */
void emit_offset(Text *out, const Plan *plan, const Access *access, const char *row,
                 const char *column);

/* An item of a list in parentheses, after a comma where `i` is not 0; a full line is broken. */
void emit_next(Text *out, uint32_t i, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A knob's first value is the analytic default. */
typedef struct KnobText {
    const char *label;
    int64_t values[SPACE_VALUES];
    uint32_t count;
} KnobText;

/* "//! knob …" lines. */
void emit_knobs(Text *out, const KnobText *knobs, uint32_t count);
/* "//! …" lines for kernel, arrays, args and knobs. */
void emit_head(Text *out, const EmitLanguage *language, const Plan *plan, const KnobText *knobs,
               uint32_t count);
/* The canonical program, a comment. */
void emit_program(Text *out, const char *program);
/* The canonical program in a comment, "#define __VEC__ 4" for every knob unless defined, KF_ENTRY:
 * the file compiles alone. */
void emit_defaults(Text *out, const Plan *plan, const KnobText *knobs, uint32_t count);
/* What does not depend on knobs stands once in a unit of several points; the rest is named by
 * KF_ENTRY. */
#define SHARED_BEGIN "\n#ifndef K_SHARED\n#define K_SHARED\n"
#define SHARED_END "#endif\n"
/* Helpers that `body` names, from the language's preludes: what stands before the first line "//@
 * NAME…" of the first one always, then every section one of whose names occurs in the body or in a later chosen
 * section. */
void emit_prelude(Text *out, const EmitLanguage *language, const char *body);
/* The text of an embedded file of registry/templates/. */
const char *emit_text(const char *path);
/* `head` (header lines, defaults, types), the helpers that `code` names, and `code` as a template;
 * frees both texts. */
const Template *emit_file(Arena *arena, const EmitLanguage *language, const char *name, Text *head,
                          Text *code);
/* The finished text as a template; a header that does not parse is our bug. */
const Template *emit_finish(Arena *arena, const char *name, const char *language, const Text *text);

#endif
