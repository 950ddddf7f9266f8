/* The program of the template in the cases named `copy`. It announces that it is ready, and each
 * copy becomes a hostile program. A program that is a shared object, /attack or /innocent, runs in
 * the copy itself, with everything that the copy has inherited from its template. Any other program
 * is executed.
 *
 * The template has a handler for each signal, which no run may execute in the template's memory. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MAX_STRINGS 4096

extern char **environ;

/* Fills an array with pointers to consecutive strings. Returns the end of the last string. */
static char *split(char *strings, unsigned count, char **array)
{
    for (unsigned i = 0; i < count && i < MAX_STRINGS; i++) {
        array[i] = strings;
        strings += strlen(strings) + 1;
    }
    return strings;
}

/* The signals whose handlers have been executed. */
static volatile sig_atomic_t handled[65];

static void handle(int number)
{
    handled[number] = 1;
}

/* Sets the dispositions of all signals. */
static void set_handlers(void (*handler)(int))
{
    for (int number = 1; number <= 64; number++)
        signal(number, handler);
}

int main(int count, char **arguments)
{
    static char strings[1 << 16];
    static char *own_arguments[MAX_STRINGS + 1], *own_environment[MAX_STRINGS + 1];
    unsigned counts[2];
    void *library = dlopen("/.millibox/libmillibox_ready.so", RTLD_NOW);
    long (*ready)(char *, size_t, unsigned *) = NULL;
    if (library)
        ready = (long (*)(char *, size_t, unsigned *))dlsym(library, "millibox_ready");
    if (!ready) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    set_handlers(handle);
    /* ready() returns -1 if a hostile program executes this program again. */
    if (ready(strings, sizeof strings, counts) >= 0) {
        split(split(strings, counts[0], own_arguments), counts[1], own_environment);
        count = counts[0];
        arguments = own_arguments;
        environ = own_environment;
    }
    for (int number = 1; number <= 64; number++) {
        if (handled[number]) {
            fprintf(stderr, "an earlier run has executed the handler of signal %d\n", number);
            return 3;
        }
    }
    set_handlers(SIG_DFL);
    /* The test searches for processes of the run by this name, because their command line is that
     * of the template. The name ends like the token, which is the second argument. */
    if (count > 2) {
        size_t length = strlen(arguments[2]);
        prctl(PR_SET_NAME, arguments[2] + (length > 15 ? length - 15 : 0));
    }
    if (strcmp(arguments[0], "/attack") == 0 || strcmp(arguments[0], "/innocent") == 0) {
        void *program = dlopen(arguments[0], RTLD_NOW);
        int (*attack)(int, char **) = NULL;
        if (program)
            attack = (int (*)(int, char **))dlsym(program, "main");
        if (attack)
            exit(attack(count, arguments));
    }
    execv(arguments[0], arguments);
    perror(arguments[0]);
    return 2;
}
