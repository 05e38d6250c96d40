# triton #832, ROCm/triton #944: a 32-bit index wraps; what counts is the largest byte offset, not the number of elements.
index() { run "$KFUSE" dump --plan "$@"; expect_status 0; expect_out 'index  '; printf '%s\n' "$out" | sed -n 's/^index *//p'; }
[ "$(index 'relu(x)' --shape 1000)" = i32 ] || fail "1000 elements need no wide index"
[ "$(index 'relu(x)' --shape 2147483656 --dtype f16)" = i64 ] || fail "2^31 + 8 elements"
[ "$(index 'x + b' --shape 65536x16392 --shape b=16392)" = i64 ] || fail "2^30 elements of four bytes"
