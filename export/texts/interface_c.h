/* `threads` is 1 or more. Bytes for arrays of these shapes, 0: none is needed; negative: these shapes are not taken. */
int64_t @NAME@_workspace(const KfView *inputs, int threads);
/* Runs on at most `threads` threads and returns when done; any thread may call. `workspace` is aligned to 256 bytes.
 * KF_CALL_OK, or why not. */
int @NAME@_launch(const KfView *inputs, const KfView *outputs, void *workspace, size_t workspace_bytes, int threads);
