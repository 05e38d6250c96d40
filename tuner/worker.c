/* kfuse-worker: compiles, or measures on one device, for the kfuse that started it.
 *   kfuse-worker compile DEVICE
 *   kfuse-worker measure DEVICE INDEX */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tuner/bench.h"
#include "tuner/pool.h"
#include "tuner/wire.h"

static int refuse(void) {
    fputs("kfuse-worker compiles and measures for kfuse, which starts it by itself: run kfuse\n",
          stderr);
    return 2;
}

/* A compiler that runs wild takes 0.3 GB a second; an honest one has not needed half of this. */
static int compile(const Device *device) {
    /* NVRTC grows and shrinks the heap 16 times a compile: keeping it saves 10 %. */
    mallopt(M_TRIM_THRESHOLD, 1000000000);
    mallopt(M_TOP_PAD, 64 << 20);
#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) /* whose shadow counts as data */
    setrlimit(RLIMIT_DATA, &(struct rlimit){(rlim_t)2 << 30, (rlim_t)2 << 30});
#endif
    return pool_serve(device, WIRE_FD);
}

int main(int argc, char **argv) {
    if (argc < 3 || !wire_enter()) return refuse();
    const Device *device = device_find(argv[2]);
    if (device && strcmp(argv[1], "compile") == 0) return compile(device);
    if (device && strcmp(argv[1], "measure") == 0 && argc > 3)
        return bench_serve(device, atoi(argv[3]), WIRE_FD);
    return refuse();
}
