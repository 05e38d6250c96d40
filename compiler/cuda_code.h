/* What the emitters of CUDA C++ share: parameters, and elements between memory and values. */
#ifndef KF_CUDA_CODE_H
#define KF_CUDA_CODE_H

#include "compiler/hoist.h"
#include "compiler/language.h"

/* Type of an array's elements. */
const char *cuda_storage(const Access *access);
/* Arrays, sizes, strides and scalars as "const float *__restrict__ in_x, const long long kf_n": an
 * entry takes sizes as they come, `whole` "long long", the functions below it as "k_index". */
void cuda_parameters(Text *out, const Plan *plan, const Parameters *parameters, const char *whole);
/* The same as arguments, "in_x, kf_n". */
void cuda_arguments(Text *out, const Plan *plan, const Parameters *parameters);
/* "const float t1 = k_from_f16(FROM);": what is stored as FROM, as a value. */
void cuda_get(Text *out, const Plan *plan, const Access *access, const char *from, int indent);
/* "TO = k_from_f16(FROM);" */
void cuda_set(Text *out, const Access *access, const char *to, const char *from, int indent);
/* "TO = k_to_f16(t3);": the store's value, as it is stored. */
void cuda_put(Text *out, const Plan *plan, const Access *access, const char *to, int indent);
/* A function of one element: the piece's loads as stored, what is `given` as values "const float t3",
 * then by reference what it gives: `results` "float &h3", or, where there are none, the stores; the
 * plan's scalars last. */
typedef struct CudaElement {
    const char *name;
    const Piece *piece;
    const Value *given, *results;
    uint32_t given_count, result_count;
} CudaElement;
void cuda_element(Text *out, const Plan *plan, const Parameters *parameters,
                  const CudaElement *element);
/* The element in two, where something is hoisted: k_hoist_NAME gives that, k_rest_NAME the stores. */
void cuda_hoisted(Text *out, const Plan *plan, const Parameters *parameters, const Hoist *hoist,
                  const char *name);
/* The scalars as a call's last arguments. */
void cuda_scalars(Text *out, const Parameters *parameters);
/* K_F64, K_INDEX64 and k_index, which the prelude needs; begins what units share. */
void cuda_types(Text *out, const Plan *plan);

#endif
