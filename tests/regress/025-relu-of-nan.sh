# onnxruntime #11010, burn #5609: relu(NaN) is 0 on a GPU and NaN on a CPU.
npy x.npy f32 9 nan -1 2 nan nan nan nan nan nan
computes 'f32 9 nan 0 2 nan nan nan nan nan nan' 'relu(x)' x=x.npy
