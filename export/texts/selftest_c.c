/* --- the device is the host */

typedef struct Array {
    void *memory, *device; /* the host's, the device's */
    int64_t before, bytes;
} Array;

static int device_begin(void) {
    return KF_CALL_OK;
}
static void device_end(void) {
}
#define device_make(array) ((array)->device = (array)->memory, true)
#define device_write(array) true
#define device_read(array) true
#define device_free(array) (void)(array)

static int device_call(const KfView *views) {
    int64_t bytes = @NAME@_workspace(views, 2);
    void *workspace = bytes > 0 ? aligned_alloc(256, (size_t)padded(bytes)) : NULL;
    int code = KF_CALL_MEMORY;
    if (bytes < 0) code = KF_CALL_SHAPE;
    if (bytes == 0 || workspace)
        code = @NAME@_launch(views, views + INPUTS, workspace, (size_t)padded(bytes), 2);
    free(workspace);
    return code;
}
