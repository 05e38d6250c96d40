/* --- data of the self-test: eighths from -2 to 2, exact in every type */

static int64_t sample(int slot, int64_t i) {
    uint64_t hash = (uint64_t)(i + 1) * 0x9E3779B97F4A7C15u + (uint64_t)slot * 0xBF58476D1CE4E5B9u;
    hash ^= hash >> 29;
    hash *= 0x94D049BB133111EBu;
    hash ^= hash >> 32;
    return (int64_t)(hash % 33) - 16;
}

/* An eighth as the bits of a half: sign, exponent, significand. */
static uint16_t half_bits(int64_t eighths, int bias, int significand) {
    uint64_t magnitude = (uint64_t)(eighths < 0 ? -eighths : eighths);
    int top = 0;
    if (!magnitude) return 0;
    while (magnitude >> (top + 1)) top++;
    uint64_t fraction = (magnitude << significand >> top) - ((uint64_t)1 << significand);
    return (uint16_t)((eighths < 0 ? 0x8000u : 0u) |
                      (uint64_t)(top - 3 + bias) << significand | fraction);
}

static void sample_put(int32_t type, void *data, int64_t at, int64_t eighths) {
    switch (type) {
    case 1: ((uint8_t *)data)[at] = eighths & 1; break;
    case 2: ((uint8_t *)data)[at] = eighths & 15; break;
    case 3: ((int8_t *)data)[at] = (int8_t)eighths; break;
    case 4: ((int32_t *)data)[at] = (int32_t)eighths; break;
    case 5: ((int64_t *)data)[at] = eighths; break;
    case 6: ((uint16_t *)data)[at] = half_bits(eighths, 15, 10); break;
    case 7: ((uint16_t *)data)[at] = half_bits(eighths, 127, 7); break;
    case 8: ((float *)data)[at] = (float)eighths / 8; break;
    case 9: ((double *)data)[at] = (double)eighths / 8; break;
    default: break;
    }
}
