/* Columns of the Arrow C data interface: ids as text, scores as float64, ranks as int64. */
#ifndef RANKPROOF_ARROW_H
#define RANKPROOF_ARROW_H

#include "base.h"

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

typedef enum {
    NO_KIND,
    TEXT32,
    TEXT64,
    TEXT_VIEW,
    INT8,
    UINT8,
    INT16,
    UINT16,
    INT32,
    UINT32,
    INT64,
    UINT64,
    FLOAT32,
    FLOAT64
} ArrowKind;

/* A column of one batch; `dictionary` is the kind of the values where `kind` is that of their numbers. */
typedef struct {
    ArrowKind kind, dictionary;
    const struct ArrowArray *array;
    size_t offset;
    char digits[24]; /* an integer id as text */
} ArrowColumn;

static inline ArrowKind arrow_kind(const char *format) {
    static const struct {
        const char *format;
        ArrowKind kind;
    } kinds[] = {{"u", TEXT32}, {"U", TEXT64}, {"vu", TEXT_VIEW}, {"c", INT8},   {"C", UINT8},   {"s", INT16},  {"S", UINT16},
                 {"i", INT32},  {"I", UINT32}, {"l", INT64},      {"L", UINT64}, {"f", FLOAT32}, {"g", FLOAT64}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(format, kinds[i].format) == 0) return kinds[i].kind;
    }
    return NO_KIND;
}

static inline bool is_text(ArrowKind kind) { return kind >= TEXT32 && kind <= TEXT_VIEW; }

static inline bool is_integer(ArrowKind kind) { return kind >= INT8 && kind <= UINT64; }

static inline bool arrow_is_null(const struct ArrowArray *array, size_t index) {
    const uint8_t *valid = array->n_buffers > 0 && array->null_count != 0 ? array->buffers[0] : NULL;
    return valid != NULL && !((valid[index >> 3] >> (index & 7)) & 1);
}

#define ARROW_INTEGER(type) ((int64_t)((const type *)array->buffers[1])[index])

/* The integer at an index, as 64 bits; those of UINT64 above INT64_MAX wrap round. */
static inline int64_t arrow_integer(ArrowKind kind, const struct ArrowArray *array, size_t index) {
    switch (kind) {
        case INT8: return ARROW_INTEGER(int8_t);
        case UINT8: return ARROW_INTEGER(uint8_t);
        case INT16: return ARROW_INTEGER(int16_t);
        case UINT16: return ARROW_INTEGER(uint16_t);
        case INT32: return ARROW_INTEGER(int32_t);
        case UINT32: return ARROW_INTEGER(uint32_t);
        case UINT64: return (int64_t)((const uint64_t *)array->buffers[1])[index];
        default: return ARROW_INTEGER(int64_t);
    }
}

static inline double arrow_number(const ArrowColumn *column, size_t row) {
    const struct ArrowArray *array = column->array;
    size_t index = row + column->offset;
    if (column->kind == FLOAT64) return ((const double *)array->buffers[1])[index];
    if (column->kind == FLOAT32) return (double)((const float *)array->buffers[1])[index];
    int64_t value = arrow_integer(column->kind, array, index);
    return column->kind == UINT64 ? (double)(uint64_t)value : (double)value;
}

static inline Slice text_view(const struct ArrowArray *array, size_t index) {
    const char *view = (const char *)array->buffers[1] + 16 * index;
    int32_t size, place[2];
    memcpy(&size, view, sizeof size);
    if (size <= 12) return (Slice){view + 4, (size_t)size};
    memcpy(place, view + 8, sizeof place);
    return (Slice){(const char *)array->buffers[2 + place[0]] + place[1], (size_t)size};
}

static inline Slice arrow_text(ArrowKind kind, const struct ArrowArray *array, size_t index) {
    if (kind == TEXT_VIEW) return text_view(array, index);
    int64_t from, to;
    if (kind == TEXT32) {
        from = ((const int32_t *)array->buffers[1])[index];
        to = ((const int32_t *)array->buffers[1])[index + 1];
    } else {
        from = ((const int64_t *)array->buffers[1])[index];
        to = ((const int64_t *)array->buffers[1])[index + 1];
    }
    return to > from ? (Slice){(const char *)array->buffers[2] + from, (size_t)(to - from)} : (Slice){"", 0};
}

static inline Slice decimal_text(ArrowColumn *column, int64_t value) {
    bool negative = column->kind != UINT64 && value < 0;
    uint64_t left = negative ? 0 - (uint64_t)value : (uint64_t)value;
    char *end = column->digits + sizeof column->digits, *at = end;
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left != 0);
    if (negative) *--at = '-';
    return (Slice){at, (size_t)(end - at)};
}

/* The id of a row; its `at` is NULL where it is null. */
ALWAYS_INLINE Slice arrow_id(ArrowColumn *column, size_t row) {
    const struct ArrowArray *array = column->array;
    size_t index = row + column->offset;
    if (RARELY(arrow_is_null(array, index))) return (Slice){NULL, 0};
    if (is_text(column->kind)) return arrow_text(column->kind, array, index);
    int64_t value = arrow_integer(column->kind, array, index);
    if (column->dictionary == NO_KIND) return decimal_text(column, value);
    const struct ArrowArray *values = array->dictionary;
    if (value < 0 || value >= values->length) return (Slice){NULL, 0};
    size_t place = (size_t)value + (size_t)values->offset;
    return arrow_is_null(values, place) ? (Slice){NULL, 0} : arrow_text(column->dictionary, values, place);
}

#endif
