#!/usr/bin/env bash
# softmax on short, middling and long rows: few threads a row and many rows a block, or the whole block (on a GPU: a
# cluster of blocks) a row. examples/autotune_softmax.sh [DEVICE [small]]
source "$(dirname "$0")/common.sh"

at() { tune 'softmax(x)' --shape "$@"; }
flips 'softmax(x), f32' $(sized '65536x64 4096x4096 512x131072' '300x24 6x5000')
