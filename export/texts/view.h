#ifndef KF_VIEW_H
#define KF_VIEW_H
enum { KF_VIEW_RANK = 8 };
enum KfViewType {
    KF_VIEW_BOOL = 1,
    KF_VIEW_U8,
    KF_VIEW_I8,
    KF_VIEW_I32,
    KF_VIEW_I64,
    KF_VIEW_F16,
    KF_VIEW_BF16,
    KF_VIEW_F32,
    KF_VIEW_F64
};
/* An array of the caller's. Strides are in elements; NULL: row-major. */
typedef struct KfView {
    void *data;
    int32_t type, rank;
    int64_t dim[8];
    const int64_t *strides;
} KfView;
/* What calls return. */
enum KfCallStatus {
    KF_CALL_OK = 0,
    KF_CALL_NULL,      /* no data where there are elements */
    KF_CALL_TYPE,      /* an array has another type than the kernel */
    KF_CALL_SHAPE,     /* a rank or extent that does not fit, or that was not compiled for */
    KF_CALL_STRIDES,   /* strides that were not compiled for */
    KF_CALL_ALIGNMENT, /* data is not aligned to its elements */
    KF_CALL_OVERLAP,   /* an output overlaps another array; in place means the very same array */
    KF_CALL_SIZE,      /* larger than the kernel's indices reach */
    KF_CALL_WORKSPACE, /* too little workspace, or not aligned to 256 bytes */
    KF_CALL_DRIVER,    /* no CUDA driver, or one that is too old */
    KF_CALL_DEVICE,    /* no binary for the current device, or no current context */
    KF_CALL_LAUNCH,    /* the driver refused */
    KF_CALL_MEMORY,    /* out of memory */
    KF_CALL_THREADS    /* fewer than one thread */
};
#endif
