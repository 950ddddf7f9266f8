/* ---
class = "output"
attempts = "make the kernel write a file: sendfile, splice and copy_file_range"
must = "the limit also applies to these calls"
held_by = "RLIMIT_FSIZE"
with = ["box"]
limits = { output = "1M" }
control = "limits"
--- */
#include "hostile.h"
#include <sys/sendfile.h>

static void attack(void)
{
    signal(SIGXFSZ, SIG_IGN);
    int zero = must(open("/dev/zero", O_RDONLY)),
        fd = must(open("/box/file", O_RDWR | O_CREAT, 0600));
    struct stat file;
    int ends[2];
    must(pipe(ends));
    static char begin[64 << 10];
    must(write(fd, begin, sizeof begin));
    /* The profile refuses these calls. */
    for (int i = 0; i < 32; i++)
        if (sendfile(fd, zero, NULL, 64 << 10) < 0
            && splice(zero, NULL, ends[1], NULL, 64 << 10, SPLICE_F_NONBLOCK) > 0)
            if (splice(ends[0], NULL, fd, NULL, 64 << 10, SPLICE_F_NONBLOCK) < 0)
                break;
    must(fstat(fd, &file));
    for (int i = 0; i < 64; i++) {
        loff_t from = 0, to = file.st_size + (i << 16);
        copy_file_range(fd, &from, fd, &to, 64 << 10, 0);
    }
    must(fstat(fd, &file));
    if (file.st_size > MIB)
        escaped("%ld bytes", file.st_size);
    if (file.st_size < MIB / 2)
        broken("only %ld bytes were written", file.st_size);
}
