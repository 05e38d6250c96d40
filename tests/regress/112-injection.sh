# numexpr #442: an expression reaches an evaluator. Only tokens of the grammar reach generated source.
for text in 'x; } __global__ void f(){' 'x"); system("touch owned' 'x */ int y; /*' 'x // "' $'x \\\n y' '#include <x>' 'x`touch owned`' \
    '$(touch owned)' '__import__("os")' 'x ? y'; do
    refused 1 'error: ' "$text" --shape 4
    run "$KFUSE" dump --c "$text" --shape 4
    expect_status 1
done
[ ! -e owned ] || fail "ran the user's words"
# Comments in the source are the canonical expression, never the raw text.
run "$KFUSE" dump --c $'x + 1 # */ int injected; /* \n' --shape 4
expect_status 0
case $out in *injected*) fail "a comment reached the source" ;; esac
