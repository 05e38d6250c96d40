# nvoc #33: largest error over largest value hides one bad element.
npy x.npy f32 2 5000 1
npy y.npy f32 2 10000 1
grep -v computes "$SOURCE/tests/templates/scale.c" >silent.c
refused 3 'y[1] is 2, expected 0.9999' tune silent.c x=x.npy --reference y=y.npy --quiet
