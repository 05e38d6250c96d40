/* Names of a program's values: the model's as far as the language takes them, each once. */
#ifndef KF_ONNX_NAMES_H
#define KF_ONNX_NAMES_H

#include "compiler/base/arena.h"

typedef struct OnnxNames {
    Arena *arena;
    ARRAY(const char *) taken;
    uint32_t count; /* of those made from a prefix */
} OnnxNames;

/* A name like `label`, and unlike all that were given before. */
const char *onnx_name(OnnxNames *names, const char *label);
/* t1, t2 … */
const char *onnx_name_next(OnnxNames *names, const char *prefix);

#endif
