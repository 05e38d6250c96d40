/* Check: whether definitions make sense. Private to registry/. */
#ifndef KF_CHECK_H
#define KF_CHECK_H

#include "registry/registry.h"

/* Checks functions that one text has just added to `registry`, and sets their depth. False after
 * errors. */
bool check_functions(const Registry *registry, Function *const *added, uint32_t count,
                     Diags *diags);

#endif
