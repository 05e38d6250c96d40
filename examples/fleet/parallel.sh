#!/usr/bin/env bash
# A list of kernels tuned by GNU parallel: each job has its shard of the list and a store of its own; the stores become
# one. On a host with GPUs a job at a time on each (for one list on one host `kfuse tune-all --devices all` does it,
# too); with `parallel --sshlogin` the same line spreads over hosts that share $folder.
set -eu
source "$(dirname "$0")/fleet.sh"
trap 'rm -rf "$folder"' EXIT
need parallel parallel

gpus=$("$kfuse" devices | grep -c '^cuda.*sm_') || true
slot=() # of the jobs alone
[ -n "$device" ] || [ "$gpus" -lt 2 ] || slot=(--device 'cuda:$(({%} - 1))') # a job slot is a GPU
[ "$gpus" -gt 0 ] || gpus=2 # two jobs on one CPU: enough to show it, too many to measure well
echo "== $shards shards, $gpus at a time"
seq "$shards" | parallel --will-cite --keep-order --jobs "$gpus" \
    KFUSE_CACHE="$folder"/shard{} "$kfuse" tune-all "$list" --shard {}/"$shards" --quiet "${search[@]}" "${slot[@]}"
gather "$folder"/shard*/kfuse.db
