/* The rest of kfuse.h: what is around the pipeline. Devices, ops, words of shapes and
 * types. */
#include "kfuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grammar/parse.h"
#include "kfuse_objects.h"
#include "tuner/ops.h"

const char *kf_version(void) {
    return KF_VERSION;
}

void kf_free(void *memory) {
    free(memory);
}

KfStatus kf_parse_shape(const char *text, KfTensor *tensor, const char **why) {
    Type type = {0};
    *tensor = (KfTensor){0};
    if (!shape_parse(text, &type, why)) return KF_USAGE;
    tensor->rank = (int)type.rank;
    memcpy(tensor->dim, type.dim, sizeof type.dim);
    return KF_OK;
}

KfStatus kf_parse_type(const char *text, KfType *type, const char **why) {
    DType dtype;
    *why = "unknown type; choose f64 f32 f16 bf16 bool u8 i8 i32 i64";
    if (!dtype_find(text, &dtype)) return KF_USAGE;
    *type = (KfType)dtype;
    return KF_OK;
}

size_t kf_type_size(KfType type) {
    return dtype_info((DType)type)->bytes;
}

const char *kf_type_name(KfType type) {
    return dtype_name((DType)type);
}

KfStatus kf_devices(KfSession *session, char **text) {
    Text out = {0};
    text_clear(&session->message);
    for (const Device *const *d = device_table; *d; d++) {
        if ((*d)->imaginary) continue; /* for tests of the engine */
        Why why = {""};
        int count = (*d)->count(&why);
        if (count == 0) text_printf(&out, "%-7s none: %s\n", (*d)->name, why.text);
        for (int i = 0; i < count; i++) {
            DeviceIdentity identity;
            char name[64];
            snprintf(name, sizeof name, count > 1 ? "%s:%d" : "%s", (*d)->name, i);
            if ((*d)->identify(i, true, &identity, &why))
                text_printf(&out, "%-7s %s, %s\n", name, identity.title, identity.software);
            else
                text_printf(&out, "%-7s not usable: %s\n", name, why.text);
        }
    }
    return session_give(&out, text);
}

KfStatus kf_device_find(const char *name, char *why, size_t size) {
    const Device *device;
    int index;
    Why reason = {""};
    if (name && device_select(name, &device, &index, &reason)) return KF_OK;
    snprintf(why, size, "%s", reason.text);
    return name ? KF_ENVIRONMENT : KF_USAGE;
}

KfStatus kf_ops(KfSession *session, const char *name, char **text) {
    Text out = {0};
    text_clear(&session->message);
    Arena *arena = arena_open();
    bool found = true;
    if (name)
        found = ops_show(&out, session->registry, name, arena);
    else
        ops_list(&out, session->registry, arena);
    arena_close(arena);
    if (found) return session_give(&out, text);
    KfStatus status = session_say(session, KF_INPUT, "%s", text_string(&out));
    text_free(&out);
    return status;
}

/* The user's file alone, on every device that is present. */
static KfStatus check_devices(KfSession *session, const Registry *registry, const OpName *ops,
                              uint32_t count, Arena *arena, Text *out) {
    OpsCheck total = {0};
    uint32_t devices = 0;
    for (const Device *const *d = device_table; *d; d++) {
        Why why;
        if ((*d)->imaginary || (*d)->count(&why) == 0) continue;
        if (!ops_check(out, registry, ops, count, *d, 0, session->store, arena, &total, &why) &&
            *why.text)
            return session_say(session, KF_ENVIRONMENT, "%s: %s", (*d)->name, why.text);
        devices++;
    }
    text_printf(out, "%u function%s on %u device%s: %u passed, %u failed, %u without a kernel\n",
                count, count == 1 ? "" : "s", devices, devices == 1 ? "" : "s", total.passed,
                total.failed, total.uncovered);
    return total.failed ? session_say(session, KF_NO_KERNEL, "%u of %u checks failed", total.failed,
                                      total.failed + total.passed)
                        : KF_OK;
}

/* The derivative that a statement of a registry's text states; NULL: another's hides it. */
static const Derivative *stated(const Registry *registry, const Statement *statement) {
    const Function *function = registry_find(registry, statement->name);
    Primitive primitive = {0};
    if (!function && !primitive_find(statement->name, &primitive)) return NULL;
    for (uint32_t p = 0; p < statement->parameter_count; p++) {
        const Derivative *derivative = registry_derivative(registry, function, primitive, p);
        if (derivative && derivative->rule.def == statement) return derivative;
    }
    return NULL;
}

static KfStatus check_derivatives(KfSession *session, const Registry *registry, const Ast *ast,
                                  Text *out) {
    uint32_t checked = 0, wrong = 0;
    KfStatus status = KF_OK;
    for (uint32_t i = 0; i < ast->statements.count && status == KF_OK; i++) {
        const Statement *statement = &ast->statements.data[i];
        const Derivative *derivative =
            statement->kind == STATEMENT_DERIVATIVE ? stated(registry, statement) : NULL;
        bool right;
        if (!derivative) continue;
        status = derivative_check(session, derivative, &right, out);
        checked++;
        wrong += status == KF_OK && !right;
    }
    if (checked > 0 && status == KF_OK)
        text_printf(out, "%u derivative%s beside differences: %u wrong\n", checked,
                    checked == 1 ? "" : "s", wrong);
    return status == KF_OK && wrong ? session_say(session, KF_NO_KERNEL,
                                                  "%u of %u derivatives are wrong", wrong, checked)
                                    : status;
}

static KfStatus check_file(KfSession *session, Registry *registry, const Ast *ast, Arena *arena,
                           Text *out) {
    OpName *ops = arena_array(arena, OpName, ast->statements.count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < ast->statements.count; i++) {
        if (ast->statements.data[i].kind != STATEMENT_DEFINE) continue;
        const Function *function = registry_find(registry, ast->statements.data[i].name);
        ops[count++] = (OpName){function->name, function->required};
    }
    ops_warn_bounds(&session->message, registry, ops, count, arena);
    KfStatus status = check_devices(session, registry, ops, count, arena, out);
    if (status != KF_OK) return status;
    Registry *own = session->registry;
    session->registry = registry; /* that programs of the file's functions can be opened */
    status = check_derivatives(session, registry, ast, out);
    session->registry = own;
    return status;
}

KfStatus kf_ops_check(KfSession *session, const char *path, char **text) {
    Text out = {0};
    text_clear(&session->message);
    const char *why;
    Arena *arena = arena_open();
    Diags diags = {.arena = arena};
    const Source *source = source_read(arena, path, &why);
    KfStatus status = KF_INPUT;
    if (!source) {
        session_say(session, KF_INPUT, "%s", why);
    } else {
        Registry *registry = registry_scope(arena, session->registry);
        const Ast *ast = parse_definitions(arena, source, &diags);
        bool ok = ast && registry_add(registry, ast, LAYER_USER, &diags);
        diags_print(&session->message, &diags);
        if (ok) status = check_file(session, registry, ast, arena, &out);
    }
    arena_close(arena);
    session_give(&out, text);
    return status;
}
