/* In: a path. Out: an array with its shape and type; and back. The header is a Python dictionary
 * literal of three known keys; anything else in it is refused. */
#include "cli/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *descr;
    KfType type;
} types[] = {
    {"|b1", KF_BOOL}, {"|u1", KF_U8},  {"|i1", KF_I8},  {"<i4", KF_I32},        {"<i8", KF_I64},
    {"<f2", KF_F16},  {"<f4", KF_F32}, {"<f8", KF_F64}, {"<u2", KF_PLAIN_TYPE}, /* bf16's bits: the
                                                                                   caller says so by
                                                                                   --dtype */
};

enum { HEADER_MAX = 1 << 16, TYPES = sizeof types / sizeof *types };

static bool fail(char *why, size_t size, const char *path, const char *what) {
    snprintf(why, size, "%s: %s", path, what);
    return false;
}

size_t npy_count(const KfTensor *tensor) {
    size_t count = 1;
    for (int d = 0; d < tensor->rank; d++)
        if (__builtin_mul_overflow(count, (size_t)tensor->dim[d], &count)) return SIZE_MAX;
    return count;
}

static const char *after_key(const char *header, const char *key) {
    const char *at = strstr(header, key);
    if (!at) return NULL;
    at += strlen(key);
    at += strspn(at, " ");
    if (*at != ':') return NULL;
    at++;
    return at + strspn(at, " ");
}

static bool parse_type(const char *header, KfTensor *tensor, size_t *element) {
    const char *at = after_key(header, "'descr'");
    if (!at || *at != '\'') return false;
    for (size_t i = 0; i < TYPES; i++) {
        if (strncmp(at + 1, types[i].descr, 3) != 0 || at[4] != '\'') continue;
        tensor->type = types[i].type;
        *element = types[i].type == KF_PLAIN_TYPE ? 2 : kf_type_size(types[i].type);
        return true;
    }
    return false;
}

static bool parse_shape(const char *header, KfTensor *tensor) {
    const char *at = after_key(header, "'shape'");
    if (!at || *at != '(') return false;
    at++;
    tensor->rank = 0;
    while (at += strspn(at, " ,"), *at != ')') {
        char *end;
        errno = 0;
        long long dim = strtoll(at, &end, 10);
        if (end == at || errno || dim < 0 || tensor->rank == KF_RANK_MAX) return false;
        tensor->dim[tensor->rank++] = dim;
        at = end;
    }
    return true;
}

static const char *parse_header(char *header, KfTensor *tensor, size_t *element) {
    const char *order = after_key(header, "'fortran_order'");
    if (!order) return "not a NumPy header";
    if (strncmp(order, "False", 5) != 0)
        return "Fortran order is not supported: save it with np.ascontiguousarray";
    if (!parse_type(header, tensor, element))
        return "its type is not supported; bool int8 uint8 int32 int64 float16 float32 float64, "
               "and uint16 for bf16 are";
    return parse_shape(header, tensor) ? NULL
                                       : "its shape is damaged, or has more than 8 dimensions";
}

static const char *read_header(FILE *file, KfTensor *tensor, size_t *element) {
    unsigned char head[12];
    if (fread(head, 1, 8, file) != 8 || memcmp(head, "\x93NUMPY", 6) != 0) return "not a .npy file";
    if (head[6] < 1 || head[6] > 3) return "a .npy format of a later version";
    size_t field = head[6] == 1 ? 2 : 4, length = 0;
    if (fread(head + 8, 1, field, file) != field) return "truncated";
    for (size_t i = field; i-- > 0;) length = length << 8 | head[8 + i];
    if (length > HEADER_MAX) return "its header is damaged";
    char *header = malloc(length + 1);
    if (!header) return "out of memory";
    const char *problem = "truncated";
    if (fread(header, 1, length, file) == length) {
        header[length] = '\0';
        problem = parse_header(header, tensor, element);
    }
    free(header);
    return problem;
}

/* Compares with the file's size before anything of that size is allocated. */
static const char *read_data(FILE *file, Npy *npy, size_t element) {
    struct stat status;
    size_t count = npy_count(&npy->tensor);
    if (count > SIZE_MAX / 16) return "its shape is damaged";
    npy->bytes = count * element;
    if (fstat(fileno(file), &status) != 0) return strerror(errno);
    if (S_ISREG(status.st_mode) && (size_t)(status.st_size - ftello(file)) < npy->bytes)
        return "truncated";
    npy->data = aligned_alloc(64, (npy->bytes + 64) / 64 * 64 + 64);
    if (!npy->data) return "out of memory";
    return fread(npy->data, 1, npy->bytes, file) == npy->bytes ? NULL : "truncated";
}

bool npy_read(const char *path, Npy *npy, char *why, size_t size) {
    *npy = (Npy){0};
    FILE *file = fopen(path, "rb");
    if (!file) return fail(why, size, path, strerror(errno));
    size_t element = 0;
    const char *problem = read_header(file, &npy->tensor, &element);
    if (!problem) problem = read_data(file, npy, element);
    fclose(file);
    if (!problem) return true;
    npy_free(npy);
    return fail(why, size, path, problem);
}

static const char *descr_of(KfType type) {
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].type == type) return types[i].descr;
    return "<u2";
}

static bool write_all(FILE *file, const KfTensor *tensor, const void *data) {
    char header[512];
    int n = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                     descr_of(tensor->type));
    for (int d = 0; d < tensor->rank; d++)
        n += snprintf(header + n, sizeof header - (size_t)n, "%" PRId64 "%s", tensor->dim[d],
                      d + 1 < tensor->rank ? ", "
                      : tensor->rank == 1  ? ","
                                           : "");
    n += snprintf(header + n, sizeof header - (size_t)n, "), }");
    while ((10 + n + 1) % 64 != 0) header[n++] = ' ';
    header[n++] = '\n';
    unsigned char head[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(n & 255), (unsigned char)(n >> 8)};
    size_t bytes = npy_count(tensor) * kf_type_size(tensor->type);
    return fwrite(head, 1, sizeof head, file) == sizeof head &&
           fwrite(header, 1, (size_t)n, file) == (size_t)n && fwrite(data, 1, bytes, file) == bytes;
}

/* Where a file is written first: a pipe or a terminal in place, a file beside itself. */
typedef struct Target {
    char path[4096];
    bool special;
    FILE *file;
} Target;

static bool open_target(Target *target, const char *path, char *why, size_t size) {
    struct stat status;
    target->special = stat(path, &status) == 0 && !S_ISREG(status.st_mode);
    int length = snprintf(target->path, sizeof target->path, target->special ? "%s" : "%s.%ld.tmp",
                          path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof target->path)
        return fail(why, size, path, "the path is too long");
    target->file = fopen(target->path, "wb");
    return target->file || fail(why, size, path, strerror(errno));
}

bool npy_writable(const char *path, char *why, size_t size) {
    Target target;
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return true; /* opening it may be seen, or wait */
    if (!open_target(&target, path, why, size)) return false;
    fclose(target.file);
    unlink(target.path);
    return true;
}

bool npy_write(const char *path, const KfTensor *tensor, const void *data, char *why, size_t size) {
    Target target;
    if (!open_target(&target, path, why, size)) return false;
    bool ok = write_all(target.file, tensor, data);
    int error = errno;
    if (fclose(target.file) != 0 && ok) ok = false, error = errno;
    if (ok && !target.special && rename(target.path, path) != 0) ok = false, error = errno;
    if (ok) return true;
    if (!target.special) unlink(target.path);
    return fail(why, size, path, strerror(error));
}

void npy_free(Npy *npy) {
    free(npy->data);
    npy->data = NULL;
}
