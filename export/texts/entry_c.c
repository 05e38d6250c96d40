int64_t @NAME@_workspace(const KfView *in, int threads) {
    int64_t d[AXES], offset[TEMPORARIES];
    if (threads < 1 || read_shapes(in, NULL, d) != KF_CALL_OK) return -1;
    return layouts[choose_variant(d, 0)](d, 1, threads, offset);
}

int @NAME@_launch_on(const KfView *in, const KfView *out, void *workspace, size_t workspace_bytes, int threads,
    KfRun *run, void *pool) {
    int64_t d[AXES], offset[TEMPORARIES];
    int code = threads < 1 ? KF_CALL_THREADS : read_shapes(in, out, d);
    if (code == KF_CALL_OK) code = check_arrays(in, out);
    if (code != KF_CALL_OK || is_empty(out)) return code;
    int variant = choose_variant(d, 0);
    int64_t bytes = layouts[variant](d, 1, threads, offset);
    if ((uint64_t)bytes > workspace_bytes || (uintptr_t)workspace % 256) return KF_CALL_WORKSPACE;
    Call call = {.axes = d, .cpus = threads, .run = run, .pool = pool};
    for (int i = 0; i < ARRAYS; i++) {
        const KfView *view = view_at(in, out, i);
        call.buffers[i] = view->data;
        call.bytes += count_of(view) * element_size(view->type);
    }
    place(&call, workspace, offset, ARRAYS, temporaries[variant]);
    return variants[variant](&call);
}

int @NAME@_launch(const KfView *in, const KfView *out, void *workspace, size_t workspace_bytes, int threads) {
    return @NAME@_launch_on(in, out, workspace, workspace_bytes, threads, NULL, NULL);
}
