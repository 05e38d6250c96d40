# What a list may look like: line ends, quotes, comments, many words, odd bytes; and what a line cannot say.
tune_all() { run "$KFUSE" tune-all "$@" --device null --trials 2 --quiet; }
# `line STATUS TEXT LINE [WORDS…]`: of a list of one line.
line() {
    local expected=$1 text=$2
    printf '%s\n' "$3" >one.txt
    shift 3
    tune_all one.txt "$@"
    expect_status "$expected"
    expect_out "$text"
}

# Line ends of all kinds, a byte order mark, blank lines, comments, no end.
printf '\xEF\xBB\xBF# a comment\r\n\r\n"relu(x)" --shape 4\r\n  \t\r\n\t'"'x * 2'"' --shape 5   # shapes\r\n'"'x'"'\r--shape 6' >ends.txt
tune_all ends.txt
expect_status 0
for said in 'ends.txt:3  tuned   4 f32' 'ends.txt:5  tuned   5 f32' 'ends.txt:6  tuned   6 f32' '3 lines: 3 tuned'; do expect_out "$said"; done
tune_all - <ends.txt
expect_out '<stdin>:6  stored  6 f32'

# As many words as there are, and the same line twice.
sum=$(seq -s ' + a' -f %g 0 99) shapes=$(for i in $(seq 0 99); do printf ' --shape a%s=4' $i; done)
printf "'a%s'%s\n'a%s'%s\n" "$sum" "$shapes" "$sum" "$shapes" >many.txt
tune_all many.txt
expect_status 0
expect_out '2 lines: 1 tuned, 1 were in the store, 0 failed'

# A line's own options are on top of the command's.
line 0 'tuned   4 f16' 'x*y --shape y=4 --dtype f16' --shape 1 --dtype bf16 --dtype y=f16
line 0 "tuned   4x2 bf16" "'param a = 1; x * a' --shape 4x2 --param a=3" --dtype bf16 --shape 7 --param a=2
line 2 "exit 2: '5' and '6' for one and the same" 'x --shape 5 --shape 6' --shape 4
line 2 'exit 2: a quote is not closed' "'x*3 --shape 4"
line 2 'exit 2: a quote is not closed' "x --shape 4 \"# it's"
line 1 'exit 1: error: the program has no output' "''"
for words in 'run x --shape 4' 'cache clear' 'tune-all one.txt' 'x --shape 4 --help' 'x --shape 4 --version' 'dump --c x --shape 4'; do
    line 2 'exit 2: a line is an expression with its options' "$words"
done
for words in '-o y' '--devices all' '--shard 1/2' '--verify-bucket'; do
    line 2 'exit 2: -o, --devices, --shard and --verify-bucket are no options of a line' "x --shape 4 $words"
done
for words in '--wrt x' '--arch sm_90' --binaries '--dim n=3' '--knob __VEC__' '--rtol 1'; do
    line 2 ' go' "x --shape 4 $words"
done
line 2 'exit 2: --wrt goes with grad' 'x --shape 4 --wrt x'
line 2 'exit 2: --ops goes with the command, for all lines' 'x --shape 4 --ops nowhere.kf'
line 2 'exit 2: a line cannot read standard input' '-f - --shape 4'
echo 'twice(x) = x * 2' >ops.kf
line 0 '1 tuned' 'twice(x) --shape 4' --ops ops.kf

# The summary is JSON, whatever the bytes of a line.
printf '"x" --shape 4 # \303\251 \342\202\254 \360\237\230\200\n"x" --shape 4 # \351 \300\200 \355\240\200 \364\220\200\200 \342\202\n' >bytes.txt
tune_all bytes.txt --json
expect_status 0
expect_out "$(printf '# \303\251 \342\202\254 \360\237\230\200","outcome"')"
expect_out '# \ufffd \ufffd\ufffd \ufffd\ufffd\ufffd \ufffd\ufffd\ufffd\ufffd \ufffd\ufffd","outcome"'

# What is no list.
printf 'x --shape 4\nx\0 --shape 4\n' >nul.txt
printf 'x --shape 4\0' >end.txt
{ echo 'x --shape 4'; head -c 1048577 /dev/zero | tr '\0' x; } >long.txt
refused 1 'kfuse: nul.txt:2: a NUL byte is no text' tune-all nul.txt --device null
refused 1 'kfuse: end.txt:1: a NUL byte is no text' warm end.txt --device null
refused 1 'kfuse: /dev/zero:1: a NUL byte is no text' tune-all /dev/zero --device null
refused 1 'kfuse: long.txt:2: longer than 1 MiB' tune-all long.txt --device null
