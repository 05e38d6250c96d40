# cuda-python #844, cupy #8466: cuda_fp16.h is not found, or wants others. Generated CUDA includes nothing.
for words in '--dtype f16' '--dtype bf16' '--dtype x=f16 --dtype y=bf16' '--dtype x=bool --dtype y=i8'; do
    run "$KFUSE" dump --cuda 'gelu(x) + y' --shape 64x64 $words
    expect_status 0
    case $out in *'#include'*) fail "an #include in the CUDA text" ;; esac
done
