# NumPy files that cannot be read, or do not fit: the file is named with the reason, no output appears.
npy good.npy f32 2x3 1 2 3 4 5 6

printf 'hello, world, this is no array' >garbage.npy
: >empty.npy
head -c 7 good.npy >magic.npy
head -c 40 good.npy >header.npy
head -c 270 good.npy >data.npy
# header NAME DESCR ORDER SHAPE: a file with that header and 24 bytes of data.
header() {
    { printf '\x93NUMPY\x01\x00\x76\x00'; printf "%-117s\n" "{'descr': '$2', 'fortran_order': $3, 'shape': ($4), }"; head -c 24 /dev/zero; } >"$1"
}
header fortran.npy '<f4' True '2, 3'
header endian.npy '>f4' False '2, 3'
header complex.npy '<c8' False '3,'
header object.npy '|O' False '3,'
header huge.npy '<f4' False '4611686018427387904, 4'
header large.npy '<f4' False '1000000, 1000000'
header negative.npy '<f4' False '-2, 3'
header rank9.npy '<f4' False '1, 1, 1, 1, 1, 1, 1, 1, 1'
header unclosed.npy '<f4' False '2, 3, x'
printf '\x93NUMPY\x09\x00\x76\x00' >version.npy
printf '\x93NUMPY\x02\x00\xff\xff\xff\xff' >length.npy
head -c 4096 /dev/urandom >random.npy
mkdir folder.npy

for file in garbage empty magic header data fortran endian complex object huge large negative rank9 unclosed version \
    length random folder missing; do
    refused 1 "$file.npy: " run 'x + 1' "x=$file.npy" -o out.npy
    [ "$(printf '%s\n' "$err" | wc -l)" = 1 ] || fail "more than one line"
done
refused 1 'truncated' run 'x + 1' x=data.npy -o out.npy
refused 1 'Fortran' run 'x + 1' x=fortran.npy -o out.npy
refused 1 'No such file' run 'x + 1' x=missing.npy -o out.npy
if [ "$(id -u)" != 0 ]; then
    cp good.npy locked.npy
    chmod 000 locked.npy
    refused 1 'Permission denied' run 'x + 1' x=locked.npy -o out.npy
    chmod 600 locked.npy && rm locked.npy
fi

# Damage at every byte of the header: refused or read, never more.
for at in $(seq 0 9) 20 30 40 50 60 70; do
    cp good.npy damaged.npy
    printf '\xff' | dd of=damaged.npy bs=1 seek="$at" conv=notrunc status=none
    run "$KFUSE" run 'i32(x) @ i32(x).T' x=damaged.npy -o out.npy # exit 3 if the file can be read
    case $status in 1 | 3) ;; *) fail "exit $status with byte $at damaged" ;; esac
    expect_no_out
done

# Inputs and outputs that are missing, unknown, or of another type than the option says.
refused 1 "no file for input 'res': add res=FILE.npy" run 'x + res' x=good.npy --shape res=2x3 -o out.npy
refused 1 "'res'" run 'x + res' x=good.npy -o out.npy
refused 1 "'y'" run 'x + 1' x=good.npy y=good.npy -o out.npy
refused 2 "no file for output 'out': add -o out=FILE.npy" run 'x + 1' x=good.npy
refused 2 "no file for output 'b': add -o b=FILE.npy" run 'a = x + 1; b = x + 2' x=good.npy -o a=out.npy
refused 2 "no output 'c'" run 'x + 1' x=good.npy -o c=out.npy -o out.npy
refused 1 "'x' holds f32" run 'x + 1' x=good.npy --dtype x=f16 -o out.npy
refused 1 "'x' holds f32" run 'x + 1' x=good.npy --dtype x=bf16 -o out.npy
npy bits.npy u16 4 3f80
refused 1 '--dtype x=bf16' run 'x + 1' x=bits.npy -o out.npy
refused 1 'do not broadcast' run 'x + y' x=good.npy y=bits.npy --dtype y=bf16 -o out.npy

# An output that cannot be written.
tune run 'x + 1' x=good.npy -o nowhere/out.npy
expect_status 4
expect_no_out
expect_err 'nowhere/out.npy: No such file or directory'
tune run 'x + 1' x=good.npy -o /dev/full
expect_status 4
expect_err '/dev/full: No space left on device'
[ -c /dev/full ] || fail "/dev/full was replaced"
expect_no_process
[ -z "$(files | grep 'tmp$')" ] || fail "a temporary file is left"

# What a file says stands; one file an input and an output.
npy four.npy f32 4 1 2 3 4
refused 1 "'x' has another shape than --shape x says" run 'x + 1' x=four.npy --shape x=1000000 -o out.npy
refused 1 "'x' has another shape than --shape x says" run 'x + 1' x=four.npy --shape x=2x2 -o out.npy
refused 2 "two files for input 'x'" run 'x + 1' x=four.npy x=good.npy -o out.npy
refused 2 "two outputs for one file, 'out.npy'" run 'a = x + 1; b = x + 2' x=four.npy -o a=out.npy -o b=out.npy
refused 2 '-o goes with run, dump' 'x + 1' --shape 4 -o out.npy
refused 4 'runs nothing' run 'x + 1' x=four.npy -o out.npy --device null --trials 1 --quiet
