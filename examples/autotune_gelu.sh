#!/usr/bin/env bash
# gelu at several sizes and types: how wide its loads are best (VEC; on a CPU: UNROLL) moves with both.
# examples/autotune_gelu.sh [DEVICE [small]]
source "$(dirname "$0")/common.sh"

at() { tune 'gelu(x)' --shape "${1%:*}" --dtype "${1#*:}" "${@:2}"; }
flips 'gelu(x)' $(sized '4096x4096:f32 1024x1024:f32 128x128:f32 4096x4096:bf16' '64x100:f32 7x13:bf16')
