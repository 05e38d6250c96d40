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

/* The parts are dealt to at most `cpus` threads; the calling one has the first share. */
static int enqueue(const Call *call, const Launch *launch, void **args) {
    enum { MOST = 256 };
    Share shares[MOST];
    pthread_t threads[MOST];
    int64_t count = most(1, least(launch->parts, least(call->cpus, MOST))), started = 1;
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
