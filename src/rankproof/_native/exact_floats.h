/* Values have the same bits on every processor, so a sum or a product may not be kept in a type wider than its operands. */
#ifndef RANKPROOF_EXACT_FLOATS_H
#define RANKPROOF_EXACT_FLOATS_H

#include <float.h>

#if !defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD != 0
#error "floats are evaluated in a wider type; setup.py has the compiler's flags against that for i686 and s390x"
#endif

#endif
