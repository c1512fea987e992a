/* A network of the BERT family with weights of 8 bits: one scale for each output, and one for each row of what it reads. */
#ifndef RANKPROOF_NETWORK_H
#define RANKPROOF_NETWORK_H

#include <stdbool.h>
#include <stdlib.h>

#include "rows.h"

enum { BLOCK_ROWS = 22 * TILE_ROWS, ALIGNED = 64 };
enum { QUERY_KEY_VALUE, ATTENDED, WIDEN, NARROW, LAYER_LINEARS };
enum { ATTENDED_NORM, OUTPUT_NORM, LAYER_NORMS };

static inline size_t rounded_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

/* Numbers from one row of a linear layer to the next: an odd number of cache lines, so that rows do not share a set of the cache. */
static inline size_t row_stride(size_t size) { return (rounded_up(size, ALIGNED) / ALIGNED | 1) * ALIGNED; }

/* A linear layer; `memory` holds the packed weights, `floats` the scales, the scaled sums of the weights and the biases. */
typedef struct {
    size_t inputs, outputs, steps, panels;
    void *memory;
    int8_t *weights;
    float *floats, *scales, *sums, *biases;
} Linear;

typedef struct {
    size_t size;
    float *scale, *shift;
} Norm;

typedef struct {
    Linear linears[LAYER_LINEARS];
    Norm norms[LAYER_NORMS];
} Layer;

typedef struct {
    size_t embedding, hidden, intermediate, heads, count;
    float epsilon;
    Activation activation;
    Norm norm;
    Linear projection;
    Layer *layers;
} Network;

static inline void *aligned(void *memory) {
    uintptr_t place = (uintptr_t)memory;
    return (char *)memory + (ALIGNED - place % ALIGNED) % ALIGNED;
}

static void free_linear(Linear *linear) {
    free(linear->memory);
    free(linear->floats);
    *linear = (Linear){0};
}

/* Rounds the weights of one output to whole numbers from -127 to 127, packs them, and notes scale and sum. */
static void pack_output(Linear *linear, size_t output, const float *row) {
    float most = 0.0f;
    int32_t sum = 0;
    for (size_t at = 0; at < linear->inputs; at++) most = fabsf(row[at]) > most ? fabsf(row[at]) : most;
    float scale = most / 127.0f;
    int8_t *panel = linear->weights + output / PANEL * linear->steps * PANEL * STEP + output % PANEL * STEP;
    for (size_t at = 0; at < linear->inputs; at++) {
        float number = scale > 0.0f ? rintf(row[at] / scale) : 0.0f;
        number = number < 127.0f ? number : 127.0f;
        int32_t rounded = (int32_t)(number > -127.0f ? number : -127.0f);
        panel[at / STEP * PANEL * STEP + at % STEP] = (int8_t)rounded;
        sum += rounded;
    }
    linear->scales[output] = scale;
    linear->sums[output] = scale * (float)sum;
}

/* Weights are as in PyTorch, outputs first; false without memory. */
static bool fill_linear(Linear *linear, size_t inputs, size_t outputs, const float *weights, const float *biases) {
    size_t padded = rounded_up(outputs, PANEL);
    free_linear(linear);
    *linear = (Linear){.inputs = inputs, .outputs = outputs, .steps = rounded_up(inputs, STEP) / STEP, .panels = padded / PANEL};
    linear->memory = calloc(linear->steps * STEP * padded + ALIGNED, 1);
    linear->floats = calloc(3 * padded, sizeof(float));
    if (linear->memory == NULL || linear->floats == NULL) return free_linear(linear), false;
    linear->weights = aligned(linear->memory);
    linear->scales = linear->floats, linear->sums = linear->floats + padded, linear->biases = linear->floats + 2 * padded;
    for (size_t output = 0; output < outputs; output++) pack_output(linear, output, weights + output * inputs);
    memcpy(linear->biases, biases, outputs * sizeof *biases);
    return true;
}

static bool fill_norm(Norm *norm, size_t size, const float *scale, const float *shift) {
    free(norm->scale);
    norm->scale = malloc(2 * size * sizeof *scale);
    if (norm->scale == NULL) return false;
    norm->size = size, norm->shift = norm->scale + size;
    memcpy(norm->scale, scale, size * sizeof *scale);
    memcpy(norm->shift, shift, size * sizeof *shift);
    return true;
}

static void free_network(Network *network) {
    for (size_t at = 0; network->layers != NULL && at < network->count; at++) {
        for (size_t one = 0; one < LAYER_LINEARS; one++) free_linear(&network->layers[at].linears[one]);
        for (size_t one = 0; one < LAYER_NORMS; one++) free(network->layers[at].norms[one].scale);
    }
    free_linear(&network->projection);
    free(network->norm.scale);
    free(network->layers);
    free(network);
}

/* Whether every part has its weights. */
static bool is_complete(const Network *network) {
    bool complete = network->norm.scale != NULL && (network->embedding == network->hidden || network->projection.memory != NULL);
    for (size_t at = 0; at < network->count; at++) {
        for (size_t one = 0; one < LAYER_LINEARS; one++) complete &= network->layers[at].linears[one].memory != NULL;
        for (size_t one = 0; one < LAYER_NORMS; one++) complete &= network->layers[at].norms[one].scale != NULL;
    }
    return complete;
}

/* The memory of one run over `rows` tokens; all numbers of rows are rounded up to whole tiles. */
typedef struct {
    Kernel kernel;
    size_t tokens, rows, width;
    void *memory;
    float *states, *joined, *context, *wide, *value_scales;
    uint8_t *bytes, *query, *shares;
    int8_t *keys, *values;
    int16_t *wide_bytes, *wide_query, *wide_shares, *wide_panel, *wide_keys, *wide_values;
    int32_t *key_sums, *scores;
    RowScale *scales;
} Scratch;

/* Takes the next piece of the memory, or only counts it while there is none. */
static void *piece(char *memory, size_t *used, size_t count, size_t size) {
    void *start = memory == NULL ? NULL : memory + *used;
    *used += rounded_up(count * size, ALIGNED);
    return start;
}

static size_t lay_out(const Network *network, Scratch *scratch, char *memory) {
    size_t used = 0, head = network->hidden / network->heads, keys = rounded_up(scratch->rows, PANEL), width = scratch->width;
    size_t length = rounded_up(head, STEP), channels = rounded_up(head, PANEL);
    scratch->states = piece(memory, &used, scratch->rows * width, sizeof(float));
    scratch->joined = piece(memory, &used, scratch->rows * 3 * network->hidden, sizeof(float));
    scratch->context = piece(memory, &used, scratch->rows * network->hidden, sizeof(float));
    scratch->wide = piece(memory, &used, BLOCK_ROWS * width, sizeof(float));
    scratch->scores = piece(memory, &used, TILE_ROWS * keys, sizeof(int32_t));
    scratch->value_scales = piece(memory, &used, 2 * channels, sizeof(float));
    scratch->bytes = piece(memory, &used, BLOCK_ROWS * row_stride(width), 1);
    scratch->query = piece(memory, &used, scratch->rows * length, 1);
    scratch->shares = piece(memory, &used, TILE_ROWS * keys, 1);
    scratch->keys = piece(memory, &used, keys * length, 1);
    scratch->values = piece(memory, &used, keys * channels, 1);
    scratch->key_sums = piece(memory, &used, keys, sizeof(int32_t));
    scratch->scales = piece(memory, &used, BLOCK_ROWS, sizeof(RowScale));
    if (scratch->kernel != AVX2_KERNEL) return used;
    scratch->wide_bytes = piece(memory, &used, BLOCK_ROWS * row_stride(width), sizeof(int16_t));
    scratch->wide_query = piece(memory, &used, scratch->rows * length, sizeof(int16_t));
    scratch->wide_shares = piece(memory, &used, TILE_ROWS * keys, sizeof(int16_t));
    scratch->wide_panel = piece(memory, &used, PANEL * rounded_up(width, STEP), sizeof(int16_t));
    scratch->wide_keys = piece(memory, &used, keys * length, sizeof(int16_t));
    scratch->wide_values = piece(memory, &used, keys * channels, sizeof(int16_t));
    return used;
}

static bool make_scratch(Kernel kernel, const Network *network, size_t tokens, Scratch *scratch) {
    size_t width = network->intermediate > network->hidden ? network->intermediate : network->hidden;
    width = network->embedding > width ? network->embedding : width;
    *scratch = (Scratch){.kernel = kernel, .tokens = tokens, .rows = rounded_up(tokens, TILE_ROWS), .width = width};
    scratch->memory = calloc(lay_out(network, scratch, NULL) + ALIGNED, 1);
    if (scratch->memory == NULL) return false;
    lay_out(network, scratch, aligned(scratch->memory));
    return true;
}

/* The panels of the next tile, of so many that are left: four, two or one. */
static inline size_t next_panels(Kernel kernel, size_t left) {
    size_t panels = tile_panels(kernel);
    while (panels > left) panels /= 2;
    return panels;
}

/* Some outputs of a linear layer. */
typedef struct {
    const Linear *linear;
    size_t first, width;
} Columns;

/* Sums of whole numbers become rows of float32, `stride` apart. */
static inline void scale_sums(Columns columns, const int32_t *sums, size_t sums_stride, const RowScale *scales, float *out, size_t stride) {
    const Linear *linear = columns.linear;
    const float *restrict scale = linear->scales + columns.first, *restrict weights = linear->sums + columns.first, *restrict bias = linear->biases + columns.first;
    for (size_t row = 0; row < TILE_ROWS; row++) {
        RowScale of = scales[row];
        float *restrict to = out + row * stride + columns.first;
        const int32_t *restrict sum = sums + row * sums_stride;
        for (size_t at = 0; at < columns.width; at++) to[at] = (float)sum[at] * (of.scale * scale[at]) + (of.low * weights[at] + bias[at]);
    }
}

/* One linear layer over the rows of bytes of the scratch (a whole number of tiles) into rows of float32, `stride` apart. */
static inline void multiply(Kernel kernel, const Linear *linear, Scratch *scratch, size_t rows, float *out, size_t stride) {
    int32_t sums[TILE_ROWS * MOST_WIDTH];
    size_t length = row_stride(linear->inputs), panels;
    const void *bytes = rows_of(kernel, scratch->bytes, rows * length, scratch->wide_bytes);
    for (size_t panel = 0; panel < linear->panels; panel += panels) {
        panels = next_panels(kernel, linear->panels - panel);
        const void *packed = panels_of(kernel, linear->weights + panel * linear->steps * STEP * PANEL, linear->steps, scratch->wide_panel);
        size_t first = panel * PANEL, width = panels * PANEL;
        Columns columns = {linear, first, linear->outputs - first < width ? linear->outputs - first : width};
        for (size_t start = 0; start < rows; start += TILE_ROWS) {
            tile(kernel, (Operands){number_at(kernel, bytes, start * length), length, packed, linear->steps}, panels, sums);
            scale_sums(columns, sums, width, scratch->scales + start, out + start * stride, stride);
        }
    }
}

/* Rounds rows to bytes; what pads a row to whole steps is 0. */
static inline void quantise_rows(const float *rows, size_t stride, size_t count, size_t size, uint8_t *bytes, RowScale *scales) {
    size_t length = row_stride(size);
    for (size_t row = 0; row < count; row++) {
        scales[row] = quantise_row(rows + row * stride, size, bytes + row * length);
        memset(bytes + row * length + size, 0, length - size);
    }
}

/* A linear layer from rows of float32 to others. */
static inline void apply(Kernel kernel, const Linear *linear, const float *from, size_t from_stride, size_t rows, float *to, size_t to_stride, Scratch *scratch) {
    for (size_t start = 0; start < rows; start += BLOCK_ROWS) {
        size_t count = rows - start < BLOCK_ROWS ? rows - start : BLOCK_ROWS;
        quantise_rows(from + start * from_stride, from_stride, count, linear->inputs, scratch->bytes, scratch->scales);
        multiply(kernel, linear, scratch, count, to + start * to_stride, to_stride);
    }
}

/* The rows of one head in `joined`: queries, keys or values. */
typedef struct {
    const float *first;
    size_t stride, tokens, size;
} Head;

/* The largest size of each channel. */
static inline void channel_sizes(Head head, float *restrict most) {
    memset(most, 0, head.size * sizeof *most);
    for (size_t token = 0; token < head.tokens; token++) {
        const float *restrict row = head.first + token * head.stride;
        for (size_t at = 0; at < head.size; at++) most[at] = fabsf(row[at]) > most[at] ? fabsf(row[at]) : most[at];
    }
}

/* What makes numbers up to `most` whole numbers up to 127; 0 if they are all about 0. */
static inline float byte_factor(float most) { return most > 1.0e-30f ? 127.0f / most : 0.0f; }

/* The same for all channels. */
static inline float head_factor(Head head, float *most) {
    float largest = 0.0f;
    channel_sizes(head, most);
    for (size_t at = 0; at < head.size; at++) largest = most[at] > largest ? most[at] : largest;
    return byte_factor(largest);
}

/* One row of a head as bytes around 128. */
static inline void around_128(const float *restrict row, size_t size, float factor, uint8_t *restrict bytes) {
    for (size_t at = 0; at < size; at++) bytes[at] = to_byte(row[at] * factor + 128.0f);
}

static inline void pack_queries(Head head, float factor, uint8_t *bytes) {
    size_t length = rounded_up(head.size, STEP);
    for (size_t token = 0; token < head.tokens; token++) around_128(head.first + token * head.stride, head.size, factor, bytes + token * length);
}

/* Keys are columns; `sums` is what 128 in each byte of a query adds, and for columns that pad the last panel a score below all others. */
static inline void pack_keys(Head head, float factor, int8_t *keys, int32_t *sums, uint8_t *bytes) {
    size_t length = rounded_up(head.size, STEP), padded = rounded_up(head.tokens, PANEL);
    memset(bytes, 128, length);
    for (size_t token = 0; token < head.tokens; token++) {
        int32_t sum = 0;
        around_128(head.first + token * head.stride, head.size, factor, bytes);
        int8_t *to = keys + token / PANEL * PANEL * length + token % PANEL * STEP;
        for (size_t at = 0; at < length; at++) sum += (int32_t)bytes[at];
        for (size_t at = 0; at < length; at += STEP) {
            uint32_t four;
            memcpy(&four, bytes + at, sizeof four);
            four ^= 0x80808080u;
            memcpy(to + at * PANEL, &four, sizeof four);
        }
        sums[token] = 128 * (sum - 128 * (int32_t)length);
    }
    for (size_t token = head.tokens; token < padded; token++) sums[token] = LEAST_SCORE;
}

/* Channels are columns; `most` becomes the scale of each channel, `bytes` has room for four rows. */
static inline void pack_values(Head head, float *restrict most, int8_t *values, uint8_t *bytes) {
    size_t steps = rounded_up(head.tokens, STEP) / STEP;
    float *restrict factors = most + head.size;
    channel_sizes(head, most);
    for (size_t at = 0; at < head.size; at++) factors[at] = byte_factor(most[at]), most[at] = most[at] / 127.0f;
    for (size_t step = 0; step < steps; step++) {
        memset(bytes, 128, STEP * head.size);
        for (size_t token = step * STEP; token < head.tokens && token < (step + 1) * STEP; token++) {
            const float *restrict row = head.first + token * head.stride;
            uint8_t *restrict to = bytes + token % STEP * head.size;
            for (size_t at = 0; at < head.size; at++) to[at] = to_byte(row[at] * factors[at] + 128.0f);
        }
        for (size_t first = 0; first < head.size; first += PANEL) {
            size_t count = head.size - first < PANEL ? head.size - first : PANEL;
            int8_t *restrict to = values + (first * steps + step * PANEL) * STEP;
            const uint8_t *restrict from = bytes + first;
            for (size_t at = 0; at < count; at++)
                for (size_t token = 0; token < STEP; token++) to[at * STEP + token] = (int8_t)(from[token * head.size + at] ^ 0x80u);
        }
    }
}

/* What the tiles of one head read. */
typedef struct {
    const void *queries, *keys, *values;
    float unit;
} Packed;

/* The shares of six queries in all tokens as bytes, and their sums; `unit` makes scores exponents of two. */
static inline const void *share(Kernel kernel, Scratch *scratch, Packed packed, size_t start, size_t length, int32_t *totals) {
    size_t keys = rounded_up(scratch->tokens, PANEL), panels;
    int32_t sums[TILE_ROWS * MOST_WIDTH];
    for (size_t first = 0; first < keys; first += panels * PANEL) {
        panels = next_panels(kernel, (keys - first) / PANEL);
        Operands given = {number_at(kernel, packed.queries, start * length), length, number_at(kernel, packed.keys, first * length), length / STEP};
        tile(kernel, given, panels, sums);
        const int32_t *restrict minus = scratch->key_sums + first;
        for (size_t row = 0; row < TILE_ROWS; row++) {
            int32_t *restrict to = scratch->scores + row * keys + first;
            for (size_t at = 0; at < panels * PANEL; at++) to[at] = sums[row * panels * PANEL + at] - minus[at];
        }
    }
    for (size_t row = 0; row < TILE_ROWS; row++)
        totals[row] = softmax_row(scratch->scores + row * keys, keys, scratch->tokens, packed.unit, scratch->shares + row * keys);
    return rows_of(kernel, scratch->shares, TILE_ROWS * keys, scratch->wide_shares);
}

/* Rounds queries, keys and values of a head to bytes. */
static inline Packed pack_head(Kernel kernel, const Network *network, Scratch *scratch, size_t first) {
    size_t size = network->hidden / network->heads, length = rounded_up(size, STEP), steps = rounded_up(scratch->tokens, STEP) / STEP;
    Head query = {scratch->joined + first, 3 * network->hidden, scratch->tokens, size}, key = query, value = query;
    key.first += network->hidden, value.first += 2 * network->hidden;
    float *most = scratch->value_scales, query_factor = head_factor(query, most), key_factor = head_factor(key, most);
    pack_queries(query, query_factor, scratch->query);
    pack_keys(key, key_factor, scratch->keys, scratch->key_sums, scratch->bytes);
    pack_values(value, most, scratch->values, scratch->bytes);
    return (Packed){
        .queries = rows_of(kernel, scratch->query, scratch->rows * length, scratch->wide_query),
        .keys = panels_of(kernel, scratch->keys, rounded_up(scratch->tokens, PANEL) / PANEL * (length / STEP), scratch->wide_keys),
        .values = panels_of(kernel, scratch->values, rounded_up(size, PANEL) / PANEL * steps, scratch->wide_values),
        .unit = query_factor * key_factor > 0.0f ? LOG2_E / (query_factor * key_factor) : 0.0f,
    };
}

/* The attention of the head whose channels begin at `first`. */
static inline void attend(Kernel kernel, const Network *network, Scratch *scratch, size_t first) {
    size_t size = network->hidden / network->heads, length = rounded_up(size, STEP), keys = rounded_up(scratch->tokens, PANEL);
    size_t steps = rounded_up(scratch->tokens, STEP) / STEP, panels;
    int32_t sums[TILE_ROWS * MOST_WIDTH], totals[TILE_ROWS];
    Packed packed = pack_head(kernel, network, scratch, first);
    for (size_t start = 0; start < scratch->rows; start += TILE_ROWS) {
        const void *shares = share(kernel, scratch, packed, start, length, totals);
        for (size_t channel = 0; channel < size; channel += panels * PANEL) {
            panels = next_panels(kernel, rounded_up(size - channel, PANEL) / PANEL);
            size_t width = panels * PANEL, channels = size - channel < width ? size - channel : width;
            const float *restrict most = scratch->value_scales + channel;
            tile(kernel, (Operands){shares, keys, number_at(kernel, packed.values, channel * steps * STEP), steps}, panels, sums);
            for (size_t row = 0; row < TILE_ROWS; row++) {
                float part = 1.0f / (float)totals[row], *restrict to = scratch->context + (start + row) * network->hidden + first + channel;
                for (size_t at = 0; at < channels; at++) to[at] = (float)sums[row * width + at] * (part * most[at]);
            }
        }
    }
}

/* Adds rows to the states and normalises the sum. */
static inline void add_and_norm(const Network *network, const Norm *norm, const float *rows, size_t stride, size_t count, float *states) {
    for (size_t row = 0; row < count; row++) {
        float *restrict state = states + row * network->hidden;
        const float *restrict more = rows + row * stride;
        for (size_t at = 0; at < network->hidden; at++) state[at] += more[at];
        layer_norm(state, network->hidden, norm->scale, norm->shift, network->epsilon);
    }
}

/* What follows the attention, block by block, so that the wide rows stay in the cache. */
static inline void feed_forward(Kernel kernel, const Network *network, const Layer *layer, Scratch *scratch) {
    size_t hidden = network->hidden, wide = network->intermediate;
    for (size_t start = 0; start < scratch->rows; start += BLOCK_ROWS) {
        size_t count = scratch->rows - start < BLOCK_ROWS ? scratch->rows - start : BLOCK_ROWS;
        float *states = scratch->states + start * hidden, *context = scratch->context + start * hidden;
        apply(kernel, &layer->linears[ATTENDED], context, hidden, count, scratch->wide, hidden, scratch);
        add_and_norm(network, &layer->norms[ATTENDED_NORM], scratch->wide, hidden, count, states);
        apply(kernel, &layer->linears[WIDEN], states, hidden, count, scratch->wide, wide, scratch);
        for (size_t row = 0; row < count; row++) activate_row(network->activation, scratch->wide + row * wide, wide);
        apply(kernel, &layer->linears[NARROW], scratch->wide, wide, count, context, hidden, scratch);
        add_and_norm(network, &layer->norms[OUTPUT_NORM], context, hidden, count, states);
    }
}

/* From embeddings to the last hidden states. */
static inline void run_any(Kernel kernel, const Network *network, const float *embedded, float *out, Scratch *scratch) {
    size_t hidden = network->hidden, size = network->embedding;
    float *first = scratch->states;
    for (size_t token = 0; token < scratch->tokens; token++) {
        memcpy(first + token * size, embedded + token * size, size * sizeof *first);
        layer_norm(first + token * size, size, network->norm.scale, network->norm.shift, network->epsilon);
    }
    if (size != hidden) {
        apply(kernel, &network->projection, first, size, scratch->rows, scratch->context, hidden, scratch);
        memcpy(scratch->states, scratch->context, scratch->rows * hidden * sizeof *first);
    }
    for (size_t at = 0; at < network->count; at++) {
        const Layer *layer = &network->layers[at];
        apply(kernel, &layer->linears[QUERY_KEY_VALUE], scratch->states, hidden, scratch->rows, scratch->joined, 3 * hidden, scratch);
        for (size_t head = 0; head < network->heads; head++) attend(kernel, network, scratch, head * (hidden / network->heads));
        feed_forward(kernel, network, layer, scratch);
    }
    memcpy(out, scratch->states, scratch->tokens * hidden * sizeof *out);
}

#ifdef HAS_X86_KERNELS
AVX512_TARGET __attribute__((flatten)) static void run_avx512(const Network *network, const float *embedded, float *out, Scratch *scratch) {
    run_any(AVX512_KERNEL, network, embedded, out, scratch);
}

AVX_VNNI_TARGET __attribute__((flatten)) static void run_avx_vnni(const Network *network, const float *embedded, float *out, Scratch *scratch) {
    run_any(AVX_VNNI_KERNEL, network, embedded, out, scratch);
}

AVX2_TARGET __attribute__((flatten)) static void run_avx2(const Network *network, const float *embedded, float *out, Scratch *scratch) {
    run_any(AVX2_KERNEL, network, embedded, out, scratch);
}
#endif

static void run(const Network *network, const float *embedded, float *out, Scratch *scratch) {
#ifdef HAS_X86_KERNELS
    if (scratch->kernel == AVX512_KERNEL)
        run_avx512(network, embedded, out, scratch);
    else if (scratch->kernel == AVX_VNNI_KERNEL)
        run_avx_vnni(network, embedded, out, scratch);
    else if (scratch->kernel == AVX2_KERNEL)
        run_avx2(network, embedded, out, scratch);
    else
#endif
        run_any(ANY_KERNEL, network, embedded, out, scratch);
}

#endif
