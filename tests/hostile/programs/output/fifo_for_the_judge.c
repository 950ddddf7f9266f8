/* ---
class = "output"
attempts = "leave fifos in place of files that the judge reads, so that it blocks"
must = "the judge does not read them"
held_by = "the judge uses O_NONBLOCK and reads regular files only"
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
