enum { INPUTS = sizeof inputs / sizeof *inputs, ARRAYS = INPUTS + sizeof outputs / sizeof *outputs };

/* --- arrays */

static const Tensor *tensor_at(int i) {
    return i < INPUTS ? &inputs[i] : &outputs[i - INPUTS];
}

static const KfView *view_at(const KfView *in, const KfView *out, int i) {
    return i < INPUTS ? &in[i] : &out[i - INPUTS];
}

static int64_t element_size(int32_t type) {
    static const int8_t sizes[] = {0, 1, 1, 1, 4, 8, 2, 2, 4, 8};
    return sizes[type];
}

static int64_t count_of(const KfView *view) {
    int64_t count = 1;
    for (int i = 0; i < view->rank; i++) count *= view->dim[i];
    return count;
}

/* Extents that an axis shares must be equal; -1 in `d` is one not known yet. */
static int read_shape(const Tensor *tensor, const KfView *view, int64_t *d) {
    if (view->type != tensor->type) return KF_CALL_TYPE;
    if (view->rank != tensor->rank) return KF_CALL_SHAPE;
    for (int i = 0; i < view->rank; i++) {
        int axis = tensor->axis[i];
        if (axis >= 0 && d[axis] < 0) d[axis] = view->dim[i];
        if (view->dim[i] < 0 || view->dim[i] != (axis >= 0 ? d[axis] : tensor->dim[i]))
            return KF_CALL_SHAPE;
    }
    return KF_CALL_OK;
}

static int check_strides(const Tensor *tensor, const KfView *view) {
    int64_t packed = 1;
    if (!view->strides) return tensor->strides ? KF_CALL_STRIDES : KF_CALL_OK;
    for (int i = view->rank - 1; i >= 0; packed *= view->dim[i--])
        if (view->dim[i] > 1 &&
            view->strides[i] != (tensor->strides ? tensor->strides[i] : packed))
            return KF_CALL_STRIDES;
    return KF_CALL_OK;
}

/* The bytes that an array covers. */
static void range(const Tensor *tensor, const KfView *view, uintptr_t *begin, uintptr_t *end) {
    int64_t low = 0, high = 0, count = count_of(view), size = element_size(view->type);
    for (int i = 0; tensor->strides && i < view->rank; i++) {
        int64_t reach = tensor->strides[i] * (view->dim[i] - 1);
        if (reach < 0) low += reach;
        if (reach > 0) high += reach;
    }
    if (!tensor->strides) high = count - 1;
    *begin = (uintptr_t)view->data + (uintptr_t)(low * size);
    *end = count ? (uintptr_t)view->data + (uintptr_t)((high + 1) * size) : *begin;
}

static int check_overlap(const KfView *in, const KfView *out, int output) {
    uintptr_t begin, end, low, high;
    range(tensor_at(output), view_at(in, out, output), &begin, &end);
    if (begin == end) return KF_CALL_OK;
    for (int i = 0; i < ARRAYS; i++) {
        bool in_place = i == tensor_at(output)->updates;
        if (i == output) continue;
        range(tensor_at(i), view_at(in, out, i), &low, &high);
        if (in_place && low != begin) return KF_CALL_OVERLAP;
        if (!in_place && low < end && begin < high) return KF_CALL_OVERLAP;
    }
    return KF_CALL_OK;
}

/* The axes' extents, all of which the inputs say. */
static int read_shapes(const KfView *in, const KfView *out, int64_t *d) {
    int code = KF_CALL_OK;
    for (int i = 0; i < AXES; i++) d[i] = -1;
    for (int i = 0; i < (out ? ARRAYS : INPUTS) && code == KF_CALL_OK; i++)
        code = read_shape(tensor_at(i), view_at(in, out, i), d);
    return code == KF_CALL_OK && !is_reached(d) ? KF_CALL_SIZE : code;
}

/* Whether every array of these shapes is what the kernels were made for. */
static int check_arrays(const KfView *in, const KfView *out) {
    int code = KF_CALL_OK;
    for (int i = 0; i < ARRAYS && code == KF_CALL_OK; i++) {
        const KfView *view = view_at(in, out, i);
        uintptr_t begin, end;
        code = check_strides(tensor_at(i), view);
        range(tensor_at(i), view, &begin, &end);
        if (code == KF_CALL_OK && begin != end && !view->data) code = KF_CALL_NULL;
        if (code == KF_CALL_OK && (uintptr_t)view->data % (uintptr_t)element_size(view->type))
            code = KF_CALL_ALIGNMENT;
    }
    for (int i = INPUTS; i < ARRAYS && code == KF_CALL_OK; i++) code = check_overlap(in, out, i);
    return code;
}

static bool is_empty(const KfView *out) {
    for (int i = 0; i < ARRAYS - INPUTS; i++)
        if (count_of(&out[i]) > 0) return false;
    return true;
}

/* --- sizes */

#define UNUSED __attribute__((unused))
static UNUSED int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static UNUSED int64_t most(int64_t a, int64_t b) {
    return a > b ? a : b;
}
static UNUSED int64_t ceildiv(int64_t a, int64_t b) {
    return a / b + (a % b > 0);
}
/* What the kernels divide by: i / n is (i * (uint32_t)divisor) >> (divisor >> 32) for i of 31 bits. */
static UNUSED int64_t divisor(int64_t n) {
    uint64_t shift = 31;
    if (n <= 0 || n > INT32_MAX) return 0;
    while ((int64_t)1 << (shift - 31) < n) shift++;
    return (int64_t)((((uint64_t)1 << shift) / (uint64_t)n + 1) | shift << 32);
}
static UNUSED int64_t padded(int64_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/* The power of two that an extent is counted for, as an exponent. */
static UNUSED int64_t octave(int64_t n) {
    int64_t exponent = 0;
    while ((int64_t)1 << exponent < n) exponent++;
    return exponent;
}
static UNUSED int64_t distance(int64_t a, int64_t b) {
    int64_t octaves = octave(a) - octave(b);
    return octaves < 0 ? -octaves : octaves;
}

static void place(Call *call, void *workspace, const int64_t *offset, int first, int count) {
    for (int i = 0; i < count; i++) call->buffers[first + i] = (char *)workspace + offset[i];
}
