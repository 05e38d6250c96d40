/* Cubin: what a compiled CUDA binary says about itself, read without a driver. It is a 64-bit ELF
 * file: .text.K            the kernel's code (out-of-line helpers included) .nv.constantN.K    its
 * constants; .nv.constant3 and .nv.global.init: those of the module .nv.info           records {u8
 * format, u8 attribute, u16 size, …}: registers and stack by symbol .nv.shared.K       static
 * shared memory Every size is checked: the bytes may come from a damaged store. */
#ifndef KF_CUBIN_H
#define KF_CUBIN_H

#include <stdbool.h>

#include "tuner/result.h"

/* An ELF file whose sections all lie inside `size`. */
bool cubin_valid(const void *bytes, size_t size);
/* False if damaged or without that kernel. `machine_code` is a hash of code and constants,
 * independent of the kernel's name and of what else is in the file. */
bool cubin_resources(const void *bytes, size_t size, const char *entry, Resources *resources,
                     uint64_t *machine_code);

#endif
