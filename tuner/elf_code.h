/* The machine code of a 64-bit ELF object, as a hash: equal means that the same instructions would
 * run. */
#ifndef KF_ELF_CODE_H
#define KF_ELF_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Over code, constants and the names of the functions it calls; not over its own symbols' names,
 * notes and addresses. False if the bytes are no such object or are damaged. */
bool elf_code_hash(const void *bytes, size_t size, uint64_t *hash);

#endif
