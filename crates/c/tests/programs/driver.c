/* Drives the C library: driver BACKEND. Each failed check is printed; the exit status is 1 then. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <millibox.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                \
            failures++;                                                           \
        }                                                                         \
    } while (0)

static const uint64_t SECOND = 1000000000;
static millibox_sandbox *box;

/* Under valgrind, posix_spawn(3) cannot report that an executable is missing, and the child of the
 * test has lost what the parent still uses. */
static bool under_valgrind(void) {
    return getenv("MILLIBOX_VALGRIND") != NULL;
}

/* Frees an error and returns its code. Prints an unexpected message. */
static millibox_code code(millibox_error *error, millibox_code expected) {
    millibox_code got = millibox_error_code(error);
    if (got != expected)
        printf("error %u instead of %u: %s\n", got, expected, millibox_error_message(error));
    CHECK((got == MILLIBOX_CODE_NONE) == (*millibox_error_message(error) == '\0'));
    millibox_error_free(error);
    return got;
}

#define OK(call) CHECK(code(call, MILLIBOX_CODE_NONE) == MILLIBOX_CODE_NONE)
#define FAILS(expected, call) CHECK(code(call, expected) == (expected))

static millibox_program *shell(const char *script) {
    const char *const arguments[] = {"-c", script, NULL};
    millibox_program *program = millibox_program_new("sh");
    millibox_program_add_args(program, arguments);
    return program;
}

/* Runs a program, frees it and returns the result. */
static millibox_result *run(millibox_program *program) {
    millibox_result *result = NULL;
    OK(millibox_sandbox_run(box, program, &result));
    CHECK(result != NULL);
    millibox_program_free(program);
    return result;
}

static millibox_outcome outcome(millibox_program *program) {
    millibox_result *result = run(program);
    millibox_outcome outcome = millibox_result_outcome(result);
    millibox_result_free(result);
    return outcome;
}

static bool is(const void *data, size_t length, const char *expected) {
    return length == strlen(expected) && memcmp(data, expected, length) == 0;
}

static void outcomes(void) {
    millibox_program *program = shell("cat; echo problem >&2; pwd; echo $X; exit 3");
    millibox_program_set_stdin(program, "input\n", 6);
    millibox_program_set_cwd(program, "/tmp");
    millibox_program_set_env(program, "X", "value");
    millibox_result *result = run(program);
    CHECK(millibox_result_outcome(result) == MILLIBOX_OUTCOME_EXITED);
    CHECK(millibox_result_exit_code(result) == 3);
    CHECK(millibox_result_signal(result) == 0);
    CHECK(!millibox_result_is_success(result));
    CHECK(strcmp(millibox_result_message(result), "exited with 3") == 0);
    size_t length;
    const void *data = millibox_result_stdout(result, &length);
    CHECK(is(data, length, "input\n/tmp\nvalue\n"));
    data = millibox_result_stderr(result, &length);
    CHECK(is(data, length, "problem\n"));
    CHECK(millibox_result_real_time_ns(result) > 0);
    CHECK(millibox_result_real_time_ns(result) < 60 * SECOND);
    CHECK(millibox_result_cpu_time_ns(result) ==
          millibox_result_user_time_ns(result) + millibox_result_system_time_ns(result));
    CHECK(millibox_result_peak_memory(result) > 0);
    CHECK(millibox_result_backend(result) == millibox_sandbox_backend(box));
    CHECK(!millibox_result_is_truncated(result) && !millibox_result_is_prepared(result));
    millibox_result_free(result);

    result = run(shell("kill -SEGV $$"));
    CHECK(millibox_result_outcome(result) == MILLIBOX_OUTCOME_SIGNALED);
    CHECK(millibox_result_signal(result) == SIGSEGV && millibox_result_exit_code(result) == -1);
    millibox_result_free(result);

    program = shell("sleep 1000");
    millibox_program_set_real_time_limit_ns(program, SECOND / 20);
    CHECK(outcome(program) == MILLIBOX_OUTCOME_REAL_TIME_LIMIT);

    program = shell("while :; do :; done");
    millibox_program_set_cpu_time_limit_ns(program, SECOND / 20);
    millibox_program_set_real_time_limit_ns(program, MILLIBOX_UNLIMITED);
    CHECK(outcome(program) == MILLIBOX_OUTCOME_CPU_TIME_LIMIT);

    /* The substitution needs 64 MiB. Without cgroups the shell cannot allocate them. */
    program = shell("x=$(head -c 64M /dev/zero | tr '\\0' x); echo ${#x}");
    millibox_program_set_memory_limit(program, 32 << 20);
    result = run(program);
    if (millibox_sandbox_backend(box) == MILLIBOX_BACKEND_RLIMIT)
        CHECK(!millibox_result_is_success(result));
    else
        CHECK(millibox_result_outcome(result) == MILLIBOX_OUTCOME_MEMORY_LIMIT);
    millibox_result_free(result);

    program = shell("yes");
    millibox_program_set_output_limit(program, 1000);
    result = run(program);
    CHECK(millibox_result_outcome(result) == MILLIBOX_OUTCOME_OUTPUT_LIMIT);
    CHECK(millibox_result_is_truncated(result) && !millibox_result_is_success(result));
    millibox_result_stdout(result, &length);
    CHECK(length == 1000);
    millibox_result_free(result);

    program = millibox_program_new("head");
    const char *const zeros[] = {"-c", "1M", "/dev/zero", NULL};
    millibox_program_add_args(program, zeros);
    millibox_program_set_output_limit(program, 1 << 20);
    result = run(program);
    CHECK(millibox_result_is_success(result));
    millibox_result_stdout(result, &length);
    CHECK(length == 1 << 20);
    millibox_result_free(result);

    program = shell("exec head -c 2000 /dev/zero >/tmp/file");
    millibox_program_set_file_size_limit(program, 1000);
    CHECK(outcome(program) == MILLIBOX_OUTCOME_OUTPUT_LIMIT);

    program = shell("true & true & true & wait; echo");
    millibox_program_set_process_limit(program, 1);
    result = run(program);
    CHECK(!millibox_result_is_success(result));
    millibox_result_free(result);

    program = shell("ulimit -n");
    millibox_program_set_rlimit(program, "NOFILE", 17);
    result = run(program);
    data = millibox_result_stdout(result, &length);
    CHECK(is(data, length, "17\n"));
    millibox_result_free(result);

    program = millibox_program_new("/no/such/program");
    result = run(program);
    CHECK(millibox_result_outcome(result) == MILLIBOX_OUTCOME_NOT_STARTED);
    CHECK(strstr(millibox_result_message(result), "/no/such/program") != NULL);
    millibox_result_free(result);
}

static void streams(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    millibox_program *program = shell("echo out; echo err >&2");
    millibox_program_set_stdout_fd(program, ends[1]);
    millibox_program_set_stderr_fd(program, -1);
    millibox_result *result = run(program);
    close(ends[1]);
    char text[10] = "";
    CHECK(read(ends[0], text, sizeof text) == 4 && memcmp(text, "out\n", 4) == 0);
    CHECK(read(ends[0], text, sizeof text) == 0);
    close(ends[0]);
    size_t length;
    millibox_result_stderr(result, &length);
    CHECK(millibox_result_is_success(result) && length == 0);
    millibox_result_free(result);

    CHECK(pipe(ends) == 0);
    CHECK(write(ends[1], "from a pipe", 11) == 11);
    close(ends[1]);
    program = millibox_program_new("/bin/cat");
    millibox_program_set_stdin_fd(program, ends[0]);
    close(ends[0]);
    millibox_program_set_stderr_fd(program, -1);
    result = run(program);
    const void *data = millibox_result_stdout(result, &length);
    CHECK(is(data, length, "from a pipe"));
    millibox_result_free(result);

    /* A program can run again: its input is not used up. */
    program = millibox_program_new("/bin/cat");
    millibox_program_set_stdin(program, "again", 5);
    for (int i = 0; i < 2; i++) {
        OK(millibox_sandbox_run(box, program, &result));
        data = millibox_result_stdout(result, &length);
        CHECK(is(data, length, "again"));
        millibox_result_free(result);
    }
    millibox_program_free(program);
}

static void worlds(void) {
    millibox_files *files = NULL;
    OK(millibox_files_new(&files));
    OK(millibox_files_write(files, "input.txt", "4 5\n", 4, false));
    /* Missing directories are created, and the program may write to them. */
    mode_t mask = umask(077);
    OK(millibox_files_write(files, "a/./b/script", "echo 7 >b/new\n", 14, true));
    umask(mask);
    FAILS(MILLIBOX_CODE_SYSTEM, millibox_files_write(files, "c/../../x", "", 0, false));
    FAILS(MILLIBOX_CODE_SYSTEM, millibox_files_write(files, "input.txt/x", "", 0, false));
    millibox_world *world = millibox_world_new(MILLIBOX_WORLD_KIND_STANDARD);
    millibox_world_add_read_write(world, millibox_files_path(files), "/files");
    millibox_world_add_tmpfs(world, "/scratch", 1 << 20);
    millibox_world_add_symlink(world, "/files/input.txt", "/link");
    millibox_world_set_network(world, MILLIBOX_NETWORK_LOOPBACK);
    millibox_world_set_ids(world, 1234, 1235);
    millibox_world_set_stated_memory(world, 64 << 20);
    millibox_program *program =
        shell("cat /link >/files/output.txt && (cd /files/a && sh b/script) && "
              "ln -s /etc/passwd /files/evil && mkfifo /files/fifo && touch /scratch/x && "
              "ls /sys/class/net; id -u; id -g");
    millibox_program_set_world(program, world);
    millibox_world_free(world);
    millibox_result *result = run(program);
    size_t length;
    const void *data = millibox_result_stdout(result, &length);
    CHECK(length >= 10 && is((const char *)data + (length - 10), 10, "1234\n1235\n"));
    millibox_result_free(result);
    millibox_buffer *buffer = NULL;
    OK(millibox_files_read(files, "output.txt", 100, &buffer));
    data = millibox_buffer_data(buffer, &length);
    CHECK(is(data, length, "4 5\n"));
    millibox_buffer_free(buffer);
    OK(millibox_files_read(files, "a/b/new", 100, &buffer));
    data = millibox_buffer_data(buffer, &length);
    CHECK(is(data, length, "7\n"));
    millibox_buffer_free(buffer);
    static const struct {
        const char *name;
        int error;
    } wrong[] = {
        {"missing", ENOENT}, {"evil", ELOOP},     {"fifo", EINVAL},
        {".", EINVAL},       {"../x", EXDEV},     {"/etc/passwd", EXDEV},
        {"output.txt", EFBIG},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        millibox_error *error = millibox_files_read(files, wrong[i].name, 3, &buffer);
        CHECK(buffer == NULL && millibox_error_errno(error) == wrong[i].error);
        if (millibox_error_errno(error) != wrong[i].error)
            printf("%s: %s\n", wrong[i].name, millibox_error_message(error));
        FAILS(MILLIBOX_CODE_SYSTEM, error);
    }
    FAILS(MILLIBOX_CODE_SYSTEM, millibox_files_write(files, "evil", "x", 1, false));
    FAILS(MILLIBOX_CODE_SYSTEM, millibox_files_write(files, "evil/x", "x", 1, false));
    char path[1000];
    snprintf(path, sizeof path, "%s", millibox_files_path(files));
    millibox_files_free(files);
    CHECK(access(path, F_OK) != 0 && errno == ENOENT);

    world = millibox_world_new(MILLIBOX_WORLD_KIND_EMPTY);
    program = millibox_program_new("/bin/true");
    millibox_program_set_world(program, world);
    millibox_world_free(world);
    CHECK(outcome(program) == MILLIBOX_OUTCOME_NOT_STARTED);
}

/* Removes 5000 directories inside each other, some of which have no permissions. */
static void removal(void) {
    millibox_files *files = NULL;
    OK(millibox_files_new(&files));
    millibox_world *world = millibox_world_new(MILLIBOX_WORLD_KIND_STANDARD);
    millibox_world_add_read_write(world, millibox_files_path(files), "/files");
    millibox_program *program =
        shell("set -e; cd /files; mkdir -p closed/inner; touch closed/inner/file;"
              "chmod 000 closed/inner closed;"
              "i=0; while [ $i -lt 50 ]; do step=$step/d i=$((i + 1)); done;"
              "i=0; while [ $i -lt 100 ]; do mkdir -p .$step; cd -P .$step 2>/dev/null; : >file;"
              " chmod 000 ..; i=$((i + 1)); done; chmod 000 . /files");
    millibox_program_set_real_time_limit_ns(program, 100 * SECOND);
    millibox_program_set_world(program, world);
    millibox_world_free(world);
    millibox_result *result = run(program);
    size_t length;
    const char *data = millibox_result_stderr(result, &length);
    CHECK(millibox_result_is_success(result));
    if (!millibox_result_is_success(result))
        printf("%.*s", (int)length, data);
    millibox_result_free(result);
    char path[1000];
    snprintf(path, sizeof path, "%s", millibox_files_path(files));
    millibox_files_free(files);
    CHECK(access(path, F_OK) != 0 && errno == ENOENT);
}

static void prepared(void) {
    if (access("/usr/bin/python3", X_OK) != 0)
        return;
    const char *const modules[] = {"json", NULL};
    millibox_world *world = millibox_world_new(MILLIBOX_WORLD_KIND_STANDARD);
    millibox_prepared *python = NULL;
    OK(millibox_prepared_python(world, "/usr/bin/python3", modules, &python));
    millibox_world_free(world);
    const char *const arguments[] = {"-c", "import json; print(json.dumps([1]))", NULL};
    millibox_program *program = millibox_program_new("/usr/bin/python3");
    millibox_program_add_args(program, arguments);
    millibox_program_set_prepared(program, python);
    millibox_prepared_free(python);
    millibox_result *result = run(program);
    size_t length;
    const void *data = millibox_result_stdout(result, &length);
    CHECK(is(data, length, "[1]\n"));
    if (millibox_sandbox_backend(box) != MILLIBOX_BACKEND_RLIMIT)
        CHECK(millibox_result_is_prepared(result));
    CHECK(millibox_result_is_prepared(result) ==
          (*millibox_result_cold_start_reason(result) == '\0'));
    millibox_result_free(result);

    /* The modules are imported in the copy, unless it has executed the interpreter anew. */
    static const char *const environment[] = {"PYTHONHASHSEED=0", "HOME=/home", NULL};
    static const char *const not_a_variable[] = {"PYTHONHASHSEED", NULL};
    static const char *const loaded[] = {"-c", "import sys; print('json' in sys.modules)", NULL};
    world = millibox_world_new(MILLIBOX_WORLD_KIND_STANDARD);
    FAILS(MILLIBOX_CODE_INVALID,
          millibox_prepared_python_with_env(world, "/usr/bin/python3", modules, not_a_variable,
                                            &python));
    for (int with_environment = 0; with_environment < 2; with_environment++) {
        program = millibox_program_new("/usr/bin/python3");
        millibox_program_add_args(program, loaded);
        if (with_environment) {
            OK(millibox_prepared_python_with_env(world, "/usr/bin/python3", modules, environment,
                                                 &python));
            millibox_program_set_env(program, "PYTHONHASHSEED", "0");
            millibox_program_set_env(program, "HOME", "/home");
        } else {
            OK(millibox_prepared_python(world, "/usr/bin/python3", modules, &python));
        }
        millibox_program_set_prepared(program, python);
        millibox_prepared_free(python);
        result = run(program);
        data = millibox_result_stdout(result, &length);
        CHECK(is(data, length, millibox_result_is_prepared(result) ? "True\n" : "False\n"));
        millibox_result_free(result);
    }
    millibox_world_free(world);

    /* An interpreter that does not exist: the program is executed instead. */
    world = millibox_world_new(MILLIBOX_WORLD_KIND_STANDARD);
    OK(millibox_prepared_python(world, "/usr/bin/nopython", NULL, &python));
    millibox_world_free(world);
    program = millibox_program_new("/usr/bin/python3");
    millibox_program_add_args(program, arguments);
    millibox_program_set_prepared(program, python);
    millibox_prepared_free(python);
    result = run(program);
    data = millibox_result_stdout(result, &length);
    CHECK(is(data, length, "[1]\n") && !millibox_result_is_prepared(result));
    if (millibox_sandbox_backend(box) != MILLIBOX_BACKEND_RLIMIT)
        CHECK(strstr(millibox_result_cold_start_reason(result), "No such file") != NULL);
    millibox_result_free(result);
}

/* Waits for a run through its descriptor. */
static millibox_result *polled(millibox_run *run) {
    int descriptor;
    OK(millibox_run_fd(run, &descriptor));
    for (;;) {
        millibox_result *result;
        OK(millibox_run_poll(run, &result));
        if (result != NULL)
            return result;
        struct pollfd ready = {.fd = descriptor, .events = POLLIN};
        CHECK(poll(&ready, 1, 60000) == 1);
    }
}

static void handles(void) {
    /* More output than a pipe holds, so the loop must read while the program runs. */
    enum { RUNS = 8 };
    millibox_run *runs[RUNS];
    for (int i = 0; i < RUNS; i++) {
        char script[100];
        snprintf(script, sizeof script, "head -c 300000 /dev/zero; echo %d >&2; exit %d", i, i);
        millibox_program *program = shell(script);
        OK(millibox_sandbox_start(box, program, &runs[i]));
        millibox_program_free(program);
    }
    for (int i = 0; i < RUNS; i++) {
        millibox_result *result = polled(runs[i]);
        size_t length;
        millibox_result_stdout(result, &length);
        CHECK(length == 300000 && millibox_result_exit_code(result) == i);
        const char *data = millibox_result_stderr(result, &length);
        CHECK(length == 2 && data[0] == '0' + i);
        millibox_result_free(result);
        /* The result stays available, and the descriptor stays readable. */
        result = polled(runs[i]);
        CHECK(millibox_result_exit_code(result) == i);
        millibox_result_free(result);
        int descriptor;
        OK(millibox_run_fd(runs[i], &descriptor));
        struct pollfd ready = {.fd = descriptor, .events = POLLIN};
        CHECK(poll(&ready, 1, 0) == 1);
        OK(millibox_run_wait(runs[i], MILLIBOX_UNLIMITED, &result));
        CHECK(millibox_result_exit_code(result) == i);
        millibox_result_free(result);
        millibox_run_free(runs[i]);
    }

    millibox_run *run;
    millibox_result *result;
    millibox_program *program = shell("sleep 1000");
    millibox_program_set_real_time_limit_ns(program, MILLIBOX_UNLIMITED);
    OK(millibox_sandbox_start(box, program, &run));
    OK(millibox_run_wait(run, SECOND / 100, &result));
    CHECK(result == NULL);
    OK(millibox_run_poll(run, &result));
    CHECK(result == NULL);
    millibox_run_cancel(run);
    OK(millibox_run_wait(run, 60 * SECOND, &result));
    CHECK(millibox_result_outcome(result) == MILLIBOX_OUTCOME_CANCELLED);
    millibox_result_free(result);
    millibox_run_free(run);

    /* A freed run ends, and without captured output the descriptor is that of the run. */
    millibox_program_set_stdout_fd(program, -1);
    millibox_program_set_stderr_fd(program, -1);
    OK(millibox_sandbox_start(box, program, &run));
    int descriptor;
    OK(millibox_run_fd(run, &descriptor));
    millibox_run_free(run);
    OK(millibox_sandbox_start(box, program, &run));
    millibox_run_cancel(run);
    result = polled(run);
    CHECK(millibox_result_outcome(result) == MILLIBOX_OUTCOME_CANCELLED);
    millibox_run_free(run);
    CHECK(millibox_result_outcome(result) == MILLIBOX_OUTCOME_CANCELLED);
    millibox_result_free(result);
    millibox_program_free(program);
}

static void *cancel(void *run) {
    usleep(50000);
    millibox_run_cancel(run);
    return NULL;
}

static void *several(void *argument) {
    (void)argument;
    for (int i = 0; i < 10; i++)
        CHECK(outcome(shell("exit 0")) == MILLIBOX_OUTCOME_EXITED);
    return NULL;
}

static void threads(void) {
    millibox_run *run;
    millibox_program *program = shell("sleep 1000");
    OK(millibox_sandbox_start(box, program, &run));
    millibox_program_free(program);
    pthread_t thread[4];
    CHECK(pthread_create(thread, NULL, cancel, run) == 0);
    millibox_result *result;
    OK(millibox_run_wait(run, MILLIBOX_UNLIMITED, &result));
    CHECK(millibox_result_outcome(result) == MILLIBOX_OUTCOME_CANCELLED);
    pthread_join(*thread, NULL);
    millibox_result_free(result);
    millibox_run_free(run);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&thread[i], NULL, several, NULL) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
}

static void *wait_until_cancelled(void *run) {
    millibox_result *result;
    OK(millibox_run_wait(run, MILLIBOX_UNLIMITED, &result));
    CHECK(millibox_result_outcome(result) == MILLIBOX_OUTCOME_CANCELLED);
    millibox_result_free(result);
    return NULL;
}

static void *wait_for_output(void *run) {
    millibox_result *result;
    OK(millibox_run_wait(run, MILLIBOX_UNLIMITED, &result));
    size_t length;
    millibox_result_stdout(result, &length);
    CHECK(length == 3000000);
    millibox_result_free(result);
    return NULL;
}

/* Only a thread that asks to wait waits, also while another thread waits for the same run. */
static void polls_beside_waits(void) {
    millibox_run *run;
    millibox_result *result;
    pthread_t thread;
    millibox_program *program = shell("sleep 1000");
    millibox_program_set_real_time_limit_ns(program, MILLIBOX_UNLIMITED);
    for (int captures = 1; captures >= 0; captures--) {
        if (captures == 0) {
            millibox_program_set_stdout_fd(program, -1);
            millibox_program_set_stderr_fd(program, -1);
        }
        OK(millibox_sandbox_start(box, program, &run));
        CHECK(pthread_create(&thread, NULL, wait_until_cancelled, run) == 0);
        usleep(200000);
        alarm(60); /* Ends the driver if a call waits for the other thread. */
        for (int i = 0; i < 3; i++) {
            OK(millibox_run_poll(run, &result));
            CHECK(result == NULL);
            OK(millibox_run_wait(run, SECOND / 100, &result));
            CHECK(result == NULL);
            int descriptor;
            OK(millibox_run_fd(run, &descriptor));
            struct pollfd ready = {.fd = descriptor, .events = POLLIN};
            CHECK(poll(&ready, 1, 0) == 0);
        }
        millibox_run_cancel(run);
        pthread_join(thread, NULL);
        alarm(0);
        result = polled(run);
        CHECK(millibox_result_outcome(result) == MILLIBOX_OUTCOME_CANCELLED);
        millibox_result_free(result);
        millibox_run_free(run);
    }
    millibox_program_free(program);

    /* Both threads read the output, and both receive all of it. */
    program = shell("head -c 3000000 /dev/zero");
    OK(millibox_sandbox_start(box, program, &run));
    CHECK(pthread_create(&thread, NULL, wait_for_output, run) == 0);
    result = polled(run);
    size_t length;
    millibox_result_stdout(result, &length);
    CHECK(length == 3000000);
    millibox_result_free(result);
    pthread_join(thread, NULL);
    millibox_run_free(run);
    millibox_program_free(program);
}

static void mistakes(void) {
    millibox_result *result = (millibox_result *)&failures;
    millibox_run *started = (millibox_run *)&failures;
    int descriptor = 7;
    millibox_program *program = millibox_program_new("/bin/true");
    FAILS(MILLIBOX_CODE_INVALID, millibox_sandbox_run(NULL, program, &result));
    CHECK(result == NULL);
    FAILS(MILLIBOX_CODE_INVALID, millibox_sandbox_run(box, NULL, &result));
    FAILS(MILLIBOX_CODE_INVALID, millibox_sandbox_run(box, program, NULL));
    FAILS(MILLIBOX_CODE_INVALID, millibox_sandbox_start(box, NULL, &started));
    CHECK(started == NULL);
    FAILS(MILLIBOX_CODE_INVALID, millibox_run_fd(NULL, &descriptor));
    CHECK(descriptor == -1);
    FAILS(MILLIBOX_CODE_INVALID, millibox_run_fd(NULL, NULL));
    FAILS(MILLIBOX_CODE_INVALID, millibox_run_poll(NULL, &result));
    FAILS(MILLIBOX_CODE_INVALID, millibox_run_wait(NULL, 0, NULL));
    FAILS(MILLIBOX_CODE_INVALID, millibox_sandbox_new(NULL, NULL));
    FAILS(MILLIBOX_CODE_INVALID, millibox_prepared_python(NULL, "python", NULL, NULL));
    FAILS(MILLIBOX_CODE_INVALID, millibox_files_new(NULL));
    FAILS(MILLIBOX_CODE_INVALID, millibox_files_write(NULL, "x", "x", 1, false));
    FAILS(MILLIBOX_CODE_INVALID, millibox_files_read(NULL, "x", 1, NULL));
    millibox_program_free(program);

    /* All mistakes are reported together. */
    program = millibox_program_new(NULL);
    millibox_world *world = millibox_world_new(99);
    millibox_world_add_read_only(world, NULL, "/x");
    millibox_world_set_network(world, 99);
    millibox_program_set_world(program, world);
    millibox_program_set_world(program, NULL);
    millibox_program_set_prepared(program, NULL);
    millibox_program_add_arg(program, NULL);
    millibox_program_set_env(program, NULL, NULL);
    millibox_program_set_cwd(program, NULL);
    millibox_program_set_stdin(program, NULL, 3);
    millibox_program_set_stdin_fd(program, -1);
    millibox_program_set_stdout_fd(program, 999999);
    millibox_program_set_rlimit(program, "NO\xff", 1);
    millibox_error *error = millibox_sandbox_run(box, program, &result);
    int lines = 1;
    for (const char *c = millibox_error_message(error); *c != '\0'; c++)
        lines += *c == '\n';
    CHECK(lines == 12);
    FAILS(MILLIBOX_CODE_INVALID, error);
    millibox_program_free(program);
    millibox_world_free(world);

    program = millibox_program_new("");
    millibox_program_set_memory_limit(program, 0);
    millibox_program_set_rlimit(program, "BOGUS", 1);
    millibox_program_set_env(program, "A=B", "C");
    FAILS(MILLIBOX_CODE_INVALID, millibox_sandbox_run(box, program, &result));
    millibox_program_free(program);

    /* Linux does not require UTF-8 in arguments. */
    program = millibox_program_new("/bin/echo");
    millibox_program_add_arg(program, "\xff\xfe");
    result = run(program);
    size_t length;
    const void *data = millibox_result_stdout(result, &length);
    CHECK(is(data, length, "\xff\xfe\n"));
    millibox_result_free(result);

    /* NULL is allowed everywhere. */
    millibox_program_add_arg(NULL, "x");
    millibox_program_set_world(NULL, NULL);
    millibox_world_add_tmpfs(NULL, "/x", 1);
    millibox_options_set_slots(NULL, 1);
    millibox_run_cancel(NULL);
    millibox_sandbox_close(NULL);
    millibox_error_free(NULL);
    millibox_options_free(NULL);
    millibox_sandbox_free(NULL);
    millibox_world_free(NULL);
    millibox_prepared_free(NULL);
    millibox_program_free(NULL);
    millibox_run_free(NULL);
    millibox_result_free(NULL);
    millibox_files_free(NULL);
    millibox_buffer_free(NULL);
    CHECK(millibox_result_outcome(NULL) == MILLIBOX_OUTCOME_NOT_STARTED);
    CHECK(*millibox_result_cold_start_reason(NULL) == '\0');
    CHECK(*millibox_result_message(NULL) == '\0' && *millibox_sandbox_warnings(NULL) == '\0');
    CHECK(*millibox_files_path(NULL) == '\0');
    length = 7;
    CHECK(millibox_result_stdout(NULL, &length) != NULL && length == 0);
    CHECK(millibox_buffer_data(NULL, NULL) != NULL);
}

static void starts(void) {
    millibox_sandbox *none = box;
    millibox_options *options = millibox_options_new();
    millibox_options_set_backend(options, 99);
    millibox_options_set_supervisor(options, NULL);
    millibox_options_set_cgroup_parent(options, "/\xff");
    FAILS(MILLIBOX_CODE_INVALID, millibox_sandbox_new(options, &none));
    CHECK(none == NULL);
    millibox_options_free(options);
    options = millibox_options_new();
    millibox_options_set_slots(options, 0);
    FAILS(MILLIBOX_CODE_INVALID, millibox_sandbox_new(options, &none));
    millibox_options_free(options);
    options = millibox_options_new();
    millibox_options_set_supervisor(options, "/no/such/supervisor");
    millibox_error *error = millibox_sandbox_new(options, &none);
    CHECK(millibox_error_errno(error) == ENOENT || under_valgrind());
    CHECK(strstr(millibox_error_message(error), "/no/such/supervisor") != NULL);
    FAILS(MILLIBOX_CODE_START, error);

    /* A supervisor of another protocol. */
    char path[] = "/tmp/millibox-driver.XXXXXX";
    int file = mkstemp(path);
    static const char script[] =
        "#!/bin/sh\n[ \"$1\" != --version ] || exec echo millibox-supervisor 0.1.7\n"
        "printf 'mbx\\005abcdefghijklmnopqrstuvwxyz' >&0\nexec sleep 1\n";
    CHECK(write(file, script, sizeof script - 1) == (ssize_t)sizeof script - 1);
    CHECK(fchmod(file, 0700) == 0);
    close(file);
    millibox_options_set_supervisor(options, path);
    error = millibox_sandbox_new(options, &none);
    CHECK(strstr(millibox_error_message(error), "0.1.7") != NULL);
    CHECK(strstr(millibox_error_message(error), millibox_version()) != NULL);
    FAILS(MILLIBOX_CODE_VERSION, error);
    unlink(path);
    millibox_options_free(options);
    CHECK(millibox_protocol_version() > 0 && strchr(millibox_version(), '.') != NULL);
}

static void forks(void) {
    millibox_run *run;
    millibox_program *program = shell("sleep 0.2; echo yes");
    OK(millibox_sandbox_start(box, program, &run));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        failures = 0;
        millibox_result *result;
        FAILS(MILLIBOX_CODE_FORKED, millibox_sandbox_run(box, program, &result));
        FAILS(MILLIBOX_CODE_FORKED, millibox_run_wait(run, MILLIBOX_UNLIMITED, &result));
        FAILS(MILLIBOX_CODE_FORKED, millibox_run_poll(run, &result));
        millibox_run_cancel(run);
        millibox_run_free(run);
        millibox_program_free(program);
        millibox_sandbox_close(box);
        millibox_sandbox_free(box);
        fflush(stdout);
        _exit(failures != 0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && (status == 0 || under_valgrind()));
    millibox_result *result;
    OK(millibox_run_wait(run, MILLIBOX_UNLIMITED, &result));
    size_t length;
    const void *data = millibox_result_stdout(result, &length);
    CHECK(is(data, length, "yes\n"));
    millibox_result_free(result);
    millibox_run_free(run);
    millibox_program_free(program);
}

static int open_descriptors(void) {
    int number = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory) != NULL)
        number++;
    closedir(directory);
    return number;
}

static void descriptors(int runs) {
    int before = open_descriptors();
    millibox_program *program = millibox_program_new("/bin/true");
    millibox_program_set_stdin(program, "x", 1);
    for (int i = 0; i < runs; i++) {
        millibox_run *run;
        OK(millibox_sandbox_start(box, program, &run));
        millibox_result *result = i % 2 == 0 ? polled(run) : NULL;
        if (result == NULL)
            OK(millibox_run_wait(run, MILLIBOX_UNLIMITED, &result));
        CHECK(millibox_result_is_success(result));
        millibox_result_free(result);
        millibox_run_free(run);
    }
    millibox_program_free(program);
    CHECK(open_descriptors() == before);
}

static void closing(void) {
    millibox_run *run;
    millibox_result *result;
    millibox_program *program = shell("sleep 1000");
    OK(millibox_sandbox_start(box, program, &run));
    millibox_sandbox_close(box);
    FAILS(MILLIBOX_CODE_CLOSED, millibox_run_wait(run, MILLIBOX_UNLIMITED, &result));
    FAILS(MILLIBOX_CODE_CLOSED, millibox_sandbox_run(box, program, &result));
    millibox_sandbox_free(box);
    FAILS(MILLIBOX_CODE_CLOSED, millibox_run_poll(run, &result));
    millibox_run_free(run);
    millibox_program_free(program);
}

int main(int argc, char **argv) {
    uint32_t backend = argc > 1 && strcmp(argv[1], "rlimit") == 0 ? MILLIBOX_BACKEND_RLIMIT
                                                                  : MILLIBOX_BACKEND_AUTO;
    int runs = argc > 2 ? atoi(argv[2]) : 1000;
    int before = open_descriptors();
    millibox_options *options = millibox_options_new();
    millibox_options_set_backend(options, backend);
    millibox_options_set_slots(options, 2);
    OK(millibox_sandbox_new(options, &box));
    millibox_options_free(options);
    if (box == NULL)
        return 1;
    CHECK(millibox_sandbox_slots(box) == 2);
    outcomes();
    streams();
    worlds();
    removal();
    prepared();
    handles();
    threads();
    polls_beside_waits();
    mistakes();
    starts();
    forks();
    descriptors(runs);
    closing();
    /* A thread of the library can keep the connection for a moment. */
    for (int i = 0; i < 600 && open_descriptors() != before; i++)
        usleep(100000);
    CHECK(open_descriptors() == before);
    return failures != 0;
}
