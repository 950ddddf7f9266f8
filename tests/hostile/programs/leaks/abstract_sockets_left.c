/* ---
class = "leaks"
attempts = """\
leave an abstract socket with a listening daemon for the next run, which has the same network \
namespace"""
must = "no process listens"
held_by = "all processes end with the run, and the kernel removes their abstract sockets"
pair = "after"
control = "together"
--- */
#define PAIR
#include "hostile.h"
#include <stddef.h>

static struct sockaddr_un address = { AF_UNIX, "\0left" };
static const socklen_t length = offsetof(struct sockaddr_un, sun_path) + 5;

static void plant(void)
{
    int fd = must(socket(AF_UNIX, SOCK_STREAM, 0));
    must(bind(fd, (struct sockaddr *)&address, length));
    must(listen(fd, 5));
    if (must(fork()) == 0)
        for (;;)
            pause();
}

static void look(void)
{
    if (connect(must(socket(AF_UNIX, SOCK_STREAM, 0)), (struct sockaddr *)&address, length) == 0)
        escaped("somebody listens");
    if (errno != ECONNREFUSED)
        broken("connect");
}
