/* The shim as a device for tests: CUDA sources compiled by the host's C++ compiler behind shim.h,
 * blocks run by block.c. Kernels may touch what was allocated, to the byte, but what is forbidden.
 */
#ifndef SHIM_DEVICE_SHIM_H
#define SHIM_DEVICE_SHIM_H

#include "tuner/device.h"

extern const Device device_shim;

/* Takes bytes of an allocation from kernels (guards, what lies between tensors), and gives them
 * back. */
void shim_forbid(DeviceState *state, Address from, size_t bytes);
void shim_allow(DeviceState *state, Address from, size_t bytes);
/* Times a thread has waited, in all launches. */
uint64_t shim_waits(const DeviceState *state);

#endif
