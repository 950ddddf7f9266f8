/* Runs a program on an input and compares its output, as a checker does:
 *
 *   checker INPUT ANSWER PROGRAM [ARGUMENT...]
 *
 * PROGRAM is a path in the sandbox, which shows the host's programs. Prints a verdict. The exit
 * status is 0 if the output is right, 1 if the program failed, and 2 if the sandbox failed.
 */
#include <millibox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file in memory, ended by NUL. The caller frees it. */
static char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(2);
    }
    const long size = ftell(file);
    rewind(file);
    char *bytes = malloc((size_t)size + 1);
    *length = bytes == NULL ? 0 : fread(bytes, 1, (size_t)size, file);
    if (bytes == NULL || *length != (size_t)size) {
        perror(path);
        exit(2);
    }
    bytes[*length] = '\0';
    fclose(file);
    return bytes;
}

/* The length without white space at the end. */
static size_t trimmed(const char *text, size_t length) {
    while (length > 0 && memchr(" \n\r\t", text[length - 1], 4) != NULL)
        length--;
    return length;
}

static const char *verdict(const millibox_result *result, const char *answer, size_t length) {
    if (millibox_result_outcome(result) == MILLIBOX_OUTCOME_EXITED &&
        millibox_result_exit_code(result) == 0) {
        size_t written;
        const char *output = millibox_result_stdout(result, &written);
        length = trimmed(answer, length);
        written = trimmed(output, written);
        return written == length && memcmp(output, answer, length) == 0 ? NULL : "wrong answer";
    }
    return millibox_result_message(result);
}

/* Prints and frees an error. */
static int failed(millibox_error *error) {
    fprintf(stderr, "checker: %s\n", millibox_error_message(error));
    millibox_error_free(error);
    return 2;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: checker INPUT ANSWER PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    millibox_sandbox *sandbox;
    millibox_error *error = millibox_sandbox_new(NULL, &sandbox);
    if (error != NULL)
        return failed(error);
    size_t input_length, answer_length;
    char *input = read_file(argv[1], &input_length);
    char *answer = read_file(argv[2], &answer_length);

    millibox_program *program = millibox_program_new(argv[3]);
    for (int i = 4; i < argc; i++)
        millibox_program_add_arg(program, argv[i]);
    millibox_program_set_stdin(program, input, input_length);
    millibox_program_set_real_time_limit_ns(program, 2 * UINT64_C(1000000000));
    millibox_result *result;
    error = millibox_sandbox_run(sandbox, program, &result);
    int status = 2;
    if (error != NULL) {
        status = failed(error);
    } else {
        const char *reason = verdict(result, answer, answer_length);
        printf("%s, %.1f ms\n", reason == NULL ? "accepted" : reason,
               (double)millibox_result_cpu_time_ns(result) / 1e6);
        status = reason != NULL;
    }
    millibox_result_free(result);
    millibox_program_free(program);
    millibox_sandbox_free(sandbox);
    free(answer);
    free(input);
    return status;
}
