/* Linked into the static executables of the archive.
 *
 * glibc looks up names in the services of /etc/nsswitch.conf, and loads a shared library for each
 * service but `files` and `dns`. The library needs the glibc of its system. With the glibc 2.36 of
 * a static executable and the library libnss_myhostname of a system with glibc 2.43, getaddrinfo()
 * crashed. So static executables use the two services that glibc contains.
 */

/* Declared in nss.h of glibc. */
extern int __nss_configure_lookup(const char *database, const char *services);

__attribute__((constructor)) static void use_built_in_services(void) {
    __nss_configure_lookup("hosts", "files dns");
    __nss_configure_lookup("passwd", "files");
    __nss_configure_lookup("group", "files");
    __nss_configure_lookup("services", "files");
}
