# examples/fleet/slurm.sh: the same by an array job, on a cluster of one node that the script starts and stops.
for program in munged slurmctld slurmd sbatch; do
    command -v $program >/dev/null || skip "Slurm is not installed: no $program"
done
[ "$(id -u)" = 0 ] || skip 'daemons are started as root'
TMPDIR=$TMP run "$SOURCE/examples/fleet/slurm.sh" cpu small
expect_status 0
expect_no_err
[ "$(printf '%s\n' "$out" | grep -c '^shard ./3 of 6 lines: 2 lines: 2 tuned')" = 3 ] || fail 'three tasks of two lines'
[ "$(printf '%s\n' "$out" | grep -c ' imported$')" -ge 6 ] || fail 'six problems are imported'
expect_out '6 lines: 6 tuned, 0 were in the store, 0 failed'
expect_out '6 lines: 0 tuned, 6 were in the store, 0 failed'
[ -z "$(grep -lsz "^SLURM_CONF=$TMP" /proc/[0-9]*/environ)" ] || fail 'a daemon still runs'
