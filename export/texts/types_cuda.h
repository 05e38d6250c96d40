typedef struct Entry {
    int file;
    const char *name, *twin;
    uintptr_t alignment;
} Entry;
typedef struct Binary {
    int file, arch, ptx;
    const void *bytes;
} Binary;
typedef struct Launch {
    int entry;
    bool legal;
    uintptr_t address; /* all arrays' bits */
    int64_t grid[3], block[3], cluster, shared, dependent;
} Launch;
typedef struct Call {
    const @NAME@_Kernel *kernel;
    const int64_t *axes;
    int64_t sms;
    void *buffers[BUFFERS]; /* inputs, outputs, temporaries */
    void *stream;
} Call;
