# `kfuse run`: several outputs, updates in place, broadcasting, scalars, sizes 0 and 1, params, views by .T.
npy x.npy f32 2x3 1 2 3 4 5 6
npy row.npy f32 3 10 20 30
npy column.npy f32 2x1 100 200
npy s.npy f32 scalar 0.5

tuned run 'x + row' x=x.npy row=row.npy -o out.npy
expect_npy out.npy 'f32 2x3 11 22 33 14 25 36'
tuned run 'x + column' x=x.npy column=column.npy -o out.npy
expect_npy out.npy 'f32 2x3 101 102 103 204 205 206'
tuned run 'row + column' row=row.npy column=column.npy -o out.npy
expect_npy out.npy 'f32 2x3 110 120 130 210 220 230'
tuned run 'x * s' x=x.npy s=s.npy -o out.npy
expect_npy out.npy 'f32 2x3 0.5 1 1.5 2 2.5 3'
tuned run 's + s' s=s.npy -o out.npy
expect_npy out.npy 'f32 scalar 1'
tuned run 'x.T * 2' x=x.npy -o out.npy
expect_npy out.npy 'f32 3x2 2 8 4 10 6 12'
tuned run 'x.T + y' x=x.npy y=out.npy -o out2.npy
expect_npy out2.npy 'f32 3x2 3 12 6 15 9 18'

# outputs by name; the report goes to stderr
run "$KFUSE" run 's = x + row; out = relu(s - 20)' x=x.npy row=row.npy -o out=o.npy --device "$device" --trials 2 --effort quick
expect_status 0
expect_no_out
expect_err 'speed-up'
expect_npy o.npy 'f32 2x3 0 2 13 0 5 16'
tuned run 's = x + row; return s, relu(s - 20)' x=x.npy row=row.npy -o s=s1.npy -o out2=o1.npy
expect_npy s1.npy 'f32 2x3 11 22 33 14 25 36'
expect_npy o1.npy 'f32 2x3 0 2 13 0 5 16'

# outputs of different shapes: several kernels
tuned run 'y = x * 2; z = row + 1' x=x.npy row=row.npy -o y=y1.npy -o z=z1.npy
expect_npy y1.npy 'f32 2x3 2 4 6 8 10 12'
expect_npy z1.npy 'f32 3 11 21 31'
tuned 'y = x * 2; z = row + 1' --shape 2x3 --shape row=3 --json
expect_json cached true

# in place: the file is not touched, the output is x doubled once
tuned run 'x = x * 2' x=x.npy -o x2.npy
expect_npy x2.npy 'f32 2x3 2 4 6 8 10 12'
expect_npy x.npy 'f32 2x3 1 2 3 4 5 6'
tuned run 'x = x * 2' x=x.npy -o x=x3.npy
expect_npy x3.npy 'f32 2x3 2 4 6 8 10 12'
cp x.npy own.npy
tuned run 'x + 1' x=own.npy -o own.npy
expect_npy own.npy 'f32 2x3 2 3 4 5 6 7'

# sizes 0 and 1
npy none.npy f32 0 1
npy none3.npy f32 0x3 1
tuned run 'x + 1' x=none.npy -o out.npy
expect_npy out.npy 'f32 0'
tuned run 'x + row' x=none3.npy row=row.npy -o out.npy
expect_npy out.npy 'f32 0x3'
npy one.npy f32 1 4
tuned run 'sqrt(x)' x=one.npy -o out.npy
expect_npy out.npy 'f32 1 2'
npy ones.npy f32 1x1x1x1x1x1x1x1 4
tuned run 'x / row' x=ones.npy row=row.npy -o out.npy
expect_npy out.npy 'f32 1x1x1x1x1x1x1x3 0.400000006 0.200000003 0.13333334'

# a program without inputs has the plain shape; params change nothing but the result
tuned run '1.5' --shape 4 -o out.npy
expect_npy out.npy 'f32 4 1.5 1.5 1.5 1.5'
tuned run 'param eps = 1; x + eps' x=x.npy -o out.npy
expect_npy out.npy 'f32 2x3 2 3 4 5 6 7'
tuned run 'param eps = 1; x + eps' x=x.npy --param eps=0.5 -o out.npy --json
expect_npy out.npy 'f32 2x3 1.5 2.5 3.5 4.5 5.5 6.5'

# to a pipe, and from a program file
npy y.npy f32 3 1 2 3
printf 'out = y\n' >program.kf
tuned run -f program.kf y=y.npy -o out.npy
expect_npy out.npy 'f32 3 1 2 3'
run bash -c '"$KFUSE" run "y * 2" y=y.npy -o /dev/stdout --device "$0" --trials 1 --quiet | cat >piped.npy' "$device"
expect_npy piped.npy 'f32 3 2 4 6'
expect_no_process
