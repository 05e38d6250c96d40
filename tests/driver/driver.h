/* A CUDA driver without a GPU, for tests of what happens between kfuse and a driver: contexts, modules, memory and
 * launches as the real one has them (a function launches in the context of its module alone, a module and memory go
 * in theirs), and two kernels, which the host runs at once. It is libcuda.so.1 to who loads it. */
#ifndef KF_TEST_DRIVER_H
#define KF_TEST_DRIVER_H

#include "tuner/cuda_api.h"

typedef struct Driver {
    CUcontext (*context)(void); /* a new one, nobody's current */
    int (*modules)(void);       /* loaded now */
    int (*allocations)(void);
    int (*launches)(void); /* since the start */
    int (*twins)(void);    /* those of entries that end in _any */
    int (*faults)(void);   /* calls in a wrong context, or that a capture forbids */
    void (*capture)(int);  /* 1: some stream is captured; 0: none */
    int (*mode)(void);     /* this thread's capture mode, 0 at first */
} Driver;

extern const Driver kf_test_driver;

#endif
