// Drives the C++ header: driver BACKEND. The exit status is 1 if a check fails.
#include <millibox.hpp>

#include <poll.h>

#include <cstdio>
#include <string_view>
#include <vector>

using namespace std::chrono_literals;

static int failures;

#define CHECK(condition)                                               \
    do {                                                               \
        if (!(condition)) {                                            \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            failures++;                                                \
        }                                                              \
    } while (0)

static void runs(const millibox::sandbox &box) {
    millibox::program cat{"sh", "-c", "cat; echo $X >&2; exit 3"};
    cat.input("hello").env("X", "value").cwd("/tmp");
    const auto result = box.run(cat);
    CHECK(result.has_value());
    CHECK(result->outcome() == millibox::outcome::exited && result->exit_code() == 3);
    CHECK(!result->ok() && !result->signal() && result->message() == "exited with 3");
    CHECK(result->output() == "hello" && result->errors() == "value\n");
    CHECK(result->output_bytes().size() == 5 && result->real_time() > 0ns);
    CHECK(result->cpu_time() == result->user_time() + result->system_time());
    CHECK(!result->cold_start_reason());
    CHECK(result->backend() == box.backend());

    millibox::program sleeps{"sleep", "1000"};
    sleeps.limits({.real_time = 50ms, .output = 100});
    const auto late = box.run(sleeps);
    CHECK(late && late->outcome() == millibox::outcome::real_time_limit);
    CHECK(late && !late->exit_code());

    /* Limits that are left out get their defaults back. */
    millibox::program forks{"sh", "-c", "true & true & true & wait; echo"};
    forks.limits({.processes = 1});
    const auto limited = box.run(forks);
    CHECK(limited && !limited->ok());
    const auto unlimited = box.run(forks.limits({}));
    CHECK(unlimited && unlimited->ok());

    millibox::program wrong{""};
    const auto rejected = box.run(wrong);
    CHECK(!rejected && rejected.error().code() == millibox::code::invalid);
    CHECK(!rejected.error().message().empty());
    try {
        millibox::program nul{std::string_view("echo\0x", 6)};
        CHECK(false);
    } catch (const std::invalid_argument &) {
    }
    try {
        const std::string modules[] = {"json", std::string("math\0x", 6)};
        CHECK(!millibox::prepared::python(millibox::world(), "/usr/bin/python3", modules));
        CHECK(false);
    } catch (const std::invalid_argument &) {
    }
}

static void handles(const millibox::sandbox &box) {
    std::vector<millibox::run> started;
    for (int i = 0; i < 4; i++) {
        auto run = box.start({"sh", "-c", "head -c 200000 /dev/zero; exit " + std::to_string(i)});
        CHECK(run.has_value());
        started.push_back(std::move(*run));
    }
    for (int i = 0; i < 4; i++) {
        const auto descriptor = started[i].descriptor();
        CHECK(descriptor.has_value());
        for (;;) {
            auto result = started[i].poll();
            CHECK(result.has_value());
            if (*result) {
                CHECK((*result)->exit_code() == i && (*result)->output().size() == 200000);
                break;
            }
            pollfd ready{.fd = *descriptor, .events = POLLIN, .revents = 0};
            CHECK(poll(&ready, 1, 60000) == 1);
        }
    }
    auto run = box.start({"sleep", "1000"});
    CHECK(run.has_value());
    const auto none = run->wait_for(1ms);
    CHECK(none.has_value() && !*none);
    run->cancel();
    const auto cancelled = run->wait();
    CHECK(cancelled && cancelled->outcome() == millibox::outcome::cancelled);
}

static void worlds(const millibox::sandbox &box) {
    auto files = millibox::files::create();
    CHECK(files && files->write("in", "data"));
    millibox::world world;
    world.read_write(files->path(), "/files").tmpfs("/scratch", 1 << 20);
    const auto result =
        box.run(std::move(millibox::program{"cp", "/files/in", "/files/out"}.world(world)));
    CHECK(result && result->ok());
    const auto copied = files->read("out", 100);
    CHECK(copied && *copied == "data");
    const auto missing = files->read("missing", 100);
    CHECK(!missing && missing.error().code() == millibox::code::system);
}

static void prepares(const millibox::sandbox &box) {
    auto missing = millibox::prepared::python(millibox::world(), "/usr/bin/nopython");
    CHECK(missing.has_value());
    if (!missing)
        return;
    const auto result = box.run(std::move(millibox::program{"true"}.prepared(*missing)));
    CHECK(result && result->ok() && !result->is_prepared() && result->cold_start_reason());
}

int main(int argc, char **argv) {
    const bool rlimit = argc > 1 && std::string_view(argv[1]) == "rlimit";
    const auto backend = rlimit ? millibox::backend::rlimit : millibox::backend::automatic;
    auto box = millibox::sandbox::create({.backend = backend, .slots = 2});
    CHECK(box && box->slots() == 2);
    if (!box)
        return 1;
    const auto none = millibox::sandbox::create({.supervisor = "/no/such/supervisor"});
    CHECK(!none && none.error().code() == millibox::code::start);
    CHECK(millibox::version().find('.') != std::string::npos);
    runs(*box);
    handles(*box);
    worlds(*box);
    prepares(*box);
    const auto moved = std::move(*box);
    moved.close();
    const auto closed = moved.run({"true"});
    CHECK(!closed && closed.error().code() == millibox::code::closed);
    return failures != 0;
}
