/* In: an integer expression of a template's header, knobs at a point, sizes. Out: its value, or why
 * it has none. The one idea: a cell per node holds a value or a reason, so that a reason matters
 * only where the value would. */
#include "registry/space.h"

#include <math.h>
#include <string.h>

#include "registry/nearest.h"

typedef struct Cell {
    int64_t value;
    const char *why; /* NULL: value is good */
} Cell;

static const char overflow[] = "overflow", by_zero[] = "division by zero";

static Cell good(int64_t value) {
    return (Cell){value, NULL};
}

static Cell bad(const char *why) {
    return (Cell){0, why};
}

/* --- Operations */

static Cell divide(int64_t a, int64_t b, bool up) {
    if (b == 0) return bad(by_zero);
    if (b == -1) return a == INT64_MIN ? bad(overflow) : good(-a);
    int64_t quotient = a / b, rest = a % b;
    if (rest == 0) return good(quotient);
    bool negative = (rest < 0) != (b < 0);
    return good(up ? quotient + !negative : quotient - negative);
}

static Cell modulo(int64_t a, int64_t b) {
    if (b == 0) return bad(by_zero);
    int64_t rest = b == -1 ? 0 : a % b;
    return good(rest && (rest < 0) != (b < 0) ? rest + b : rest);
}

static Cell power(int64_t a, int64_t b) {
    int64_t result = 1;
    if (b < 0) return bad("negative exponent");
    if (b > 64) b = 64 + b % 2; /* enough for 0, 1 and -1; all others overflow */
    for (; b > 0; b--)
        if (__builtin_mul_overflow(result, a, &result)) return bad(overflow);
    return good(result);
}

static Cell subtract(int64_t a, int64_t b) {
    int64_t result;
    return __builtin_sub_overflow(a, b, &result) ? bad(overflow) : good(result);
}

static Cell binary(AstOp op, int64_t a, int64_t b) {
    int64_t result;
    switch (op) {
    case OP_ADD: return __builtin_add_overflow(a, b, &result) ? bad(overflow) : good(result);
    case OP_SUB: return subtract(a, b);
    case OP_MUL: return __builtin_mul_overflow(a, b, &result) ? bad(overflow) : good(result);
    case OP_FLOORDIV: return divide(a, b, false);
    case OP_MOD: return modulo(a, b);
    case OP_POW: return power(a, b);
    case OP_LT: return good(a < b);
    case OP_LE: return good(a <= b);
    case OP_GT: return good(a > b);
    case OP_GE: return good(a >= b);
    case OP_EQ: return good(a == b);
    case OP_NE: return good(a != b);
    case OP_AND:
    case OP_OR: return good(b != 0); /* reached where the left side does not decide */
    case OP_DIV: return bad("'/' is no division of integers: write '//'");
    default: return bad("no operator of integers");
    }
}

static Cell apply_binary(AstOp op, Cell a, Cell b) {
    if (a.why) return a;
    if (op == OP_AND && !a.value) return good(0);
    if (op == OP_OR && a.value) return good(1);
    return b.why ? b : binary(op, a.value, b.value);
}

static Cell apply_unary(AstOp op, Cell a) {
    if (a.why || op == OP_PLUS) return a;
    return op == OP_NOT ? good(!a.value) : subtract(0, a.value);
}

/* --- Functions */

static Cell call_ceildiv(int64_t a, int64_t b) {
    return divide(a, b, true);
}

static Cell call_min(int64_t a, int64_t b) {
    return good(a < b ? a : b);
}

static Cell call_max(int64_t a, int64_t b) {
    return good(a > b ? a : b);
}

static Cell call_abs(int64_t a, int64_t b) {
    (void)b;
    return a < 0 ? subtract(0, a) : good(a);
}

static const struct Callable {
    const char *name;
    uint32_t arity;
    Cell (*call)(int64_t a, int64_t b);
} callables[] = {
    {"ceildiv", 2, call_ceildiv}, {"min", 2, call_min}, {"max", 2, call_max}, {"abs", 1, call_abs}};

/* The function of a call with fitting arguments, or NULL. */
static const struct Callable *find_callable(const Ast *ast, const AstNode *node) {
    for (uint32_t i = 0; i < node->count; i++)
        if (ast->args.data[node->first + i].name) return NULL;
    for (size_t i = 0; i < sizeof callables / sizeof *callables; i++)
        if (!strcmp(callables[i].name, node->name) && callables[i].arity == node->count)
            return &callables[i];
    return NULL;
}

/* --- Leaves */

static bool is_whole(double number) {
    return number <= 0x1p53 && floor(number) == number;
}

static Cell read_number(double number) {
    return is_whole(number) ? good((int64_t)number) : bad("no whole number up to 2**53");
}

static Cell read_name(const Space *space, const Point *point, Bindings bindings, const char *name) {
    for (uint32_t i = 0; i < space->knob_count; i++)
        if (!strcmp(space->knobs[i].key, name) || !strcmp(space->knobs[i].label, name))
            return good(point->value[i]);
    for (uint32_t i = 0; i < bindings.count; i++)
        if (!strcmp(bindings.list[i].name, name)) return good(bindings.list[i].value);
    return bad("unknown name");
}

/* --- Expressions */

/* An expression's nodes are contiguous, from its leftmost leaf to its root. */
static Node first_node(const Ast *ast, Node node) {
    for (;;) {
        const AstNode *root = &ast->nodes.data[node];
        if (root->kind == AST_CALL && root->count)
            node = ast->args.data[root->first].value;
        else if (root->kind >= AST_UNARY)
            node = root->a;
        else
            return node;
    }
}

static Cell eval_call(const Ast *ast, const AstNode *node, const Cell *cells, Node first) {
    const struct Callable *callable = find_callable(ast, node);
    int64_t values[2] = {0, 0};
    if (!callable) return bad("unknown function");
    for (uint32_t i = 0; i < node->count; i++) {
        Cell cell = cells[ast->args.data[node->first + i].value - first];
        if (cell.why) return cell;
        values[i] = cell.value;
    }
    return callable->call(values[0], values[1]);
}

static Cell eval_select(const AstNode *node, const Cell *cells, Node first) {
    Cell condition = cells[node->a - first];
    if (condition.why) return condition;
    return cells[(condition.value ? node->b : node->c) - first];
}

bool space_eval(const Space *space, const Point *point, Bindings bindings, const Ast *ast,
                Node root, int64_t *value, const char **why) {
    Cell cells[SPACE_NODES], result = bad("the expression is too long");
    Node first = first_node(ast, root);
    for (Node at = first; at <= root && root - first < SPACE_NODES; at++) {
        const AstNode *node = &ast->nodes.data[at];
        switch (node->kind) {
        case AST_NUMBER: result = read_number(node->number); break;
        case AST_NAME: result = read_name(space, point, bindings, node->name); break;
        case AST_CALL: result = eval_call(ast, node, cells, first); break;
        case AST_UNARY: result = apply_unary(node->op, cells[node->a - first]); break;
        case AST_BINARY:
            result = apply_binary(node->op, cells[node->a - first], cells[node->b - first]);
            break;
        case AST_SELECT: result = eval_select(node, cells, first); break;
        default: result = bad("no operator of integers"); break;
        }
        cells[at - first] = result;
    }
    *value = result.value;
    *why = result.why;
    return !result.why;
}

/* --- What can never be computed */

static void complain_of_name(const Space *space, Bindings bindings, const Ast *ast,
                             const AstNode *node, Diags *diags) {
    Nearest nearest = {.wanted = node->name};
    for (uint32_t i = 0; i < space->knob_count; i++) {
        nearest_consider(&nearest, space->knobs[i].key);
        nearest_consider(&nearest, space->knobs[i].label);
    }
    for (uint32_t i = 0; i < bindings.count; i++) nearest_consider(&nearest, bindings.list[i].name);
    const char *hint =
        nearest.name ? arena_printf(diags->arena, "did you mean '%s'?", nearest.name) : NULL;
    diag_error(diags, ast->source, node->mark, hint, "'%s' is no knob, size or fact of the machine",
               node->name);
}

static bool check_node(const Space *space, Bindings bindings, const Ast *ast, const AstNode *node,
                       Diags *diags) {
    Point point = space_fallback(space);
    Cell cell = good(0);
    if (node->kind == AST_NUMBER) cell = read_number(node->number);
    if (node->kind == AST_BINARY) cell = binary(node->op, 1, 1);
    if (node->kind == AST_TRANSPOSE) cell = bad("no operator of integers");
    if (node->kind == AST_CALL && !find_callable(ast, node))
        cell = bad("a function here is ceildiv(a, b), min(a, b), max(a, b) or abs(a)");
    if (cell.why) diag_error(diags, ast->source, node->mark, NULL, "%s", cell.why);
    if (node->kind != AST_NAME || !read_name(space, &point, bindings, node->name).why)
        return !cell.why;
    complain_of_name(space, bindings, ast, node, diags);
    return false;
}

bool space_check(const Space *space, Bindings bindings, const Ast *ast, Node root, Diags *diags) {
    Node first = first_node(ast, root);
    bool fine = root - first < SPACE_NODES;
    if (!fine)
        diag_error(diags, ast->source, ast->nodes.data[root].span, NULL,
                   "more than %d names, numbers and operators", SPACE_NODES);
    for (Node at = first; at <= root; at++)
        fine &= check_node(space, bindings, ast, &ast->nodes.data[at], diags);
    return fine;
}
