/* ---
class = "leaks"
attempts = """\
query file systems of the host by ioctl for the location and neighbours of files and the disk's \
identity: FIEMAP, FIBMAP, FS_IOC_GETFSMAP, FS_IOC_GETFSUUID, generations, flags"""
must = "the ioctls return ENOTTY on files and directories; ioctls of descriptors and terminals work"
held_by = "seccomp allows only a few ioctls"
with = ["shared"]
profiles = ["default", "separate"]
control = "seccomp"
--- */
#include "hostile.h"

static void attack(void)
{
    static const struct { const char *name; unsigned request; } all[] = {
        { "FIGETBSZ", 2 }, { "FIBMAP", 1 }, { "FIEMAP", 0xc020660b },
        { "FS_IOC_GETFSMAP", 0xc0c0583b }, { "FS_IOC_GETFSUUID", 0x80111500 },
        { "FS_IOC_GETFSSYSFSPATH", 0x80811501 }, { "FS_IOC_GETVERSION", 0x80087601 },
        { "FS_IOC_GETFLAGS", 0x80086601 }, { "FS_IOC_FSGETXATTR", 0x801c581f },
        { "FS_IOC_GETFSLABEL", 0x81009431 }, { "FICLONE", 0x40049409 },
        { "FIDEDUPERANGE", 0xc0189436 }, { "BTRFS_IOC_FS_INFO", 0x8400941f },
    };
    static const char *const places[] = { "/shared/note", "/shared", "/usr/bin/env", "/usr" };
    for (unsigned place = 0; place < sizeof places / sizeof *places; place++) {
        int fd = must(open(places[place], O_RDONLY));
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
            static char answer[8192];
            memset(answer, 0, sizeof answer);
            refused_or(all[i].name, ioctl(fd, all[i].request, answer), ENOTTY);
            refused_or(all[i].name, syscall(SYS_ioctl, fd, 0xffffffff00000000ul | all[i].request,
                answer), ENOTTY);
        }
        close(fd);
    }
    /* Programs need these requests. */
    int ends[2], number = 1;
    must(pipe(ends));
    must(write(ends[1], "x", 1));
    must(ioctl(ends[0], FIONREAD, &number));
    if (number != 1)
        broken("FIONREAD");
    must(ioctl(ends[0], FIONBIO, &number));
    must(ioctl(ends[0], FIOCLEX));
}
