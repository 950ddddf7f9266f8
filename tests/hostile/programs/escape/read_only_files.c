/* ---
class = "escape"
attempts = """\
change read-only files: write, truncate, chmod, chown, rename, remove, attributes, mappings"""
must = "each call returns EROFS"
held_by = "read-only binds and root"
with = ["shared", "root"]
control = "bare"
--- */
#include "hostile.h"
#include <sys/xattr.h>

static const char *path;

static void attack(void)
{
    char bare[PATH_MAX];
    path = "/shared/note";
    if (access(path, R_OK) < 0) {
        snprintf(bare, sizeof bare, "%s/shared/note", host_directory);
        path = bare;
    }
    int fd = open(path, O_WRONLY);
    if (fd >= 0)
        escaped("%s can be written", path);
    refused("open", fd);
    refused("truncate", truncate(path, 0));
    refused("chmod", chmod(path, 0777));
    refused("chown", chown(path, getuid(), getgid()));
    refused("unlink", unlink(path));
    refused("rename", rename(path, "/shared/other"));
    refused("mkdir", mkdir("/shared/new", 0700));
    refused("mkdir in the root", mkdir("/new", 0700));
    refused("mkdir in /usr", mkdir("/usr/new", 0700));
    refused("mkdir in /dev", mkdir("/dev/new", 0700));
    refused_or("setxattr", setxattr(path, "user.x", "x", 1, 0), EOPNOTSUPP);
    refused("utimes", utimensat(AT_FDCWD, path, NULL, 0));
    fd = must(open(path, O_RDONLY));
    refused("a shared writable mapping",
        (long)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    refused("fchmod", fchmod(fd, 0777));
    if (futimens(fd, NULL) == 0 || fallocate(fd, 0, 0, 4096) == 0 || ftruncate(fd, 0) == 0)
        escaped("by a descriptor for reading");
    ioctl(fd, 0x40086602 /* FS_IOC_SETFLAGS */, &(long){ 0x10 });
}
