/* In: two stacks. Out: the processor on the other one. The first switch to a fiber pops what
 * fiber_make laid down: the function and its argument, in registers that calls keep. */
#include "tests/shim/fiber.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void fiber_swap(void **from, void *to);
void fiber_begin(void);

#if defined(__x86_64__)
__asm__(".text\n"
        "fiber_swap:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n"
        "    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n"
        "    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        "fiber_begin:\n"
        "    movq %r12, %rdi\n    callq *%rbx\n    ud2\n");
/* Behind the return address an odd word: calls want the stack at a multiple of 16. */
enum { WORD_ARGUMENT = 3, WORD_WORK = 4, WORD_RETURN = 6, WORDS = 9 };
#elif defined(__aarch64__)
__asm__(".text\n"
        "fiber_swap:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp]\n    stp x21, x22, [sp, #16]\n    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n    stp x27, x28, [sp, #64]\n    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n    str x9, [x0]\n    mov sp, x1\n"
        "    ldp x19, x20, [sp]\n    ldp x21, x22, [sp, #16]\n    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n    ldp x27, x28, [sp, #64]\n    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n    ret\n"
        "fiber_begin:\n"
        "    mov x0, x20\n    blr x19\n    brk #1\n");
enum { WORD_ARGUMENT = 1, WORD_WORK = 0, WORD_RETURN = 11, WORDS = 20 };
#else
enum { WORD_ARGUMENT, WORD_WORK, WORD_RETURN, WORDS };
void fiber_swap(void **from, void *to) {
    (void)from, (void)to;
    abort();
}
void fiber_begin(void) {
    abort();
}
#endif

void fiber_make(Fiber *fiber, void *end, void (*work)(void *argument), void *argument) {
    uintptr_t *words = (uintptr_t *)((uintptr_t)end / 16 * 16) - WORDS;
    void (*begin)(void) = fiber_begin;
    memset(words, 0, WORDS * sizeof *words);
    memcpy(&words[WORD_ARGUMENT], &argument, sizeof argument);
    memcpy(&words[WORD_WORK], &work, sizeof work);
    memcpy(&words[WORD_RETURN], &begin, sizeof begin);
    fiber->at = words;
}

void fiber_switch(Fiber *from, const Fiber *to) {
    fiber_swap(&from->at, to->at);
}
