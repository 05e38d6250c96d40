#!/usr/bin/env bash
# A list of kernels tuned by an array job of Slurm: each task has its shard of the list and a store of its own; the
# stores become one. Where there is a cluster, array.sbatch and `gather` are all of it. Here a cluster of one node is
# made for the occasion, in a temporary folder: as root, with daemons of its own on ports of its own.
set -eu
source "$(dirname "$0")/fleet.sh"
[ "$(id -u)" = 0 ] || { echo "slurm.sh starts daemons of its own: run it as root" >&2; exit 4; }
need munged munge
for program in slurmctld slurmd sbatch squeue; do need $program slurm-wlm; done

daemons=()
stop() {
    [ ${#daemons[@]} = 0 ] || kill "${daemons[@]}" 2>/dev/null || true
    wait
    rm -rf "$folder"
}
trap stop EXIT

# --- a cluster of this machine

host=$(hostname -s) cpus=$(nproc)
export SLURM_CONF=$folder/slurm.conf
cat >"$SLURM_CONF" <<END
ClusterName=fleet
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
AuthInfo=socket=$folder/munge.socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
NodeName=localhost NodeAddr=127.0.0.1 NodeHostname=$host CPUs=$cpus State=UNKNOWN
PartitionName=all Nodes=localhost Default=YES MaxTime=INFINITE State=UP
END
mkdir "$folder/state" "$folder/spool" "$folder/log"
chmod 755 "$folder"
(umask 077 && head -c 128 /dev/urandom >"$folder/munge.key")

# `daemon NAME WORDS…`: in the foreground of its own process, so that it is ours to stop.
daemon() { "$@" >"$folder/log/$1" 2>&1 & daemons+=($!); }
daemon munged --foreground --force --key-file "$folder/munge.key" --socket "$folder/munge.socket" \
    --pid-file "$folder/munged.pid" --log-file "$folder/log/munge" --seed-file "$folder/munge.seed"
daemon slurmctld -D
daemon slurmd -D -N localhost

# `await WHAT COMMAND…`: up to 30 s.
await() {
    local what=$1
    shift
    for _ in $(seq 150); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.2
    done
    echo "$what did not come up; the end of its log:" >&2
    tail -n 5 "$folder"/log/* >&2
    exit 4
}
is_idle() { sinfo --noheader --format %t | grep -q idle; }
await "the cluster" is_idle

# --- the job

echo "== $shards tasks on $cpus CPUs of $host"
job=$(sbatch --parsable --array "1-$shards" --output "$folder/log/task-%a" --chdir "$folder" \
    "$here/array.sbatch" "$list" "$folder" "${search[@]}")
while [ -n "$(squeue --noheader --jobs "$job" 2>/dev/null)" ]; do sleep 0.5; done
cat "$folder"/log/task-*
gather "$folder"/shard*/kfuse.db
