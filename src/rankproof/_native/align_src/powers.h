/* The powers of ten that a double holds exactly, and those of ten and five that 64 bits hold. */
#ifndef RANKPROOF_POWERS_H
#define RANKPROOF_POWERS_H

#include <stdint.h>

static const double POWERS_OF_TEN[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
static const uint64_t WHOLE_POWERS_OF_TEN[] = {1u,
                                               10u,
                                               100u,
                                               1000u,
                                               10000u,
                                               100000u,
                                               1000000u,
                                               10000000u,
                                               100000000u,
                                               1000000000u,
                                               10000000000u,
                                               100000000000u,
                                               1000000000000u,
                                               10000000000000u,
                                               100000000000000u,
                                               1000000000000000u,
                                               10000000000000000u};
static const uint64_t POWERS_OF_FIVE[] = {1u,
                                          5u,
                                          25u,
                                          125u,
                                          625u,
                                          3125u,
                                          15625u,
                                          78125u,
                                          390625u,
                                          1953125u,
                                          9765625u,
                                          48828125u,
                                          244140625u,
                                          1220703125u,
                                          6103515625u,
                                          30517578125u,
                                          152587890625u,
                                          762939453125u,
                                          3814697265625u,
                                          19073486328125u,
                                          95367431640625u,
                                          476837158203125u,
                                          2384185791015625u,
                                          11920928955078125u,
                                          59604644775390625u,
                                          298023223876953125u,
                                          1490116119384765625u,
                                          7450580596923828125u};
#define MOST_FIVES 27
#define MOST_TENS 22

#endif
