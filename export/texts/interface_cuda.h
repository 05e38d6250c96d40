typedef struct @NAME@_Kernel @NAME@_Kernel;
/* For the calling thread's current context; no other dependency than the driver. */
int @NAME@_open(@NAME@_Kernel **kernel);
void @NAME@_close(@NAME@_Kernel *kernel);
/* Bytes for arrays of these shapes, 0: none is needed; negative: these shapes are not taken. */
int64_t @NAME@_workspace(const @NAME@_Kernel *kernel, const KfView *inputs);
/* Enqueues on `stream` (a CUstream; NULL: the default one) of the context in which it was opened. Device pointers.
 * `workspace` is aligned to 256 bytes and in use until the kernels are done. KF_CALL_OK, or why not. */
int @NAME@_launch(const @NAME@_Kernel *kernel, const KfView *inputs, const KfView *outputs, void *workspace,
    size_t workspace_bytes, void *stream);
