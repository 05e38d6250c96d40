/* --- launching */

typedef struct Share {
    const Launch *launch;
    void *const *args;
    int64_t first, step, parts;
} Share;

static void *work(void *argument) {
    const Share *share = argument;
    for (int64_t part = share->first; part < share->parts; part += share->step)
        share->launch->entry(share->args, part, share->parts);
    return NULL;
}

/* The parts are dealt to at most `cpus` threads, and no more than have THREAD_BYTES each: starting one and waiting for
 * it takes some 15 us, in which one streams as much. The calling thread has the first share. */
static int enqueue(const Call *call, const Launch *launch, void **args) {
    enum { MOST = 256, THREAD_BYTES = 256 << 10 };
    Share shares[MOST];
    pthread_t threads[MOST];
    int64_t count = most(1, least(least(launch->parts, call->bytes / THREAD_BYTES), least(call->cpus, MOST)));
    int64_t started = 1;
    if (!launch->legal) return KF_CALL_SHAPE;
    if (launch->grid == 0) return KF_CALL_OK;
    for (int64_t i = 0; i < count; i++)
        shares[i] = (Share){launch, args, i, count, most(1, launch->parts)};
    while (started < count && pthread_create(&threads[started], NULL, work, &shares[started]) == 0)
        started++;
    work(&shares[0]);
    for (int64_t i = started; i < count; i++) work(&shares[i]); /* of threads that could not start */
    for (int64_t i = 1; i < started; i++) pthread_join(threads[i], NULL);
    return KF_CALL_OK;
}
