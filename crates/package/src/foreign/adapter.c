/* Calls the checker of another system as an output validator.
 *
 * glibc passes the arguments of main() to constructors. So this constructor runs before the main
 * function of the checker, which is in a different file of the same program and stays unchanged. It
 * starts a process that receives the arguments that the checker expects and continues with main().
 * The first process waits, and reports the result as the ICPC format requires.
 *
 * An output validator is called with INPUT ANSWER FEEDBACK_DIRECTORY, and reads the output of the
 * submission from standard input. The file is C and C++, because the checker may be either. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ADAPTER_ACCEPTED = 42, ADAPTER_WRONG = 43, ADAPTER_FAILED = 1 };

static char adapter_output[4096], adapter_report[4096], adapter_message[4096];

static void adapter_path(char *path, const char *directory, const char *name) {
    if (snprintf(path, 4096, "%s/%s", directory, name) >= 4096) _exit(ADAPTER_FAILED);
}

static void adapter_copy_stdin(const char *path) {
    static char buffer[65536];
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t read_bytes = 0;
    if (file < 0) _exit(ADAPTER_FAILED);
    while ((read_bytes = read(0, buffer, sizeof buffer)) > 0) {
        ssize_t done = 0;
        while (done < read_bytes) {
            ssize_t written = write(file, buffer + done, (size_t)(read_bytes - done));
            if (written <= 0) _exit(ADAPTER_FAILED);
            done += written;
        }
    }
    if (read_bytes < 0 || close(file) != 0) _exit(ADAPTER_FAILED);
}

static void adapter_redirect(const char *path, int to) {
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, to) < 0) _exit(ADAPTER_FAILED);
    close(file);
}

/* Ends with a part of the points of the test, between 0 and 1. */
static void adapter_end(const char *directory, double part) {
#if SCORING
    if (part > 0 && part < 1) {
        static char path[4096];
        FILE *file;
        adapter_path(path, directory, "score_multiplier.txt");
        file = fopen(path, "w");
        if (!file || fprintf(file, "%.9f\n", part) < 0 || fclose(file) != 0) _exit(ADAPTER_FAILED);
        _exit(ADAPTER_ACCEPTED);
    }
#else
    (void)directory;
#endif
    _exit(part >= 1 ? ADAPTER_ACCEPTED : ADAPTER_WRONG);
}

#if TESTLIB
/* The exit status of testlib: 0 accepted, 1 wrong, 2 malformed, 4 dirty, 7 points, 8 unexpected end
 * of file, 16 to 216 a percentage doubled. Points are written as `points 0.5`. */
static void adapter_result(const char *directory, int status) {
    if (status == 0) adapter_end(directory, 1);
    if (status == 1 || status == 2 || status == 4 || status == 8) adapter_end(directory, 0);
    if (status == 7) {
        char line[256] = "";
        double points = -1;
        FILE *file = fopen(adapter_message, "r");
        if (file && fgets(line, sizeof line, file) && sscanf(line, "points %lf", &points) == 1
            && points >= 0 && points <= 1)
            adapter_end(directory, points);
        _exit(ADAPTER_FAILED);
    }
    if (status >= 16 && status <= 216) adapter_end(directory, (status - 16) / 200.0);
    _exit(ADAPTER_FAILED);
}
#elif SIO
/* Three lines: OK or a different word, a comment, and a percentage, which may be missing. */
static void adapter_result(const char *directory, int status) {
    char word[256] = "", comment[4096] = "", percentage[256] = "";
    double part = 1;
    FILE *file = fopen(adapter_report, "r"), *message = fopen(adapter_message, "a");
    if (status != 0 || !file || !message || !fgets(word, sizeof word, file)) _exit(ADAPTER_FAILED);
    if (fgets(comment, sizeof comment, file)) fputs(comment, message);
    if (fgets(percentage, sizeof percentage, file)) sscanf(percentage, "%lf", &part), part /= 100;
    fclose(message);
    word[strcspn(word, " \t\r\n")] = 0;
    adapter_end(directory, strcmp(word, "OK") == 0 ? part : 0);
}
#elif CMS
/* A number between 0 and 1 on standard output, and a comment on standard error. */
static void adapter_result(const char *directory, int status) {
    double part = -1;
    FILE *file = fopen(adapter_report, "r");
    if (status != 0 || !file || fscanf(file, "%lf", &part) != 1 || part < 0 || part > 1)
        _exit(ADAPTER_FAILED);
    adapter_end(directory, part);
}
#endif

__attribute__((constructor)) static void adapter(int argc, char **argv, char **environment) {
    pid_t child;
    int status;
    (void)environment;
    if (argc != 4) {
        fprintf(stderr, "the validator needs INPUT ANSWER FEEDBACK_DIRECTORY\n");
        _exit(ADAPTER_FAILED);
    }
    adapter_path(adapter_output, argv[3], "adapter-output");
    adapter_path(adapter_report, argv[3], "adapter-report");
    adapter_path(adapter_message, argv[3], "judgemessage.txt");
    adapter_copy_stdin(adapter_output);
    child = fork();
    if (child < 0) _exit(ADAPTER_FAILED);
    if (child == 0) {
        char *answer = argv[2];
        adapter_redirect(adapter_report, 1);
        adapter_redirect(adapter_message, 2);
#if CMS
        argv[2] = answer;
        argv[3] = adapter_output;
#else
        argv[2] = adapter_output;
        argv[3] = answer;
#endif
        return;
    }
    while (waitpid(child, &status, 0) < 0) continue;
    unlink(adapter_output);
    if (!WIFEXITED(status)) _exit(ADAPTER_FAILED);
    {
        char *directory = argv[3];
        adapter_result(directory, WEXITSTATUS(status));
    }
}
