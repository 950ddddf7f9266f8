/* ---
class = "leaks"
attempts = """\
leave a server, a closed connection, an abstract name and counters in the network namespace for \
the next run"""
must = "the next run finds no server, no name and no counter"
held_by = "a network namespace for each run with loopback"
with = ["standard", "loopback"]
pair = "after"
control = "together"
--- */
#define PAIR
#include "hostile.h"
#include <arpa/inet.h>
#include <stddef.h>
#include <sys/un.h>

#define PORT 8123

static int connected(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(PORT),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    must(fd);
    int answer = connect(fd, (struct sockaddr *)&address, sizeof address);
    close(fd);
    return answer == 0;
}

static int named(int (*use)(int, const struct sockaddr *, socklen_t))
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "%s", token);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    must(fd);
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(token);
    if (use(fd, (struct sockaddr *)&name, length))
        return -1;
    return fd;
}

static void plant(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(PORT),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int server = socket(AF_INET, SOCK_STREAM, 0);
    must(server);
    must(bind(server, (struct sockaddr *)&address, sizeof address));
    must(listen(server, 8));
    int name = named(bind);
    must(name);
    must(listen(name, 8));
    connected();
    if (fork() == 0) {
        setsid();
        sleep(3);
        _exit(0);
    }
}

static void look(void)
{
    static char text[20000];
    must(file_read("/proc/self/net/snmp", text, sizeof text));
    /* The first line has the names. */
    char *line = strstr(text, "\nTcp: ");
    line = line ? strstr(line + 1, "\nTcp: ") : NULL;
    long opened;
    if (!line || sscanf(line, "\nTcp: %*d %*d %*d %*d %ld", &opened) != 1)
        broken("no such counter");
    if (opened != 0)
        escaped("%ld connections were opened", opened);
    if (connected())
        escaped("a server listens");
    if (named(connect) >= 0)
        escaped("the name exists");
}
