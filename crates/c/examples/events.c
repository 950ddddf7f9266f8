/* Runs many programs at once in one thread, with an event loop:
 *
 *   events RUNS IN_FLIGHT
 *
 * Program number i prints i. The example adds up what the programs have printed.
 */
#include <millibox.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Ends the example if a function of the library failed. */
static void check(millibox_error *error) {
    if (error != NULL) {
        fprintf(stderr, "events: %s\n", millibox_error_message(error));
        exit(1);
    }
}

/* Starts program number `number` and watches it. */
static void start(const millibox_sandbox *sandbox, int loop, int number) {
    char text[20];
    snprintf(text, sizeof text, "%d", number);
    millibox_program *program = millibox_program_new("/bin/echo");
    millibox_program_add_arg(program, text);
    millibox_run *run;
    check(millibox_sandbox_start(sandbox, program, &run));
    millibox_program_free(program);
    int descriptor;
    check(millibox_run_fd(run, &descriptor));
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = run};
    if (epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event) != 0) {
        perror("events: epoll_ctl");
        exit(1);
    }
}

int main(int argc, char **argv) {
    const int runs = argc > 1 ? atoi(argv[1]) : 1000;
    const int in_flight = argc > 2 ? atoi(argv[2]) : 64;
    millibox_sandbox *sandbox;
    check(millibox_sandbox_new(NULL, &sandbox));
    const int loop = epoll_create1(EPOLL_CLOEXEC);
    long sum = 0;
    int started = 0;
    for (int ended = 0; ended < runs;) {
        while (started < runs && started - ended < in_flight)
            start(sandbox, loop, started++);
        struct epoll_event events[16];
        const int ready = epoll_wait(loop, events, 16, -1);
        for (int i = 0; i < ready; i++) {
            millibox_run *run = events[i].data.ptr;
            millibox_result *result;
            check(millibox_run_poll(run, &result));
            if (result == NULL)
                continue; /* Only output has arrived. */
            size_t length;
            const char *output = millibox_result_stdout(result, &length);
            if (!millibox_result_is_success(result) || length == 0) {
                fprintf(stderr, "events: %s\n", millibox_result_message(result));
                return 1;
            }
            /* The output ends with a line break, where strtol stops. */
            sum += strtol(output, NULL, 10);
            millibox_result_free(result);
            int descriptor;
            check(millibox_run_fd(run, &descriptor));
            epoll_ctl(loop, EPOLL_CTL_DEL, descriptor, NULL);
            millibox_run_free(run);
            ended++;
        }
    }
    close(loop);
    millibox_sandbox_free(sandbox);
    printf("%d programs printed numbers with the sum %ld\n", runs, sum);
    return 0;
}
