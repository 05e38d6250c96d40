#!/usr/bin/env bash
# gelu(x + b), for which libraries have no kernel: a hand-written one and the one that is generated from the line race.
# One kernel per operation moves twice the bytes (column eager/). examples/autotune_bias_gelu.sh [DEVICE [small]]
source "$(dirname "$0")/common.sh"

head_row 'gelu(x + b)'
for at in $(sized '4096x4096:f32 4096x4096:bf16 1024x1024:f32' '64x100:f32'); do
    shape=${at%:*}
    tune 'gelu(x + b)' --shape "$shape" --shape "b=${shape#*x}" --dtype "${at#*:}"
    row "$at"
    echo "    raced, in times of the winner (95 % interval): $(field rivals)"
done
