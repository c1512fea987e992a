/* What must hold: says where it does not, and stops the fuzzer. */
#ifndef RANKPROOF_FUZZ_EXPECT_H
#define RANKPROOF_FUZZ_EXPECT_H

#include <stdio.h>
#include <stdlib.h>

#define EXPECT(condition)                                                           \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)

#endif
