#!/usr/bin/env bash
# Fused kernels from one line each. The first also exists by hand, and both race; nobody wrote the others. The win over
# one kernel per operation (column eager/) grows with the chain. examples/fusegen_demo.sh [DEVICE [small]]
source "$(dirname "$0")/common.sh"

shape=$(sized 4096x4096 64x100)
head_row "$shape, f32"
for line in 'gelu(x + b)' 'relu(x + res)' 'gelu(x + b) + res'; do
    bias=()
    case $line in *b*) bias=(--shape "b=${shape#*x}") ;; esac
    tune "$line" --shape "$shape" "${bias[@]}"
    row "$line"
    [ "$(field rivals)" = - ] || echo "    raced, in times of the winner (95 % interval): $(field rivals)"
done
