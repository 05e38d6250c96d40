/* NumPy .npy files (format 1 to 3, C order), read and written. */
#ifndef KF_NPY_H
#define KF_NPY_H

#include "kfuse.h"

typedef struct Npy {
    KfTensor tensor; /* type as NumPy has it: bf16 comes as uint16, which is KF_PLAIN_TYPE here */
    void *data;      /* malloc'd, aligned to 64 bytes */
    size_t bytes;
} Npy;

/* False with one line in `why`: unreadable, damaged, truncated, a type or an order that is not
 * supported. */
bool npy_read(const char *path, Npy *npy, char *why, size_t size);
/* Writes a temporary file beside `path` and renames it: never half a file. bf16 as uint16. */
bool npy_write(const char *path, const KfTensor *tensor, const void *data, char *why, size_t size);
/* Whether npy_write could begin: tells before anything is tuned that a folder is missing or
 * read-only. */
bool npy_writable(const char *path, char *why, size_t size);
void npy_free(Npy *npy);
/* Elements of a shape; SIZE_MAX on overflow. */
size_t npy_count(const KfTensor *tensor);

#endif
