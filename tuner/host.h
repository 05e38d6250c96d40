/* What the CPU device is: facts of this machine, from the kernel's files. */
#ifndef KF_HOST_H
#define KF_HOST_H

#include "tuner/device.h"

/* "AMD EPYC 7B13 64-Core Processor", or the architecture's name. */
void host_model(char *text, size_t size);
/* "x86-64-v3", "aarch64". */
const char *host_arch(void);
/* The level of instructions that KFUSE_CPU_ISA holds kernels to, "x86-64-v3"; NULL: none is named. False
 * with the choices in `why` where it names none that this machine has. */
bool host_isa(const char **isa, Why *why);
/* Bytes of all last-level caches that the allowed CPUs reach; 0: unknown. */
int64_t host_cache(void);
int64_t host_memory(void); /* bytes in all */

#endif
