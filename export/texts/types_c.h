typedef struct Launch {
    void (*entry)(void *const *args, int64_t part, int64_t parts);
    bool legal;
    int64_t grid, parts; /* grid 0: nothing is to be done */
} Launch;
typedef struct Call {
    const int64_t *axes;
    int64_t cpus, bytes; /* of all arrays */
    KfRun *run;          /* NULL: threads are started */
    void *pool;
    void *buffers[BUFFERS]; /* inputs, outputs, temporaries */
} Call;
