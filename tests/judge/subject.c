/* The submission of the judge's tests. Its first argument selects a behaviour. It uses standard
 * input and output only through read(2) and write(2). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char buffer[1 << 16];

static void put(const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t written = write(1, bytes, length);
        if (written < 0) _exit(errno == EPIPE ? 90 : 91);
        bytes += written;
        length -= written;
    }
}

static void say(const char *text) { put(text, strlen(text)); }

/* Copies at most `most` bytes from standard input to standard output. */
static void echo(size_t most) {
    while (most > 0) {
        ssize_t got = read(0, buffer, most < sizeof buffer ? most : sizeof buffer);
        if (got <= 0) return;
        put(buffer, got);
        most -= got;
    }
}

static void pour(size_t length) {
    memset(buffer, 'x', sizeof buffer);
    while (length > 0) {
        size_t part = length < sizeof buffer ? length : sizeof buffer;
        put(buffer, part);
        length -= part;
    }
}

static void spin(long millis) {
    struct timespec now;
    do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < millis);
}

static void nap(long millis) {
    struct timespec time = {millis / 1000, millis % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* Sends standard output through a socket that is itself in flight: only the kernel's garbage
 * collector closes it. */
static void leave_output_in_flight(void) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends)) _exit(92);
    int sent[3] = {1, ends[0], ends[1]};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof sent)];
    } control;
    struct iovec byte = {buffer, 1};
    struct msghdr message = {.msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control,
                             .msg_controllen = sizeof control.space};
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof sent);
    memcpy(CMSG_DATA(&control.header), sent, sizeof sent);
    if (sendmsg(ends[0], &message, 0) != 1) _exit(93);
}

static int recurse(volatile char *above, int depth) {
    volatile char frame[4096];
    frame[0] = above[0];
    return depth == 0 ? frame[0] : recurse(frame, depth - 1) + frame[0];
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "echo";
    const char *text = count > 2 ? arguments[2] : "";
    long number = strtol(text, NULL, 10);
    if (!strcmp(what, "echo")) {
        echo((size_t)-1);
    } else if (!strcmp(what, "pour")) {
        pour(number);
    } else if (!strcmp(what, "flood")) {
        signal(SIGPIPE, SIG_IGN);
        for (;;)
            if (write(1, buffer, sizeof buffer) < 0) nap(1);
    } else if (!strcmp(what, "drip")) {
        /* Many small writes. */
        char line[32];
        for (long i = 0; i < number; i++) put(line, sprintf(line, "%ld\n", i));
    } else if (!strcmp(what, "exit")) {
        say("done\n");
        return number;
    } else if (!strcmp(what, "signal")) {
        raise(number);
    } else if (!strcmp(what, "spin")) {
        spin(number);
    } else if (!strcmp(what, "sleep")) {
        nap(number);
    } else if (!strcmp(what, "half")) {
        /* Reads some bytes, closes the input and writes more than a pipe holds. */
        echo(number);
        close(0);
        pour(1 << 20);
    } else if (!strcmp(what, "no-input")) {
        close(0);
        nap(20);
        say("done\n");
    } else if (!strcmp(what, "close-and-exit")) {
        say("done\n");
        close(1);
        nap(30);
        return number;
    } else if (!strcmp(what, "close-and-read")) {
        say("done\n");
        close(1);
        long bytes = 0;
        for (ssize_t got; (got = read(0, buffer, sizeof buffer)) > 0;) bytes += got;
        return bytes == number ? 0 : 7;
    } else if (!strcmp(what, "child-holds-output")) {
        say("done\n");
        if (fork() == 0) {
            setsid();
            nap(1000000);
        }
    } else if (!strcmp(what, "in-flight")) {
        say("done\n");
        leave_output_in_flight();
    } else if (!strcmp(what, "fork-bomb")) {
        signal(SIGCHLD, SIG_IGN);
        for (;;) fork();
    } else if (!strcmp(what, "eat")) {
        for (long i = 0; i < number; i++) {
            char *piece = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (piece == MAP_FAILED) return 12;
            memset(piece, 1, 1 << 20);
        }
        say("done\n");
    } else if (!strcmp(what, "recurse")) {
        /* Uses one page of stack for each level. */
        char zero = 0;
        recurse(&zero, number);
        say("done\n");
    } else if (!strcmp(what, "open")) {
        /* Reports for each argument whether the file can be opened. */
        for (int i = 2; i < count; i++) {
            int file = open(arguments[i], O_RDONLY);
            say(file >= 0 ? "open\n" : "closed\n");
        }
    } else if (!strcmp(what, "streams")) {
        /* Neither stream is seekable, and a second open yields no data. */
        for (int fd = 0; fd < 2; fd++)
            if (lseek(fd, 0, SEEK_SET) != -1 || errno != ESPIPE) return 20 + fd;
        long first = 0, second = 0;
        for (ssize_t got; (got = read(0, buffer, sizeof buffer)) > 0;) first += got;
        int again = open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK);
        if (again >= 0)
            for (ssize_t got; (got = read(again, buffer, sizeof buffer)) > 0;) second += got;
        char line[64];
        put(line, sprintf(line, "%ld %ld\n", first, second));
    } else if (!strcmp(what, "bad-vector")) {
        /* The kernel decides how much of the valid part it writes. */
        memset(buffer, 'x', sizeof buffer);
        struct iovec parts[2] = {{buffer, 5000}, {(void *)1, 5}};
        ssize_t written = writev(1, parts, 2);
        char line[64];
        put(line, sprintf(line, "\n%zd\n", written < 0 ? 0 : written));
        return 0;
    } else {
        return 64;
    }
    return 0;
}
