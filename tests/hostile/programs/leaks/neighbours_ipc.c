/* ---
class = "leaks"
attempts = "reach a concurrent run: System V memory, POSIX queue, abstract socket, file in /tmp"
must = "the two runs share none of them"
held_by = "IPC, network and mount namespaces"
pair = "beside"
control = "together"
--- */
#define PAIR
#include "hostile.h"
#include <mqueue.h>
#include <stddef.h>
#include <sys/shm.h>

static struct sockaddr_un address = { AF_UNIX, "\0planted" };
static const socklen_t length = offsetof(struct sockaddr_un, sun_path) + 8;

static void plant(void)
{
    must(shmget(78, 4096, IPC_CREAT | 0666));
    must(mq_open("/beside", O_RDWR | O_CREAT, 0666, NULL));
    int fd = must(socket(AF_UNIX, SOCK_STREAM, 0));
    must(bind(fd, (struct sockaddr *)&address, length));
    must(listen(fd, 5));
    must(mknod("/tmp/beside", S_IFREG | 0666, 0));
    stay();
}

static void look(void)
{
    if (connect(must(socket(AF_UNIX, SOCK_STREAM, 0)), (struct sockaddr *)&address, length) == 0)
        escaped("an abstract socket");
    if (shmget(78, 0, 0) >= 0)
        escaped("shared memory");
    if (mq_open("/beside", O_RDONLY) >= 0)
        escaped("a POSIX queue");
    if (access("/tmp/beside", F_OK) == 0)
        escaped("a file");
}
