/* ---
class = "leaks"
attempts = "leave a file and a named semaphore in /dev/shm for the next run"
must = "/dev/shm is empty at the start of each run"
held_by = "a tmpfs for each run"
with = ["standard"]
pair = "after"
control = "together"
--- */
#define PAIR
#include "hostile.h"
#include <dirent.h>

static void plant(void)
{
    char path[200];
    snprintf(path, sizeof path, "/dev/shm/%s", token);
    int fd = open(path, O_CREAT | O_RDWR, 0666);
    must(fd);
    must(write(fd, token, strlen(token)));
    snprintf(path, sizeof path, "/dev/shm/sem.%s", token);
    must(open(path, O_CREAT | O_RDWR, 0666));
}

static void look(void)
{
    DIR *directory = opendir("/dev/shm");
    if (!directory)
        broken("there is no /dev/shm");
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.')
            escaped("found %s", entry->d_name);
}
