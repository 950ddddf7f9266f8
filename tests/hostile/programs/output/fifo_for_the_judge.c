/* ---
class = "output"
attempts = "leave fifos where the judge reads files, so that it waits for ever"
must = "they are not read"
held_by = "judge: O_NONBLOCK, regular files only"
with = ["feedback"]
--- */
#include "hostile.h"

static void attack(void)
{
    must(mkfifo("/box/feedback/judgemessage.txt", 0666));
    must(mkfifo("/box/feedback/score.txt", 0666));
    int fd = must(socket(AF_UNIX, SOCK_STREAM, 0));
    struct sockaddr_un address = { AF_UNIX, "/box/feedback/teammessage.txt" };
    must(bind(fd, (struct sockaddr *)&address, sizeof address));
}
