/* Blocks in, blocks out, computed in f32 with values and functions in double. */
#define KF_COMPUTE_BITS 32
#define BLOCK_KERNEL block_kernel_f32
#include "compiler/eval_block.inc"
