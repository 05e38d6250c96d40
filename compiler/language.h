/* What the emitters share: the spelling of values and operations in a language, and the pieces every
 * emitted file is made of. */
#ifndef KF_LANGUAGE_H
#define KF_LANGUAGE_H

#include "compiler/emit.h"

/* How a value lives in generated code: floats in the compute type, small integers as 32 bits. */
typedef enum ValueKind { VALUE_REAL, VALUE_I32, VALUE_I64, VALUE_BOOL, VALUE_KINDS } ValueKind;

ValueKind value_kind(DType type);

struct EmitLanguage {
    const char *name;                     /* "cuda", "c" */
    bool vector;                          /* a value is many elements: no ?: && || ! on it */
    const char *type_f32[VALUE_KINDS];    /* a value's type where the compute type is f32 */
    const char *type_f64[VALUE_KINDS];
    const char *prelude;                  /* path of the helpers, see emit_prelude */
};

const char *language_type(const EmitLanguage *language, const Plan *plan, ValueKind kind);
/* Type of stored elements. */
const char *language_storage(const EmitLanguage *language, DType type);
/* The operand as written in an expression: a name or a literal; `spread` makes a vector of a scalar. */
void emit_operand(Text *out, const Plan *plan, const EmitLanguage *language, Value value, bool spread);

/* Helpers that `body` names, from the language's prelude: the text before its first line "//@ NAME…" always,
 * then every section one of whose names occurs in the body or in a chosen later section. */
void emit_prelude(Text *out, const EmitLanguage *language, const char *body);
/* "//! …" lines for the kernel, its arrays and its args, and the canonical program as a comment. */
void emit_head(Text *out, const Plan *plan);
void emit_knob(Text *out, const char *label, const int64_t *values, uint32_t count);
/* "#define __VEC__ 4" for every knob and KF_ENTRY, unless defined: the file compiles alone. */
void emit_defaults(Text *out, const Template *template);

#endif
