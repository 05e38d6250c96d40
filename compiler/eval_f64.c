/* Blocks in, blocks out, computed in f64 with values and functions in long double. */
#define KF_COMPUTE_BITS 64
#define BLOCK_KERNEL block_kernel_f64
#include "compiler/eval_block.inc"
