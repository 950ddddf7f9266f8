/* ---
class = "memory"
attempts = "fill kernel memory with extended attributes of files on the tmpfs"
must = "the memory limit ends the run, or such attributes are not available"
held_by = "seccomp; memory cgroup; limits of the tmpfs"
limits = { memory = "16M" }
expect = "memory_limit or contained"

[[except]]
when = ["rlimit"]
expect = "escaped or contained"
exception = "RLIMIT_AS does not count kernel memory"
--- */
#include "hostile.h"
#include <sys/xattr.h>

static void attack(void)
{
    static char value[60000];
    long filled = 0;
    for (int i = 0; i < 1000 && filled < 48 * MIB; i++) {
        char path[20];
        snprintf(path, sizeof path, "/tmp/%d", i);
        if (mknod(path, S_IFREG | 0600, 0) < 0)
            return;
        if (setxattr(path, "user.value", value, sizeof value, 0) < 0)
            return;
        filled += sizeof value;
    }
    escaped("%ld MiB of attributes", filled / MIB);
}
