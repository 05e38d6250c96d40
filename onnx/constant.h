/* Values of initializers and Constant nodes. */
#ifndef KF_ONNX_CONSTANT_H
#define KF_ONNX_CONSTANT_H

#include "onnx/graph.h"

/* ONNX's element type as kfuse's; KF_PLAIN_TYPE where kfuse has none. */
KfType onnx_type(int32_t type);
/* "f32"; kfuse's name where there is one. */
const char *onnx_type_text(int32_t type);

/* Whether the data are as many as the shape says; else a line. Data in another file are not looked at.
 */
bool onnx_constant_check(const Onnx__TensorProto *proto, const char **why);
OnnxShape onnx_constant_shape(const Onnx__TensorProto *proto);
/* Element 0 of a tensor of one element; false where it is kept elsewhere or of no such type. */
bool onnx_constant_number(const Onnx__TensorProto *proto, double *value);
/* The elements of an i64 or i32 tensor of rank 0 or 1; NULL where it is none, or is long. */
const int64_t *onnx_constant_integers(Arena *arena, const Onnx__TensorProto *proto,
                                      uint32_t *count);

/* The shortest text that reads back as the same value, of an f32 unless `wide`; negative ones in
 * parentheses. */
const char *onnx_number_text(Arena *arena, double value, bool wide);

#endif
