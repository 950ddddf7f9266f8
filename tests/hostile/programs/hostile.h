/* Common functions of the hostile programs.
 *
 * A program defines attack(). A program for a pair of runs defines PAIR before it includes this
 * file, and then plant() and look() instead. The program is contained if these functions return.
 * Exit codes: 0: contained, 1: the program succeeded, 2: the program could not make its attempt,
 * which is a failure of the test. */
#ifndef HOSTILE_H
#define HOSTILE_H

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))
#define MIB (1l << 20)

/* The test passes these values to every program. */
static UNUSED const char *role;
/* This token is in the command line of every process of the run. */
static UNUSED const char *token;
/* A port of 127.0.0.1 and an abstract socket on which a process of the host listens. */
static UNUSED int host_port;
static UNUSED const char *host_socket;
/* A process of the host that belongs to the run's user. */
static UNUSED int host_pid;
static UNUSED const char *host_name;
/* The host's uptime without suspends at the start of the run, in nanoseconds. */
static UNUSED long host_up;
/* A directory of the host that contains the sources of /box and /shared, and outside/note. */
static UNUSED const char *host_directory;

static UNUSED void say(const char *format, ...)
{
    char text[4096];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (length > 0 && write(1, text, length < (int)sizeof text ? length : (int)sizeof text) < 0)
        return;
}

static UNUSED _Noreturn void contained(void)
{
    _exit(0);
}

#define escaped(...) (say(__VA_ARGS__), say("\n"), _exit(1))
#define broken(...) (say(__VA_ARGS__), say(" (errno %d)\n", errno), _exit(2))

/* A call that must succeed, because the attempt depends on it. */
#define must(call) ({ \
    __typeof__(call) answer_ = (call); \
    if (answer_ == (__typeof__(call))-1) \
        broken("%s", #call); \
    answer_; \
})

/* A call that must fail because it is not permitted or seems not to exist. Another error means that
 * the call was malformed, which proves nothing. */
static UNUSED void refused(const char *what, long answer)
{
    if (answer != -1)
        escaped("%s: works", what);
    if (errno != EPERM && errno != EACCES && errno != ENOSYS && errno != EROFS)
        broken("%s: the error is not a refusal", what);
}

/* Like refused(), but the object may also be missing. */
static UNUSED void absent(const char *what, long answer)
{
    if (answer == -1
        && (errno == ENOENT || errno == ENOTDIR || errno == ENODEV || errno == ENXIO
            || errno == ESRCH))
        return;
    refused(what, answer);
}

/* Like refused(), but accepts one additional error. */
static UNUSED void refused_or(const char *what, long answer, int error)
{
    if (answer == -1 && errno == error)
        return;
    refused(what, answer);
}

static UNUSED long file_read(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t length = 0;
    ssize_t got;
    while (length < size - 1 && (got = read(fd, buffer + length, size - 1 - length)) > 0)
        length += got;
    buffer[length] = 0;
    close(fd);
    return length;
}

static UNUSED long file_write(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    long written = write(fd, text, strlen(text));
    int error = errno;
    close(fd);
    errno = error;
    return written;
}

/* Runs a function in a child. Exits with the child's exit code if that is not 0. */
static UNUSED int child(void (*what)(void))
{
    pid_t pid = must(fork());
    if (pid == 0) {
        what();
        contained();
    }
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            broken("waitpid");
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        _exit(WEXITSTATUS(status));
    return status;
}

/* Memory that is shared with children. */
static UNUSED volatile long *shared_numbers(void)
{
    return must((volatile long *)mmap(NULL, 4096, PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

static UNUSED long clock_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000l + time.tv_nsec;
}

static UNUSED void sleep_ms(long ms)
{
    long end = clock_ns(CLOCK_MONOTONIC) + ms * 1000000;
    for (long left; (left = end - clock_ns(CLOCK_MONOTONIC)) > 0;) {
        struct timespec time = { left / 1000000000, left % 1000000000 };
        nanosleep(&time, NULL);
    }
}

static UNUSED void spin_ms(long ms)
{
    long end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
        ;
}

/* Starts n threads with small stacks. Returns the number of started threads. */
static UNUSED int threads(int n, void *(*main)(void *))
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    for (int i = 0; i < n; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, main, NULL) != 0)
            return i;
    }
    return n;
}

/* Raises the limit on open files as far as possible. */
static UNUSED void all_descriptors(void)
{
    struct rlimit most;
    must(getrlimit(RLIMIT_NOFILE, &most));
    most.rlim_cur = most.rlim_max;
    must(setrlimit(RLIMIT_NOFILE, &most));
}

/* struct sched_attr (sched_setattr(2)), which some C libraries lack. */
struct scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

/* Waits for the supervisor, which counts uncharged memory every 10 ms but may have to wait for its
 * CPU. */
static UNUSED void until_seen(void)
{
    sleep(1);
}

static UNUSED struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
    };
}

/* Listens on the loopback interface, and stores the address in *address. */
static UNUSED int tcp_listener(struct sockaddr_in *address, int queue)
{
    socklen_t length = sizeof *address;
    int server = must(socket(AF_INET, SOCK_STREAM, 0));
    *address = loopback(0);
    must(bind(server, (struct sockaddr *)address, sizeof *address));
    must(listen(server, queue));
    must(getsockname(server, (struct sockaddr *)address, &length));
    return server;
}

/* Creates a non-blocking connection. Returns -1 if the listener's queue is full. */
static UNUSED int tcp_client(const struct sockaddr_in *address)
{
    int client = must(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    struct pollfd connected = { client, POLLOUT, 0 };
    if (connect(client, (struct sockaddr *)address, sizeof *address) == 0
        || (errno == EINPROGRESS && poll(&connected, 1, 50) == 1))
        return client;
    close(client);
    return -1;
}

/* Creates namespaces with all capabilities in them, unless a seccomp program forbids that. */
static UNUSED void new_namespaces(int flags)
{
    if (unshare(CLONE_NEWUSER | flags) < 0) {
        /* If the machine forbids namespaces, the program cannot make its attempt. */
        if (errno == EPERM || errno == ENOSPC || errno == EUSERS)
            contained();
        broken("unshare");
    }
}

/* The arguments, for another execution of this program in another role. */
static UNUSED char **own_arguments;

#ifdef PAIR
static void plant(void);
static void look(void);

/* Waits after plant() until the test has run look() in a concurrent run and ends this run. */
static UNUSED void stay(void)
{
    if (strcmp(role, "both") == 0)
        return;
    say("ready\n");
    for (;;)
        pause();
}
#else
static void attack(void);
#endif

int main(int count, char **arguments)
{
    if (count < 9)
        broken("%s ROLE TOKEN PORT SOCKET PID NAME DIRECTORY UP", arguments[0]);
    own_arguments = arguments;
    role = arguments[1];
    token = arguments[2];
    host_port = atoi(arguments[3]);
    host_socket = arguments[4];
    host_pid = atoi(arguments[5]);
    host_name = arguments[6];
    host_directory = arguments[7];
    host_up = atol(arguments[8]);
#ifdef PAIR
    if (strcmp(role, "look") != 0)
        plant();
    if (strcmp(role, "plant") != 0)
        look();
#else
    attack();
#endif
    contained();
}

#endif
