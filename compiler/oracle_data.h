/* The kernels of a device's oracle that know no program: they fill, poison, compare and multiply whole
 * numbers. Behind storage.h and sample.h; any one-dimensional grid will do. */
#ifndef KF_ORACLE_DATA_H
#define KF_ORACLE_DATA_H

extern "C" __global__ void kf_fill(void *bytes, int type, uint64_t seed, uint32_t slot,
                                   int64_t begin, int64_t count, int domain) {
    uint64_t key = sample_key(seed, slot);
    for (int64_t i = first_index(); i < count; i += index_step())
        sample_store(type, bytes, i, sample_hash(key, begin + i), domain);
}

static __device__ int is_nan_stored(const uint8_t *x, int type) {
    if (type == DT_F64) return *(const double *)x != *(const double *)x;
    if (type == DT_F32) return *(const float *)x != *(const float *)x;
    return (*(const uint16_t *)x & 0x7fff) > (type == DT_F16 ? 0x7c00 : 0x7f80);
}

static __device__ int same_element(const uint8_t *a, const uint8_t *b, int type, int bytes) {
    int same = 1;
    for (int k = 0; k < bytes; k++) same &= a[k] == b[k];
    return same || (storage_is_float(type) && is_nan_stored(a, type) && is_nan_stored(b, type));
}

extern "C" __global__ void kf_compare(const uint8_t *a, const uint8_t *b, int64_t bytes, int type,
                                      uint64_t *differences, int64_t *first) {
    int size = storage_bytes(type);
    for (int64_t i = first_index(); i < bytes / size; i += index_step()) {
        if (same_element(a + i * size, b + i * size, type, size)) continue;
        atomicAdd((unsigned long long *)differences, 1ull);
        atomicMin((unsigned long long *)first, (unsigned long long)i);
    }
}

/* result += matrix * vector in wrapping integers; `fractions` counts what is none. As many threads a
 * row as a warp has, neighbours along whatever lies together. */
extern "C" __global__ void kf_times(const void *matrix, int type, int64_t rows, int64_t columns,
                                    int64_t row_stride, int64_t column_stride,
                                    const int64_t *vector, int64_t *result, uint64_t *fractions) {
    const int64_t lanes = 32;
    int along = row_stride == 1 && column_stride != 1;
    for (int64_t t = first_index(); t < rows * lanes; t += index_step()) {
        int64_t row = along ? t % rows : t / lanes, lane = along ? t / rows : t % lanes, sum = 0;
        for (int64_t k = lane; k < columns; k += lanes) {
            int64_t x;
            if (!sample_load_whole(type, matrix, row * row_stride + k * column_stride, &x))
                atomicAdd((unsigned long long *)fractions, 1ull);
            sum = (int64_t)((uint64_t)sum + (uint64_t)x * (uint64_t)vector[k]);
        }
        atomicAdd((unsigned long long *)&result[row], (unsigned long long)sum);
    }
}

extern "C" __global__ void kf_poison(uint8_t *bytes, const uint8_t *golden, int64_t count) {
    for (int64_t i = first_index(); i < count; i += index_step())
        bytes[i] = golden ? (uint8_t)~golden[i] : (uint8_t)0xff;
}

#endif
