/* Any bytes as a model: refused with a line, or listed as text and as JSON. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "onnx/onnx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void list(KfSession *session, const char *path, bool json) {
    const OnnxDim dim = {"batch", 5, 2};
    OnnxOptions options = {
        .path = path, .dims = &dim, .dim_count = 1, .device = "cpu", .json = json};
    FILE *out = fopen("/dev/null", "w");
    KfStatus status = onnx_run(session, &options, out);
    if (status != KF_OK && status != KF_INPUT && status != KF_USAGE) abort();
    fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static KfSession *session;
    char path[64];
    int file = memfd_create("model", 0);
    if (!session && kf_session_open(&session, NULL) != KF_OK) abort();
    if (file < 0 || write(file, data, size) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    list(session, path, false);
    list(session, path, true);
    close(file);
    return 0;
}
