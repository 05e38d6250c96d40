/* How the threads of a one-dimensional grid walk over elements, in the device's oracle. */
#ifndef KF_ORACLE_GRID_H
#define KF_ORACLE_GRID_H

static __device__ int64_t first_index(void) {
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ int64_t index_step(void) {
    return (int64_t)gridDim.x * blockDim.x;
}

#endif
