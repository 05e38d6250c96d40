/* axis: of the extents that are free, or -1: it is `dim`. strides NULL: row-major. updates: the input that
 * the output takes the place of, or -1. */
typedef struct Tensor {
    const char *name;
    int32_t type, rank;
    int8_t axis[8];
    int64_t dim[8];
    const int64_t *strides;
    int updates;
} Tensor;
