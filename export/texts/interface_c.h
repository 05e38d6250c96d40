/* `threads` is 1 or more. Bytes for arrays of these shapes, 0: none is needed; negative: these shapes are not taken. */
int64_t @NAME@_workspace(const KfView *inputs, int threads);
/* Runs on at most `threads` threads and returns when done; any thread may call. `workspace` is aligned to 256 bytes.
 * KF_CALL_OK, or why not. */
int @NAME@_launch(const KfView *inputs, const KfView *outputs, void *workspace, size_t workspace_bytes, int threads);
/* Calls share(shares, i) for each i from 0 to count - 1, in any order, on any threads, and returns when all are done. */
typedef void KfRun(void *pool, void (*share)(void *shares, int64_t i), void *shares, int64_t count);
/* The same on threads that the caller has; run NULL: it starts its own. */
int @NAME@_launch_on(const KfView *inputs, const KfView *outputs, void *workspace, size_t workspace_bytes, int threads,
    KfRun *run, void *pool);
