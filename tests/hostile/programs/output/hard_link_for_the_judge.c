/* ---
class = "output"
attempts = "create hard links to read-only files in a writable directory"
must = "link returns EXDEV or EPERM, because the files are on other mounts"
held_by = "mount namespace; protected_hardlinks"
with = ["box", "shared"]
--- */
#include "hostile.h"

static void attack(void)
{
    refused_or("link of a shared file", link("/shared/note", "/box/note"), EXDEV);
    refused_or("link of a system's file", link("/usr/bin/env", "/box/env"), EXDEV);
    int fd = must(open("/shared/note", O_RDONLY));
    if (linkat(fd, "", AT_FDCWD, "/box/note", AT_EMPTY_PATH) == 0)
        escaped("link of an open file");
    if (rename("/shared/note", "/box/note") == 0)
        escaped("rename of a shared file");
    refused_or("exchange", renameat2(AT_FDCWD, "/shared/note", AT_FDCWD, "/box", RENAME_EXCHANGE),
        EXDEV);
}
