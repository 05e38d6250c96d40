/* A file in, an unpacked model out, of versions that are known; or one line that says what is wrong. */
#ifndef KF_ONNX_MODEL_H
#define KF_ONNX_MODEL_H

#include "compiler/base/arena.h"
#include "kfuse.h"
#include "onnx/onnx.pb-c.h"

enum { ONNX_LINE = 512, ONNX_IR_NEWEST = 14, ONNX_OPSET_NEWEST = 28 };

typedef struct OnnxModel {
    Arena *arena; /* of everything that is made from it */
    const char *path;
    Onnx__ModelProto *proto;
    int64_t opset;       /* of the standard operators */
    char why[ONNX_LINE]; /* what is wrong with it */
} OnnxModel;

/* A field that may be missing. */
static inline const char *onnx_text(const char *text) {
    return text ? text : "";
}

KfStatus onnx_model_open(const char *path, OnnxModel *model);
void onnx_model_close(OnnxModel *model);
/* Says what is wrong with the model; `status` is returned. */
KfStatus onnx_wrong(OnnxModel *model, KfStatus status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A name as it may be printed: control characters and what is not UTF-8 become '?', and long ones are
 * cut. */
const char *onnx_label(Arena *arena, const char *name);

#endif
