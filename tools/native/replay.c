/* Runs a harness of tools/fuzz once over each file that is named, without libFuzzer: for processors that have no sanitizers. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_BYTES 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay(const char *path) {
    static uint8_t bytes[MOST_BYTES];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, size);
}

int main(int count, char **paths) {
    for (int i = 1; i < count; i++) replay(paths[i]);
    printf("%d inputs\n", count - 1);
    return count > 1 ? 0 : 2;
}
