/* Allocation that fails when it is told to, put in the place of the C library's before the reader is included. */
#ifndef RANKPROOF_FUZZ_ALLOCATION_H
#define RANKPROOF_FUZZ_ALLOCATION_H

#include <stdlib.h>

static size_t allocations_left = (size_t)-1;

static int allocation_fails(void) {
    if (allocations_left == (size_t)-1) return 0;
    if (allocations_left == 0) return 1;
    allocations_left--;
    return 0;
}

static void *failing_malloc(size_t size) { return allocation_fails() ? NULL : malloc(size); }
static void *failing_calloc(size_t count, size_t size) { return allocation_fails() ? NULL : calloc(count, size); }
static void *failing_realloc(void *old, size_t size) { return allocation_fails() ? NULL : realloc(old, size); }

#define malloc failing_malloc
#define calloc failing_calloc
#define realloc failing_realloc

#endif
