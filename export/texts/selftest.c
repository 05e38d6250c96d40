/* --- right values */

static double half_value(uint16_t bits, int bias, int significand) {
    int exponent = (bits & 0x7fff) >> significand, limit = (1 << (15 - significand)) - 1;
    double fraction = (double)(bits & ((1 << significand) - 1)) / (1 << significand);
    double value = exponent == limit ? (fraction != 0 ? NAN : INFINITY)
                   : exponent        ? ldexp(1 + fraction, exponent - bias)
                                     : ldexp(fraction, 1 - bias);
    return bits & 0x8000 ? -value : value;
}

static double value_at(int32_t type, const void *data, int64_t at) {
    switch (type) {
    case KF_VIEW_I8: return ((const int8_t *)data)[at];
    case KF_VIEW_I32: return ((const int32_t *)data)[at];
    case KF_VIEW_I64: return (double)((const int64_t *)data)[at];
    case KF_VIEW_F16: return half_value(((const uint16_t *)data)[at], 15, 10);
    case KF_VIEW_BF16: return half_value(((const uint16_t *)data)[at], 127, 7);
    case KF_VIEW_F32: return (double)((const float *)data)[at];
    case KF_VIEW_F64: return ((const double *)data)[at];
    default: return ((const uint8_t *)data)[at];
    }
}

/* lo and hi NaN: it must be NaN; lo over hi: not known. */
static bool is_right(const Right *right, double value) {
    if (isnan(right->lo)) return isnan(value);
    if (right->lo > right->hi) return true;
    return (value >= right->lo && value <= right->hi) || (right->may_nan && isnan(value));
}

/* --- a case */

static KfView view_of(const Tensor *tensor, const int64_t *d) {
    KfView view = {.type = tensor->type, .rank = tensor->rank, .strides = tensor->strides};
    for (int i = 0; i < tensor->rank; i++)
        view.dim[i] = tensor->axis[i] >= 0 ? d[tensor->axis[i]] : tensor->dim[i];
    return view;
}

/* Elements before the first and in all that an array's memory has. */
static int64_t reach(const Tensor *tensor, const KfView *view, int64_t *before) {
    uintptr_t begin, end, size = (uintptr_t)element_size(view->type);
    KfView there = *view;
    there.data = (void *)((uintptr_t)1 << 40);
    range(tensor, &there, &begin, &end);
    *before = (int64_t)(((uintptr_t)there.data - begin) / size);
    return (int64_t)((end - begin) / size);
}

/* The offset of an element that is counted in row-major order. */
static int64_t offset_of(const KfView *view, int64_t at) {
    int64_t offset = 0;
    for (int i = view->rank - 1; view->strides && i >= 0; at /= view->dim[i--])
        offset += at % view->dim[i] * view->strides[i];
    return view->strides ? offset : at;
}

static bool make(const Tensor *tensor, KfView *view, int slot, Array *array) {
    int64_t size = element_size(view->type), elements = reach(tensor, view, &array->before);
    array->bytes = elements * size;
    array->memory = calloc(1, (size_t)array->bytes + 1);
    if (!array->memory || !device_make(array)) return false;
    for (int64_t i = 0; slot >= 0 && i < count_of(view); i++)
        sample_put(view->type, array->memory, array->before + offset_of(view, i), sample(slot, i));
    if (slot < 0) memset(array->memory, 0xA5, (size_t)array->bytes);
    view->data = (char *)array->device + array->before * size;
    return true;
}

static int64_t count_wrong(const Case *test, const KfView *views, const Array *arrays) {
    int64_t wrong = 0;
    for (int i = 0; i < test->right_count; i++) {
        const Right *right = &test->right[i];
        const KfView *view = &views[INPUTS + right->output];
        const Array *array = &arrays[INPUTS + right->output];
        double value =
            value_at(view->type, array->memory, array->before + offset_of(view, right->at));
        if (is_right(right, value)) continue;
        if (!wrong++)
            printf("@NAME@: output %d, element %lld is %.17g, not %.17g to %.17g\n", right->output,
                   (long long)right->at, value, right->lo, right->hi);
    }
    return wrong;
}

static int run_case(const Case *test) {
    KfView views[ARRAYS];
    Array arrays[ARRAYS] = {{0}};
    bool ready = true;
    int code = KF_CALL_MEMORY;
    for (int i = 0; i < ARRAYS && ready; i++) {
        int updates = tensor_at(i)->updates;
        views[i] = view_of(tensor_at(i), test->axes);
        if (updates >= 0) {
            arrays[i] = arrays[updates];
            views[i].data = views[updates].data;
        } else {
            ready = make(tensor_at(i), &views[i], i < INPUTS ? i : -1, &arrays[i]);
        }
    }
    for (int i = 0; i < ARRAYS && ready; i++)
        ready = tensor_at(i)->updates >= 0 || device_write(&arrays[i]);
    if (ready) code = device_call(views);
    for (int i = INPUTS; i < ARRAYS && code == KF_CALL_OK; i++)
        if (!device_read(&arrays[i])) code = KF_CALL_LAUNCH;
    int64_t wrong = code == KF_CALL_OK ? count_wrong(test, views, arrays) : 1;
    if (code != KF_CALL_OK) printf("@NAME@: %s\n", @NAME@_error(code));
    for (int i = 0; i < ARRAYS; i++)
        if (tensor_at(i)->updates < 0) {
            device_free(&arrays[i]);
            free(arrays[i].memory);
        }
    return wrong ? 1 : 0;
}

/* 0: all right; 1: wrong; 77: no device to run on. */
int main(void) {
    int failed = 0, values = 0, code = device_begin(), cases_count = sizeof cases / sizeof *cases;
    if (code != KF_CALL_OK) {
        printf("@NAME@: not run: %s\n", @NAME@_error(code));
        return 77;
    }
    for (int i = 0; i < cases_count; i++) {
        failed += run_case(&cases[i]);
        values += cases[i].right_count;
    }
    device_end();
    if (!failed) printf("@NAME@: %d values of %d shapes are right\n", values, cases_count);
    return failed ? 1 : 0;
}
