/* ---
class = "escape"
attempts = "overwrite the file it was started from, once nothing executes it: a descriptor of /proc/self/exe, then another program"
must = "the bind is read-only on every way to it"
held_by = "read-only bind"
repeats = ["CVE-2019-5736 (runc)"]
with = ["program", "proc"]
--- */
#include "hostile.h"

static void attack(void)
{
    refused("truncating", truncate("/shared/program", 0));
    int path = must(open("/proc/self/exe", O_PATH));
    refused_or("opening to write", open("/proc/self/exe", O_WRONLY), ETXTBSY);
    refused_or("another name", open("/shared/program", O_WRONLY), ETXTBSY);
    /* From here on nobody executes it. */
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", path);
    execl("/bin/sh", "sh", "-c", "(echo x >>$0) 2>/dev/null && exit 1; exit 0", link, NULL);
    broken("execl");
}
