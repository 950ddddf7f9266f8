/* ---
class = "leaks"
attempts = """\
leave a message in the inode of a file: the expected lifetime of written data (F_SET_RW_HINT)"""
must = "the kernel seems not to support these hints"
held_by = "seccomp"
profiles = ["default"]
control = "seccomp"
--- */
#include "hostile.h"

#ifndef F_SET_RW_HINT
#define F_SET_RW_HINT 1036
#define F_SET_FILE_RW_HINT 1038
#endif

static void attack(void)
{
    /* Before Linux 6.16, any file that a run can open for reading has the same effect. */
    int fd = must(open("/tmp/hint", O_RDWR | O_CREAT, 0600));
    uint64_t hint = 3;
    refused_or("F_SET_FILE_RW_HINT", fcntl(fd, F_SET_FILE_RW_HINT, &hint), EINVAL);
    refused_or("F_SET_RW_HINT", fcntl(fd, F_SET_RW_HINT, &hint), EINVAL);
    refused_or("F_SET_RW_HINT with an upper half",
        syscall(SYS_fcntl, fd, 0xffffffff00000000ul | F_SET_RW_HINT, &hint), EINVAL);
}
