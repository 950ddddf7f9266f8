// Runs /bin/true through libmillibox and prints the time of each run:
//
//     bindings BACKEND LIMITS
//
// LIMITS is 1 or 0. Reads commands from standard input, one on each line:
//
//     run N        N runs whose output is captured
//     discard N    N runs without output
//
// The answer to a command is a line with two numbers for each run: the real time, and the CPU time
// of this process, in nanoseconds.
#include <millibox.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void check(millibox_error *error)
{
    if (error == NULL)
        return;
    fprintf(stderr, "%s\n", millibox_error_message(error));
    exit(1);
}

static uint32_t backend_named(const char *name)
{
    if (strcmp(name, "cgroup2") == 0)
        return MILLIBOX_BACKEND_CGROUP2;
    if (strcmp(name, "hybrid") == 0)
        return MILLIBOX_BACKEND_HYBRID;
    return MILLIBOX_BACKEND_RLIMIT;
}

static millibox_program *program_with_limits(int limits_process_trees)
{
    millibox_program *program = millibox_program_new("/bin/true");
    millibox_program_set_real_time_limit_ns(program, 120000000000);
    if (limits_process_trees) {
        millibox_program_set_memory_limit(program, 256 << 20);
        millibox_program_set_process_limit(program, 16);
        millibox_program_set_cpu_time_limit_ns(program, 10000000000);
    }
    return program;
}

static long long now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void run(const millibox_sandbox *sandbox, const millibox_program *program)
{
    millibox_result *result;
    check(millibox_sandbox_run(sandbox, program, &result));
    if (!millibox_result_is_success(result)) {
        fprintf(stderr, "/bin/true did not succeed\n");
        exit(1);
    }
    millibox_result_free(result);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    millibox_options *options = millibox_options_new();
    millibox_options_set_backend(options, backend_named(argv[1]));
    millibox_options_set_slots(options, 1);
    millibox_sandbox *sandbox;
    check(millibox_sandbox_new(options, &sandbox));
    millibox_options_free(options);
    millibox_program *captured = program_with_limits(atoi(argv[2]));
    millibox_program *discarded = program_with_limits(atoi(argv[2]));
    millibox_program_set_stdout_fd(discarded, -1);
    millibox_program_set_stderr_fd(discarded, -1);

    char way[16];
    int count;
    while (scanf("%15s %d", way, &count) == 2) {
        const millibox_program *program = strcmp(way, "run") == 0 ? captured : discarded;
        for (int number = 0; number < count; number++) {
            long long cpu_begin = now(CLOCK_PROCESS_CPUTIME_ID);
            long long begin = now(CLOCK_MONOTONIC);
            run(sandbox, program);
            long long end = now(CLOCK_MONOTONIC);
            long long cpu_end = now(CLOCK_PROCESS_CPUTIME_ID);
            printf("%lld %lld ", end - begin, cpu_end - cpu_begin);
        }
        printf("\n");
        fflush(stdout);
    }
    millibox_program_free(captured);
    millibox_program_free(discarded);
    millibox_sandbox_free(sandbox);
    return 0;
}
