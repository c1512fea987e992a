/* Runs encoders of the BERT family with weights and activations of 8 bits.

   Products of bytes are summed exactly, and every row has its own scale: the states of a text depend on its tokens only, and
   are the same bits on every machine. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "bert_src/network.h"

enum { MOST_TOKENS = 65536, MOST_SIZE = 65536, MOST_LAYERS = 1024, MOST_HEAD = 8192 };

static const char NAME[] = "rankproof._native.bert.network";

static void free_capsule(PyObject *capsule) {
    free_network(PyCapsule_GetPointer(capsule, NAME));
}

static bool is_size(Py_ssize_t size, Py_ssize_t most) { return size >= 1 && size <= most; }

/* network(embedding, hidden, intermediate, heads, layers, activation, epsilon): without weights. */
static PyObject *py_network(PyObject *module, PyObject *arguments) {
    Py_ssize_t embedding, hidden, intermediate, heads, layers;
    int activation;
    double epsilon;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "nnnnnid", &embedding, &hidden, &intermediate, &heads, &layers, &activation, &epsilon)) return NULL;
    if (!is_size(embedding, MOST_SIZE) || !is_size(hidden, MOST_SIZE) || !is_size(intermediate, MOST_SIZE) || !is_size(heads, hidden) ||
        hidden % heads != 0 || hidden / heads > MOST_HEAD || layers < 0 || layers > MOST_LAYERS || activation < GELU || activation > RELU) {
        PyErr_SetString(PyExc_ValueError, "a size is out of range, or the heads do not divide the states");
        return NULL;
    }
    Network *network = calloc(1, sizeof *network);
    if (network == NULL) return PyErr_NoMemory();
    *network = (Network){.embedding = (size_t)embedding, .hidden = (size_t)hidden, .intermediate = (size_t)intermediate,
                         .heads = (size_t)heads, .count = (size_t)layers, .epsilon = (float)epsilon, .activation = (Activation)activation};
    network->layers = calloc(network->count + 1, sizeof *network->layers);
    PyObject *capsule = network->layers == NULL ? PyErr_NoMemory() : PyCapsule_New(network, NAME, free_capsule);
    if (capsule == NULL) free_network(network);
    return capsule;
}

/* The sizes that weight and bias of a part have. */
typedef struct {
    Linear *linear;
    Norm *norm;
    size_t inputs, outputs;
} Part;

/* Parts of the embeddings (layer -1): norm 0, projection 1; of a layer: the four linear layers, then the two norms. */
static Part find_part(Network *network, Py_ssize_t layer, int part) {
    size_t hidden = network->hidden, wide = network->intermediate;
    const size_t sizes[LAYER_LINEARS][2] = {{hidden, 3 * hidden}, {hidden, hidden}, {hidden, wide}, {wide, hidden}};
    if (layer == -1 && part == 0) return (Part){.norm = &network->norm, .outputs = network->embedding};
    if (layer == -1 && part == 1) return (Part){.linear = &network->projection, .inputs = network->embedding, .outputs = hidden};
    if (layer < 0 || (size_t)layer >= network->count || part < 0 || part >= LAYER_LINEARS + LAYER_NORMS) return (Part){0};
    Layer *of = &network->layers[layer];
    if (part >= LAYER_LINEARS) return (Part){.norm = &of->norms[part - LAYER_LINEARS], .outputs = hidden};
    return (Part){.linear = &of->linears[part], .inputs = sizes[part][0], .outputs = sizes[part][1]};
}

/* fill(network, layer, part, weight, bias): copies the float32 weights of a part. */
static PyObject *py_fill(PyObject *module, PyObject *arguments) {
    PyObject *capsule;
    Py_ssize_t layer;
    int part;
    Py_buffer weight, bias;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Oniy*y*", &capsule, &layer, &part, &weight, &bias)) return NULL;
    Network *network = PyCapsule_GetPointer(capsule, NAME);
    Part found = network == NULL ? (Part){0} : find_part(network, layer, part);
    size_t numbers = found.outputs * (found.linear == NULL ? 1 : found.inputs);
    bool sound = found.outputs > 0 && (size_t)weight.len == numbers * sizeof(float) && (size_t)bias.len == found.outputs * sizeof(float);
    bool done = false;
    if (sound) {
        Py_BEGIN_ALLOW_THREADS;
        done = found.linear != NULL ? fill_linear(found.linear, found.inputs, found.outputs, weight.buf, bias.buf)
                                    : fill_norm(found.norm, found.outputs, weight.buf, bias.buf);
        Py_END_ALLOW_THREADS;
        if (!done) PyErr_NoMemory();
    } else if (network != NULL)
        PyErr_SetString(PyExc_ValueError, "there is no such part, or its weights have another size");
    PyBuffer_Release(&weight);
    PyBuffer_Release(&bias);
    if (!done) return NULL;
    Py_RETURN_NONE;
}

static PyObject *states_of(const Network *network, const float *embedded, size_t tokens, Kernel kernel) {
    PyObject *states = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(tokens * network->hidden * sizeof(float)));
    Scratch scratch = {0};
    bool ready = false;
    if (states == NULL) return NULL;
    float *out = (float *)(void *)PyBytes_AsString(states);
    Py_BEGIN_ALLOW_THREADS;
    if ((ready = make_scratch(kernel, network, tokens, &scratch))) run(network, embedded, out, &scratch);
    free(scratch.memory);
    Py_END_ALLOW_THREADS;
    if (ready) return states;
    Py_DECREF(states);
    return PyErr_NoMemory();
}

/* run(network, embedded, kernel): the last hidden states (float32) of one text; a kernel of -1 is the fastest of the machine. */
static PyObject *py_run(PyObject *module, PyObject *arguments) {
    PyObject *capsule, *states = NULL;
    Py_buffer embedded;
    int kernel;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "Oy*i", &capsule, &embedded, &kernel)) return NULL;
    const Network *network = PyCapsule_GetPointer(capsule, NAME);
    size_t row = network == NULL ? 1 : network->embedding * sizeof(float), tokens = (size_t)embedded.len / row;
    bool known = kernel == -1 || (kernel >= 0 && kernel < KERNELS && has_kernel((Kernel)kernel));
    if (network == NULL)
        ;
    else if (tokens < 1 || tokens > MOST_TOKENS || tokens * row != (size_t)embedded.len || !known)
        PyErr_SetString(PyExc_ValueError, "the embeddings have the wrong size, or this machine has no such kernel");
    else if (!is_complete(network))
        PyErr_SetString(PyExc_ValueError, "a part of the network has no weights");
    else
        states = states_of(network, embedded.buf, tokens, kernel < 0 ? best_kernel() : (Kernel)kernel);
    PyBuffer_Release(&embedded);
    return states;
}

static PyMethodDef functions[] = {
    {"network", py_network, METH_VARARGS, "A network without weights: (embedding, hidden, intermediate, heads, layers, activation, epsilon)."},
    {"fill", py_fill, METH_VARARGS, "Copies the weights of a part: (network, layer, part, weight, bias)."},
    {"run", py_run, METH_VARARGS, "The last hidden states of one text: (network, embedded, kernel)."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "bert", "Networks of the BERT family in 8 bits.", -1, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_bert(void) {
    return PyModule_Create(&definition);
}
