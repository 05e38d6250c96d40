# Programs of several kernels at the ends of what there is: arrays without elements, of one, of eight axes; many
# statements, outputs, kernels; names like generated ones; Ctrl-C. Each kernel, and all together, are judged.
device=cpu
for shape in 0x5 5x0 2x1x1x1x3x1x1x4; do
    tuned 'h = x * 2; return sum(h, axis=all), h, x - max(h, axis=all), sum(softmax(x), axis=0)' --shape $shape
done

printf 't5 = in_x + v3\nkf_rows = sum(t5, axis=0)\nk_row = softmax(t5 * kf_rows)\nreturn t5, kf_rows, k_row\n' >names.kf
tuned -f names.kf --shape 12x10

# What is updated in place is updated last, though another kernel shares its shape.
program='v = y * 2; m = max(v, axis=all); h = x + m; x = x * 0.5 + y; return v, h, x'
npy x.npy f32 2x2 1 -2 3 4
npy y.npy f32 2x2 1 0 0 2
tuned run "$program" x=x.npy y=y.npy -o v=v.npy -o h=h.npy -o x=new.npy
expect_npy h.npy 'f32 2x2 5 2 7 8'
expect_npy new.npy 'f32 2x2 1.5 -1 1.5 4'

for i in $(seq 32); do
    case $((i % 4)) in
    0) echo "o$i = x + $i" ;;
    1) echo "o$i = sum(x, axis=0) * $i" ;;
    2) echo "o$i = max(x) + $i" ;;
    3) echo "o$i = mean(x, axis=all) - $i" ;;
    esac
done >outputs.kf
echo "return $(seq -s, 32 | sed 's/[0-9]*/o&/g')" >>outputs.kf
tuned -f outputs.kf --shape 12x10

# `statements COUNT FORM`: FORM COUNT times, %s the statement before; cut within LIMIT seconds.
statements() {
    local i last=x
    for i in $(seq "$1"); do
        echo "a$i = ${2//%s/$last}"
        last=a$i
    done >long.kf
    echo "return $last" >>long.kf
}
expect_groups() {
    run timeout 30 "$KFUSE" dump --groups -f long.kf --shape 64x64 --device cpu
    expect_status "$1"
}
statements 1000 'tanh(%s) * x'
expect_groups 0
expect_out 'fewest kernels: 1 kernel'
statements 1000 '%s - mean(%s) + 1'
expect_groups 0
expect_out 'fewest kernels: 125 kernels'
statements 500 'softmax(%s * 2)'
expect_groups 0
expect_out 'fewest kernels: 125 kernels'
statements 5000 '%s - mean(%s, axis=0) * 2'
expect_groups 3
expect_err 'no order of at most'

# Ctrl-C between one kernel and the next.
for wait in 1.5; do
    "$KFUSE" 'a = softmax(x * 2 - mean(x, axis=0)); return a, sum(a, axis=all)' --shape 300x500 --device cpu \
        --effort full --budget 30 --retune --quiet >"$TMP/.out" 2>"$TMP/.err" &
    pid=$!
    sleep $wait
    kill -INT $pid
    status=0
    wait $pid || status=$?
    out=$(cat "$TMP/.out") err=$(cat "$TMP/.err")
    expect_status 130
    expect_no_process
    [ "$(printf '%s' "$err" | grep -c interrupted)" = 1 ] || fail "not said once"
done
run "$KFUSE" cache ls
expect_status 0

# What is handed on may have no elements, while the result has some: sums over nothing.
tuned 'softmax(a @ b) @ c' --shape a=3x5 --shape b=5x0 --shape c=0x4 --no-tune
expect_out 'right      all 12 elements'
