/* Which CUDA devices there are and what they are, with as little started as will answer. */
#ifndef KF_CUDA_IDENTITY_H
#define KF_CUDA_IDENTITY_H

#include "tuner/device.h"

/* GPUs by the kernel driver's files below `root` ("/proc/driver/nvidia"), and CUDA_VISIBLE_DEVICES;
 * -1 if the files do not tell. */
int cuda_count_files(const char *root, const char *visible);
/* title, software, compiler, and a key of their own: model, driver and NVRTC, which a record of the
 * last start maps to the whole identity. False where several models make it unclear which one is
 * meant. */
bool cuda_identify_files(const char *root, const char *visible, int index, DeviceIdentity *identity,
                         Why *why);

/* See Device. */
int cuda_count(Why *why);
bool cuda_identify(int index, bool start, DeviceIdentity *identity, Why *why);

#endif
