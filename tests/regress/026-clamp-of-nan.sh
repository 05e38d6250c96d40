# onnx #6003: clip(NaN) differs between CPU and GPU.
npy x.npy f32 5 nan -11 11 inf -inf
computes 'f32 5 nan -10 10 10 -10' 'clamp(x, -10, 10)' x=x.npy
computes 'f32 5 nan -10 10 10 -10' 'min(max(x, -10), 10)' x=x.npy
computes 'f32 5 nan -11 11 inf -inf' 'max(x, x)' x=x.npy
