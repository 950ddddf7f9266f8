/* ---
class = "memory"
attempts = "fill files on the tmpfs that have no name any more, in a child that has exited but left them open here"
must = "the memory limit ends it"
held_by = "memory cgroup; a size limit of the tmpfs where the world sets one"
expect = "memory_limit"
except = [{ when = ["rlimit"], expect = "escaped", exception = "RLIMIT_AS does not count files; give the tmpfs a size" }]
control = "limits"
--- */
#include "hostile.h"

static int fd;

static void fill(void)
{
    static char block[MIB] = { 1 };
    for (int i = 0; i < 10; i++)
        must(write(fd, block, MIB));
}

static void attack(void)
{
    for (int i = 0; i < 16; i++) {
        fd = must(open("/tmp/file", O_RDWR | O_CREAT, 0600));
        must(unlink("/tmp/file"));
        child(fill);
    }
    escaped("160 MiB in files without names");
}
