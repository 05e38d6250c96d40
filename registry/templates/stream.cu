//! kernel   kf_stream
//! input    in0[bytes0] : u8
//! output   out0[bytes1] : u8
//! args     in0 out0 bytes0 bytes1
//! launch   grid = ceildiv(max(bytes0, bytes1), 16 * __BLOCK__ * __UNROLL__)  block = __BLOCK__  dependent = 1
//! knob     __BLOCK__ 256 1024
//! knob     __UNROLL__ 1 2

// Streams arrays in and out, 16 bytes at a time: what the memory gives a kernel of this many reads and
// writes. The lines above are for one of each; emit_stream writes them for others.
#ifndef KF_READS
#define KF_READS 1
#define KF_WRITES 1
#define KF_PARAMETERS const uint4 *in0, uint4 *out0, const long long bytes0, const long long bytes1
#define KF_INPUTS in0,
#define KF_OUTPUTS out0
#define KF_BYTES bytes0, bytes1
#endif

extern "C" __global__ void __launch_bounds__(__BLOCK__) KF_ENTRY(kf_stream)(KF_PARAMETERS) {
    const uint4 *const in[KF_READS + 1] = {KF_INPUTS 0};
    uint4 *const out[KF_WRITES] = {KF_OUTPUTS};
    const long long bytes[KF_READS + KF_WRITES] = {KF_BYTES};
    uint4 x[__UNROLL__];
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 // as k_begin of the kernels that it is compared with
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (bytes[0] < 1 << 25) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
    const long long first = (long long)blockIdx.x * (__BLOCK__ * __UNROLL__) + threadIdx.x;
#pragma unroll
    for (int u = 0; u < __UNROLL__; u++) {
        const long long i = first + u * __BLOCK__;
        x[u] = make_uint4(u, u, u, u);
#pragma unroll
        for (int r = 0; r < KF_READS; r++) {
            if (i >= bytes[r] / 16) continue;
            const uint4 y = in[r][i];
            x[u] = make_uint4(x[u].x ^ y.x, x[u].y ^ y.y, x[u].z ^ y.z, x[u].w ^ y.w);
        }
    }
#pragma unroll
    for (int u = 0; u < __UNROLL__; u++) {
        const long long i = first + u * __BLOCK__;
#pragma unroll
        for (int w = 0; w < KF_WRITES; w++)
            if (i < bytes[KF_READS + w] / 16) out[w][i] = x[u];
    }
}
