/* ---
class = "escape"
attempts = """\
overwrite its own executable through a descriptor of /proc/self/exe, after it has executed \
another program"""
must = "the bind is read-only on every path"
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
    /* No process executes the file from here on. */
    char link[40];
    snprintf(link, sizeof link, "/proc/self/fd/%d", path);
    execl("/bin/sh", "sh", "-c", "(echo x >>$0) 2>/dev/null && exit 1; exit 0", link, NULL);
    broken("execl");
}
