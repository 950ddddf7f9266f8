/* ---
class = "leaks"
attempts = """\
leave a listening abstract socket and memory in flight, on a socket that is in flight through \
itself"""
must = "no process listens"
held_by = "the zygote makes the kernel collect such sockets, and waits until none remains"
pair = "after"
control = "together"
--- */
#define PAIR
#include "hostile.h"
#include <stddef.h>

static struct sockaddr_un address = { AF_UNIX, "\0circle" };
static const socklen_t length = offsetof(struct sockaddr_un, sun_path) + 7;

static void plant(void)
{
    int pair[2], memory = must(memfd_create("left", 0)),
        listener = must(socket(AF_UNIX, SOCK_STREAM, 0));
    must(bind(listener, (struct sockaddr *)&address, length));
    must(listen(listener, 5));
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    int all[] = { pair[0], pair[1], listener, memory };
    char byte = 0, control[CMSG_SPACE(sizeof all)] = { 0 };
    struct iovec data = { &byte, 1 };
    struct msghdr message = { NULL, 0, &data, 1, control, sizeof control, 0 };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof all);
    memcpy(CMSG_DATA(head), all, sizeof all);
    must(sendmsg(pair[0], &message, 0));
}

static void look(void)
{
    if (connect(must(socket(AF_UNIX, SOCK_STREAM, 0)), (struct sockaddr *)&address, length) == 0)
        escaped("somebody listens");
    if (errno != ECONNREFUSED)
        broken("connect");
}
