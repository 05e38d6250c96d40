/* --- launching */

typedef struct Share {
    const Launch *launch;
    void *const *args;
    int64_t first, step, parts;
} Share;

enum { SHARES = 256 /* at most */ };

static void *work(void *argument) {
    const Share *share = argument;
    for (int64_t part = share->first; part < share->parts; part += share->step)
        share->launch->entry(share->args, part, share->parts);
    return NULL;
}

static void work_at(void *shares, int64_t i) {
    work(&((Share *)shares)[i]);
}

static void start_threads(Share *shares, int64_t count) {
    pthread_t threads[SHARES];
    int64_t started = 1;
    while (started < count && pthread_create(&threads[started], NULL, work, &shares[started]) == 0)
        started++;
    work(&shares[0]);
    for (int64_t i = started; i < count; i++) work(&shares[i]); /* of threads that could not start */
    for (int64_t i = 1; i < started; i++) pthread_join(threads[i], NULL);
}

/* The parts are dealt to at most `cpus` threads, and no more than have THREAD_BYTES each: starting one and waiting for
 * it takes some 15 us, in which one streams as much. The calling thread has the first share. */
static int enqueue(const Call *call, const Launch *launch, void **args) {
    enum { THREAD_BYTES = 256 << 10 };
    Share shares[SHARES];
    int64_t count = most(1, least(least(launch->parts, call->bytes / THREAD_BYTES), least(call->cpus, SHARES)));
    if (!launch->legal) return KF_CALL_SHAPE;
    if (launch->grid == 0) return KF_CALL_OK;
    for (int64_t i = 0; i < count; i++)
        shares[i] = (Share){launch, args, i, count, most(1, launch->parts)};
    if (call->run && count > 1)
        call->run(call->pool, work_at, shares, count);
    else
        start_threads(shares, count);
    return KF_CALL_OK;
}
