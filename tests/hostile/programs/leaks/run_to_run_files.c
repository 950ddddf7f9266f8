/* ---
class = "leaks"
attempts = "leave files in /tmp and elsewhere for the next run"
must = "the next run finds an empty /tmp"
held_by = "a new tmpfs for each run; read-only root"
pair = "after"
control = "together"
--- */
#define PAIR
#include "hostile.h"

static const char *const places[] =
    { "/tmp", "/", "/dev", "/usr", "/dev/shm", "/var/tmp", "/run", "/etc", "/box" };

static void plant(void)
{
    for (int i = 0; i < 9; i++) {
        char path[40];
        snprintf(path, sizeof path, "%s/planted", places[i]);
        mknod(path, S_IFREG | 0666, 0);
    }
}

static void look(void)
{
    for (int i = 0; i < 9; i++) {
        char path[40];
        snprintf(path, sizeof path, "%s/planted", places[i]);
        if (access(path, F_OK) == 0)
            escaped("%s", path);
    }
}
