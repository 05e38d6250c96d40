# examples/embed.c and threads.c under valgrind, their kernels held to what valgrind knows: no error and no leak where one
# tunes, where the store answers, and where nothing can be tuned.
command -v valgrind >/dev/null || skip "no valgrind"
[ "$device" = cpu ] || skip "it runs on the cpu"
embed=$BUILD/tests/example_embed
! grep -qaE "__(asan|tsan)_init" "$embed" || skip "built with sanitizers of its own"
run env KFUSE_CPU_ISA=x86-64-v3 "$KFUSE" devices
case $out in *"KFUSE_CPU_ISA"*) skip "this machine has no AVX2" ;; esac

clean() { run valgrind -q --leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect \
    --error-exitcode=99 "$@"; }
export KFUSE_CPU_ISA=x86-64-v3
clean "$embed"
expect_status 0
expect_no_err
expect_out 'worst error'
tuned=$out
KFUSE_WORKER=$TMP/nowhere clean "$embed" # the store answers: no worker is asked for
expect_status 0
expect_no_err
[ "$out" = "$tuned" ] || fail "not the stored answer: $tuned"
rm -r "$KFUSE_CACHE"
KFUSE_WORKER=$TMP/nowhere clean "$embed"
expect_status 4
expect_no_out
[ "$err" = "kfuse: KFUSE_WORKER names $TMP/nowhere, which is no program" ] || fail "another complaint"
run "$BUILD/tests/example_threads" # fills the store
expect_status 0
clean "$BUILD/tests/example_threads"
expect_status 0
expect_no_err
expect_out 'worst error'
