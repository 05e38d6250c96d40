# A kernel that never ends is killed, twice, and named.
sed 's/at < n; at += parts \* __STEP__/at < n; at += n > 4000 ? 0 : parts * __STEP__/' "$SOURCE/tests/templates/scale.c" >hang.c
sed -i 's/knob     __STEP__ .*/knob     __STEP__ 1024/' hang.c
refused 3 'timed out: ran for over 20 s' tune hang.c --shape 5000 --quiet
