#!/usr/bin/env bash
# f32 matrix products, MxNxK: the tile that wins on squares is not that of tall and thin or of few rows.
# examples/autotune_sgemm.sh [DEVICE [small]]
source "$(dirname "$0")/common.sh"

at() {
    local m n k
    IFS=x read -r m n k <<<"$1"
    tune 'a @ b' --shape "a=${m}x$k" --shape "b=${k}x$n" "${@:2}"
}
flips 'a @ b, f32, MxNxK' $(sized '4096x4096x4096 1024x1024x1024 16384x64x1024 8x4096x4096' '60x60x60 300x3x20')
