/* ---
class = "time"
attempts = """\
make the kernel check gigabytes of unmapped pages in one call that cannot be interrupted \
(mincore)"""
must = "mincore returns ENOMEM for 1 GiB and more; smaller ranges work"
held_by = "seccomp"
profiles = ["default", "separate"]
control = "seccomp"
limits = { memory = "4G" }
--- */
#include "hostile.h"

static void attack(void)
{
    size_t length = 2048 * MIB;
    char *memory = must(mmap(NULL, length, PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    unsigned char *pages = must(mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
        -1, 0));
    memory[0] = 1;
    must(mincore(memory, 512 * MIB, pages));
    if (!(pages[0] & 1) || (pages[1] & 1))
        broken("mincore returns %d and %d", pages[0], pages[1]);
    refused_or("2 GiB", mincore(memory, length, pages), ENOMEM);
    refused_or("1 GiB", mincore(memory, length / 2, pages), ENOMEM);
}
