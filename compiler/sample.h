/* Sample data: the same bits on host and device, so that nothing is uploaded or generated twice.
 * One idea: a counter hash of (seed, slot, index); a sum of its four 16-bit words, scaled by a
 * power of two that varies by element, so that sums round.
 *
 * domain 0: both signs, 2^-6 … 2^4 around 1, integers small with some extremes
 *        1: positive          2: in (0, 1] (integers: 1)
 *        3: whole numbers -2 … 2 (exact in any order of summation)
 *    4 + n: -1, 0, 1: signs at random, and 0 but for one in 2^n (unsigned types: 1 for -1) */
#ifndef KF_SAMPLE_H
#define KF_SAMPLE_H

enum { SAMPLE_ANY, SAMPLE_POSITIVE, SAMPLE_UNIT, SAMPLE_WHOLE, SAMPLE_SIGNS };

KF_FN uint64_t sample_mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* What the elements of one input start from. */
KF_FN uint64_t sample_key(uint64_t seed, uint32_t slot) {
    return sample_mix(seed + 0x9E3779B97F4A7C15u * (slot + 1));
}
KF_FN uint64_t sample_hash(uint64_t key, int64_t i) {
    return sample_mix(key + 0x9E3779B97F4A7C15u * (uint64_t)i);
}

/* -131070 … 131070, bell-shaped. */
KF_FN int64_t sample_bell(uint64_t hash) {
    uint64_t sum = (hash & 0xffff) + (hash >> 16 & 0xffff) + (hash >> 32 & 0xffff) + (hash >> 48);
    return (int64_t)sum - 131070;
}

/* 2^-6 … 2^4. */
KF_FN double sample_scale(uint64_t hash) {
    uint64_t exponent = (hash * 0xD6E8FEB86659FD93u >> 40) % 11;
    return double_of_bits((1023 - 6 + exponent) << 52);
}

/* Bits that a sample keeps of its 17 (f64: 17 + 32), so that it is exact in the type. */
KF_FN double sample_bits(int type, int64_t bell, uint64_t hash) {
    if (type == DT_F64)
        return (double)bell + (double)(uint32_t)(hash * 0x9FB21C651E98DF25u) * 0x1p-32;
    if (type == DT_F16) return (double)(bell / 64 * 64);
    return type == DT_BF16 ? (double)(bell / 512 * 512) : (double)bell;
}

KF_FN int64_t sample_small(uint64_t hash) {
    return (int64_t)(hash % 5) - 2;
}

KF_FN int64_t sample_sign(uint64_t hash, int sparse) {
    if ((hash & (((uint64_t)1 << sparse) - 1)) != 0) return 0;
    return hash >> 63 ? 1 : -1;
}

/* In (0, 1], by 8 bits for bf16, 11 for f16, else 24. */
KF_FN double sample_unit(int type, uint64_t hash) {
    int bits = type == DT_BF16 ? 8 : type == DT_F16 ? 11 : 24;
    return (double)((hash >> (64 - bits)) + 1) * double_of_bits((uint64_t)(1023 - bits) << 52);
}

KF_FN double sample_real(int type, uint64_t hash, int domain) {
    if (domain == SAMPLE_UNIT) return sample_unit(type, hash);
    if (domain == SAMPLE_WHOLE) return (double)sample_small(hash);
    if (domain >= SAMPLE_SIGNS) return (double)sample_sign(hash, domain - SAMPLE_SIGNS);
    double x = sample_bits(type, sample_bell(hash), hash) * 0x1p-15 * sample_scale(hash);
    return domain != SAMPLE_POSITIVE ? x : x != 0 ? fabs(x) : 1.0;
}

KF_FN int64_t sample_whole(int type, uint64_t hash, int domain) {
    if (type == DT_BOOL) return domain == SAMPLE_UNIT ? 1 : (int64_t)(hash >> 63);
    if (domain == SAMPLE_UNIT) return 1;
    if (domain == SAMPLE_POSITIVE) return 1 + (int64_t)(hash % 100);
    if (domain == SAMPLE_WHOLE) return storage_clamp(type, sample_small(hash));
    if (domain >= SAMPLE_SIGNS) {
        int64_t sign = sample_sign(hash, domain - SAMPLE_SIGNS);
        return storage_low(type) < 0 ? sign : sign * sign;
    }
    if (hash % 64 != 0) return storage_clamp(type, (int64_t)(hash >> 32) % 201 - 100);
    return hash >> 63 ? storage_low(type) : storage_high(type);
}

KF_FN void sample_store(int type, void *base, int64_t at, uint64_t hash, int domain) {
    if (storage_is_float(type))
        storage_store_real(type, base, at, sample_real(type, hash, domain));
    else
        storage_store_whole(type, base, at, sample_whole(type, hash, domain));
}

/* A stored element as an integer; false (and 0) if it is none, or a large one. */
KF_FN int sample_load_whole(int type, const void *base, int64_t at, int64_t *x) {
    double real;
    *x = 0;
    if (!storage_is_float(type)) {
        *x = storage_load_whole(type, base, at);
        return 1;
    }
    real = (double)storage_load_real(type, base, at);
    if (!(real >= -0x1p53 && real <= 0x1p53)) return 0;
    *x = (int64_t)real;
    return (double)*x == real;
}

#endif
