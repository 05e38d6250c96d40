/* A plan as text: for people, and the part of it that keys are made of. */
#include "compiler/plan.h"

static const char *class_name(AccessClass class) {
    static const char *const names[] = {
        [ACCESS_DENSE] = "dense",   [ACCESS_ROWS] = "rows",       [ACCESS_SPLAT] = "splat",
        [ACCESS_SCALAR] = "scalar", [ACCESS_STRIDED] = "strided",
    };
    return names[class];
}

/* Of a stride only what the code was made for: given at run time, or 0 or 1. */
static void print_class(Text *out, const Plan *plan, const Access *access, const char *kind) {
    text_printf(out, " %s%u:%s:%s", kind, access->slot, dtype_name(access->dtype),
                class_name(access->class));
    if (access->class != ACCESS_DENSE) text_add(out, ":");
    for (uint32_t axis = 0; access->class != ACCESS_DENSE && axis < plan->rank; axis++)
        text_add(out, plan_stride_given(plan, access, axis) ? "*"
                      : access->stride[axis]                ? "1"
                                                            : "0");
    if (plan_reads_down(plan, access)) text_add(out, ":down");
    if (access->alias) text_add(out, ":alias");
}

void plan_class_print(Text *out, const Plan *plan) {
    text_printf(out, "rank%u %s", plan->rank, plan->index64 ? "i64" : "i32");
    if (plan->reduced) text_printf(out, " reduced%u", plan->reduced);
    for (uint32_t i = 0; i < plan->loads.count; i++)
        print_class(out, plan, &plan->loads.data[i], "in");
    for (uint32_t i = 0; i < plan->stores.count; i++)
        print_class(out, plan, &plan->stores.data[i], "out");
}

static void print_access(Text *out, const Plan *plan, const Access *access, const char *kind) {
    text_printf(out, "%-6s %%%u %s %s %s", kind, access->value, access->name,
                dtype_name(access->dtype), class_name(access->class));
    for (uint32_t axis = 0; axis < plan->rank; axis++)
        text_printf(out, "%s%lld", axis ? "," : " strides ", (long long)access->stride[axis]);
    text_add(out, access->alias ? " in place\n" : "\n");
}

static void print_scalar(Text *out, const PlanScalar *scalar) {
    text_printf(out, "scalar %%%u %s %s = ", scalar->value, scalar->name,
                dtype_name(scalar->dtype));
    if (scalar->dtype == DT_I64)
        text_printf(out, "%lld\n", (long long)scalar->argument.whole);
    else
        text_printf(out, "%.17g\n", scalar->argument.real);
}

void plan_print(Text *out, const Plan *plan) {
    text_printf(out, "kernel %s\naxes  ", plan->name);
    for (uint32_t axis = 0; axis < plan->rank; axis++)
        text_printf(out, " %lld", (long long)plan->extent[axis]);
    for (uint32_t axis = 0; axis < plan->rank; axis++)
        if (plan->reduced >> axis & 1) text_printf(out, "\nreduces axis %u", axis);
    text_printf(out, "\nindex  %s\n", plan->index64 ? "i64" : "i32");
    for (uint32_t i = 0; i < plan->loads.count; i++)
        print_access(out, plan, &plan->loads.data[i], "load");
    for (uint32_t i = 0; i < plan->scalars.count; i++) print_scalar(out, &plan->scalars.data[i]);
    text_add(out, "body  ");
    for (uint32_t i = 0; i < plan->body.count; i++) text_printf(out, " %%%u", plan->body.data[i]);
    text_add(out, "\n");
    for (uint32_t i = 0; i < plan->stores.count; i++)
        print_access(out, plan, &plan->stores.data[i], "store");
    text_printf(out, "moves  %lld bytes read, %lld written\n", (long long)plan->bytes_read,
                (long long)plan->bytes_written);
}
