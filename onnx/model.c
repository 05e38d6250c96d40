/* In: a path. Out: the model that the file holds. Nothing is believed: the wire format is walked before
 * it is unpacked, and versions are those that the tables of operators were written for. */
#include "onnx/model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onnx/wire.h"

enum { LABEL = 80 };

KfStatus onnx_wrong(OnnxModel *model, KfStatus status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(model->why, sizeof model->why, format, args);
    va_end(args);
    return status;
}

/* --- names */

/* Bytes of the UTF-8 character at `text`, 0 where there is none. */
static size_t character(const unsigned char *text) {
    if (*text < 0x20 || *text == 0x7f) return 0;
    if (*text < 0x80) return 1;
    size_t length = *text >= 0xf0 ? 4 : *text >= 0xe0 ? 3 : 2;
    if (*text < 0xc2 || *text > 0xf4) return 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xc0) != 0x80) return 0;
    return length == 2 && *text == 0xc2 && text[1] < 0xa0 ? 0 : length;
}

const char *onnx_label(Arena *arena, const char *name) {
    char *label = arena_alloc(arena, LABEL + 8);
    size_t length = 0;
    for (const char *at = name; *at;) {
        size_t taken = character((const unsigned char *)at);
        if (length + (taken ? taken : 1) > LABEL) {
            memcpy(label + length, "...", 4);
            break;
        }
        if (taken)
            memcpy(label + length, at, taken), length += taken, at += taken;
        else
            label[length++] = '?', at++;
    }
    return label;
}

/* --- the file */

typedef struct Bytes {
    const uint8_t *data;
    size_t size;
} Bytes;

static KfStatus map(OnnxModel *model, Bytes *bytes) {
    struct stat about;
    int file = open(model->path, O_RDONLY | O_CLOEXEC);
    bool ok = file >= 0 && fstat(file, &about) == 0;
    if (ok && S_ISDIR(about.st_mode)) ok = false, errno = EISDIR;
    if (ok && about.st_size > 0) {
        bytes->size = (size_t)about.st_size;
        bytes->data = mmap(NULL, bytes->size, PROT_READ, MAP_PRIVATE, file, 0);
        ok = bytes->data != MAP_FAILED;
    }
    int error = errno;
    if (file >= 0) close(file);
    if (!ok) return onnx_wrong(model, KF_INPUT, "cannot be read: %s", strerror(error));
    return bytes->size ? KF_OK : onnx_wrong(model, KF_INPUT, "the file is empty");
}

static KfStatus unpack(OnnxModel *model, const Bytes *bytes) {
    OnnxBreak at;
    if (!onnx_wire_check(&onnx__model_proto__descriptor, bytes->data, bytes->size, &at))
        return onnx_wrong(model, KF_INPUT, "not an ONNX model, or a damaged one: %s (byte %zu)",
                          at.why, at.offset);
    model->proto = onnx__model_proto__unpack(NULL, bytes->size, bytes->data);
    if (!model->proto)
        return onnx_wrong(model, KF_INPUT,
                          "not an ONNX model, or a damaged one: a field is of another kind");
    return KF_OK;
}

/* --- versions */

static bool is_standard(const char *domain) {
    return !domain || !*domain || strcmp(domain, "ai.onnx") == 0;
}

static KfStatus check_versions(OnnxModel *model) {
    const Onnx__ModelProto *proto = model->proto;
    if (!proto->graph) return onnx_wrong(model, KF_INPUT, "not an ONNX model: it has no graph");
    if (!proto->has_ir_version)
        return onnx_wrong(model, KF_INPUT, "not an ONNX model: it has no IR version");
    if (proto->ir_version < 1 || proto->ir_version > ONNX_IR_NEWEST)
        return onnx_wrong(model, KF_INPUT, "its IR version is %lld, and 1 to %d are known",
                          (long long)proto->ir_version, ONNX_IR_NEWEST);
    for (size_t i = 0; i < proto->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *set = proto->opset_import[i];
        if (!is_standard(set->domain)) continue;
        if (set->version < 1 || set->version > ONNX_OPSET_NEWEST)
            return onnx_wrong(model, KF_INPUT, "its operator set is %lld, and 1 to %d are known",
                              (long long)set->version, ONNX_OPSET_NEWEST);
        if (model->opset && model->opset != set->version)
            return onnx_wrong(model, KF_INPUT, "it imports operator sets %lld and %lld at once",
                              (long long)model->opset, (long long)set->version);
        model->opset = set->version;
    }
    if (!model->opset && proto->ir_version < 3) model->opset = 1; /* which had no imports */
    return model->opset ? KF_OK
                        : onnx_wrong(model, KF_INPUT, "it imports no set of standard operators");
}

KfStatus onnx_model_open(const char *path, OnnxModel *model) {
    *model = (OnnxModel){.arena = arena_open(), .path = path};
    Bytes bytes = {0};
    KfStatus status = map(model, &bytes);
    if (status == KF_OK) status = unpack(model, &bytes);
    if (status == KF_OK) status = check_versions(model);
    if (bytes.size) munmap((void *)(uintptr_t)bytes.data, bytes.size);
    return status;
}

void onnx_model_close(OnnxModel *model) {
    if (model->proto) onnx__model_proto__free_unpacked(model->proto, NULL);
    arena_close(model->arena);
}
