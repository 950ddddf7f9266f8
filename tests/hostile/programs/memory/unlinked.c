/* ---
class = "memory"
attempts = """\
fill unlinked files on the tmpfs in a child that exits, while its parent keeps them open"""
must = "the memory limit ends the run"
held_by = "memory cgroup; a size limit of the tmpfs, if the world sets one"
expect = "memory_limit"
control = "limits"

[[except]]
when = ["rlimit"]
expect = "escaped"
exception = "RLIMIT_AS does not count files; give the tmpfs a size"
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
