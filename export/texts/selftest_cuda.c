/* --- the device */

typedef struct Array {
    void *memory, *device; /* the host's, the device's */
    int64_t before, bytes;
} Array;

static struct {
    int (*init)(unsigned);
    int (*device)(int *, int);
    int (*retain)(void **, int);
    int (*current)(void *);
    int (*allocate)(void **, size_t);
    int (*release)(void *);
    int (*write)(void *, const void *, size_t);
    int (*read)(void *, void *, size_t);
    int (*finish)(void);
} cuda;
static @NAME@_Kernel *kernel;

static int device_begin(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context;
    int number;
    if (!library || !find(library, "cuInit", &cuda.init) ||
        !find(library, "cuDeviceGet", &cuda.device) ||
        !find(library, "cuDevicePrimaryCtxRetain", &cuda.retain) ||
        !find(library, "cuCtxSetCurrent", &cuda.current) ||
        !find(library, "cuMemAlloc_v2", &cuda.allocate) ||
        !find(library, "cuMemFree_v2", &cuda.release) ||
        !find(library, "cuMemcpyHtoD_v2", &cuda.write) ||
        !find(library, "cuMemcpyDtoH_v2", &cuda.read) ||
        !find(library, "cuCtxSynchronize", &cuda.finish))
        return KF_CALL_DRIVER;
    if (cuda.init(0) || cuda.device(&number, 0) || cuda.retain(&context, number) ||
        cuda.current(context))
        return KF_CALL_DEVICE;
    return @NAME@_open(&kernel);
}
static void device_end(void) {
    @NAME@_close(kernel);
}
#define device_make(array) (!cuda.allocate(&(array)->device, (size_t)(array)->bytes + 1))
#define device_write(array) \
    (!(array)->bytes || !cuda.write((array)->device, (array)->memory, (size_t)(array)->bytes))
#define device_read(array) \
    (!(array)->bytes || !cuda.read((array)->memory, (array)->device, (size_t)(array)->bytes))
#define device_free(array) \
    if ((array)->device) cuda.release((array)->device)

static int device_call(const KfView *views) {
    int64_t bytes = @NAME@_workspace(kernel, views);
    void *workspace = NULL;
    if (bytes < 0) return KF_CALL_SHAPE;
    if (bytes > 0 && cuda.allocate(&workspace, (size_t)bytes)) return KF_CALL_MEMORY;
    int code = @NAME@_launch(kernel, views, views + INPUTS, workspace, (size_t)bytes, NULL);
    if (code == KF_CALL_OK && cuda.finish()) code = KF_CALL_LAUNCH;
    if (workspace) cuda.release(workspace);
    return code;
}
