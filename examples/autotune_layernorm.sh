#!/usr/bin/env bash
# Layer normalisation with its gain and bias, one kernel, on short, middling and long rows.
# examples/autotune_layernorm.sh [DEVICE [small]]
source "$(dirname "$0")/common.sh"

at() { tune 'layernorm(x, g, b)' --shape "$1" --shape "g=${1#*x}" --shape "b=${1#*x}" "${@:2}"; }
flips 'layernorm(x, g, b), f32' $(sized '65536x64 4096x4096 512x131072' '300x24 6x5000')
