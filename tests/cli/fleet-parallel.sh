# examples/fleet/parallel.sh: shards of a list, each with a store of its own, by GNU parallel; merged they answer it all.
command -v parallel >/dev/null || skip 'GNU parallel is not installed'
[ "$device" = cpu ] || skip 'one job a GPU is for hosts with several'
run "$SOURCE/examples/fleet/parallel.sh" cpu small
expect_status 0
expect_no_err
[ "$(printf '%s\n' "$out" | grep -c '^shard ./3 of 6 lines: 2 lines: 2 tuned')" = 3 ] || fail 'three shards of two lines'
[ "$(printf '%s\n' "$out" | grep -c ' imported$')" -ge 6 ] || fail 'six problems are imported'
expect_out '6 lines: 6 tuned, 0 were in the store, 0 failed'
expect_out '6 lines: 0 tuned, 6 were in the store, 0 failed'

# On a host of two GPUs each job is told one of them, and the passes over what was merged are told none.
cat >kfuse-told <<'END'
#!/bin/sh
case $1 in
    devices) echo 'cuda:0  NVIDIA H200  sm_90'; echo 'cuda:1  NVIDIA H200  sm_90' ;;
    tune-all) echo "$@" >>"$TMP/told" ;;
esac
END
chmod +x kfuse-told
KFUSE=$TMP/kfuse-told run "$SOURCE/examples/fleet/parallel.sh"
expect_status 0
[ "$(grep -c -- '--shard ./4 --quiet --device cuda:[01]$' told)" = 4 ] || fail 'a job is told no GPU'
[ "$(grep -vc -- --device told)" = 2 ] || fail 'a pass over what was merged is told a device'

# Without it, one line says what to install.
mkdir bin
for program in bash env dirname mktemp head cat sed rm; do ln -s "$(command -v $program)" bin/; done
PATH=$TMP/bin run "$SOURCE/examples/fleet/parallel.sh" cpu small
expect_status 4
[ "$err" = 'parallel is missing: apt-get install parallel' ] || fail 'not one clear line'
