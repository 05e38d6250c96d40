/* Messages whole, late, torn and damaged; workers that start, refuse, and end. */
#include "tuner/wire.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "tuner/pool.h"

static void open_pair(int pair[2]) {
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
}

typedef struct Sender {
    int fd;
    size_t length;
} Sender;

static void *send_large(void *context) {
    Sender *sender = context;
    char *bytes = malloc(sender->length);
    memset(bytes, 'x', sender->length);
    WireStatus status = wire_send(sender->fd, 7, 42, bytes, sender->length, 20);
    free(bytes);
    return status == WIRE_OK ? sender : NULL;
}

static void passes_messages_of_any_size(void **state) {
    (void)state;
    const size_t lengths[] = {0, 1, 16384, 16385, 10000000};
    Frame frame = {0};
    int pair[2];
    open_pair(pair);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        Sender sender = {pair[0], lengths[i]};
        pthread_t thread;
        void *sent;
        assert_int_equal(pthread_create(&thread, NULL, send_large, &sender), 0);
        assert_int_equal(wire_receive(pair[1], &frame, 20), WIRE_OK);
        pthread_join(thread, &sent);
        assert_non_null(sent);
        assert_int_equal(frame.kind, 7);
        assert_int_equal(frame.id, 42);
        assert_int_equal(frame.body.length, lengths[i]);
    }
    text_free(&frame.body);
    close(pair[0]);
    close(pair[1]);
}

static void keeps_deadlines(void **state) {
    (void)state;
    Frame frame = {0};
    int pair[2];
    open_pair(pair);
    char *bytes = calloc(1, 8 << 20);
    double begin = wire_now();
    assert_int_equal(wire_receive(pair[1], &frame, 0.05), WIRE_TIMEOUT);
    assert_int_equal(wire_send(pair[0], 1, 1, bytes, 8 << 20, 0.05),
                     WIRE_TIMEOUT); /* nobody reads */
    double took = wire_now() - begin;
    assert_true(took >= 0.09 && took < 5);
    free(bytes);
    close(pair[0]);
    close(pair[1]);
}

static void ignore(int number) {
    (void)number;
}

/* Signals come all the while; the deadline still holds. */
static void outlasts_signals(void **state) {
    (void)state;
    int pair[2];
    Frame frame = {0};
    open_pair(pair);
    struct sigaction action = {.sa_handler = ignore};
    sigaction(SIGALRM, &action, NULL);
    ualarm(1000, 1000);
    double begin = wire_now();
    assert_int_equal(wire_receive(pair[1], &frame, 0.1), WIRE_TIMEOUT);
    ualarm(0, 0);
    assert_true(wire_now() - begin >= 0.09);
    close(pair[0]);
    close(pair[1]);
}

static void sees_the_end_and_noise(void **state) {
    (void)state;
    Frame frame = {0};
    int pair[2];
    open_pair(pair);
    char noise[64];
    memset(noise, 'n', sizeof noise);
    assert_int_equal(write(pair[0], noise, sizeof noise), sizeof noise);
    assert_int_equal(wire_receive(pair[1], &frame, 1), WIRE_CLOSED);
    close(pair[1]);
    assert_int_equal(wire_send(pair[0], 1, 1, "", 0, 1), WIRE_CLOSED); /* and no SIGPIPE */
    assert_int_equal(wire_receive(pair[0], &frame, 1), WIRE_CLOSED);
    close(pair[0]);
    text_free(&frame.body);
}

static void reads_payloads_back(void **state) {
    (void)state;
    Text text = {0};
    Arena *arena = arena_open();
    size_t length;
    struct {
        int a;
        double b;
    } in = {3, 4.5}, out = {0, 0};
    wire_put_u32(&text, 7);
    wire_put_u64(&text, UINT64_MAX);
    wire_put_f64(&text, -0.5);
    wire_put_string(&text, "text");
    wire_put_string(&text, NULL);
    wire_put_string(&text, "");
    wire_put_bytes(&text, "\0\1", 2);
    wire_put_bytes(&text, &in, sizeof in);
    for (size_t cut = 0; cut <= text.length; cut++) {
        WireReader reader = wire_reader(text.data, cut);
        bool whole = cut == text.length;
        uint32_t u32 = wire_get_u32(&reader);
        uint64_t u64 = wire_get_u64(&reader);
        double f64 = wire_get_f64(&reader);
        const char *string = wire_get_string(&reader, arena);
        const char *none = wire_get_string(&reader, arena);
        const char *empty = wire_get_string(&reader, arena);
        wire_get_bytes(&reader, &length);
        bool got = wire_get_struct(&reader, &out, sizeof out);
        assert_int_equal(reader.damaged, !whole);
        assert_int_equal(got, whole);
        if (!whole) continue;
        assert_int_equal(u32, 7);
        assert_true(u64 == UINT64_MAX && f64 == -0.5 && out.b == 4.5);
        assert_string_equal(string, "text");
        assert_null(none);
        assert_string_equal(empty, "");
        assert_int_equal(length, 2);
        assert_int_equal(reader.left, 0);
    }
    text_free(&text);
    arena_close(arena);
}

static void refuses_a_length_beyond_the_end(void **state) {
    (void)state;
    Text text = {0};
    size_t length;
    wire_put_u64(&text, UINT64_MAX - 3);
    WireReader reader = wire_reader(text.data, text.length);
    assert_null(wire_get_bytes(&reader, &length));
    assert_int_equal(length, 0);
    assert_true(reader.damaged);
    text_free(&text);
}

static void starts_and_ends_a_worker(void **state) {
    (void)state;
    const char *const arguments[] = {"compile", "cuda", NULL};
    Arena *arena = arena_open();
    Worker worker;
    Why why;
    char text[96];
    const char *path = worker_path(arena, &why);
    if (!path) skip();
    assert_true(wire_spawn(&worker, path, arguments, &why));
    pid_t pid = worker.pid;
    assert_true(wire_greet(&worker, 20, &why));
    int status = wire_end(&worker);
    wire_describe(status, text, sizeof text);
    assert_string_equal(text, "was killed by signal 9 (Killed)");
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(wire_end(&worker), -1);
    arena_close(arena);
}

static void says_what_is_no_worker(void **state) {
    (void)state;
    const char *const arguments[] = {NULL};
    Worker worker;
    Why why;
    assert_false(wire_spawn(&worker, "/nonexistent/kfuse-worker", arguments, &why));
    assert_non_null(strstr(why.text, "/nonexistent/kfuse-worker: No such file"));
    assert_true(wire_spawn(&worker, "/bin/false", arguments, &why));
    assert_false(wire_greet(&worker, 20, &why));
    assert_non_null(strstr(why.text, "ended with status 1"));
    wire_end(&worker);
}

static void refuses_another_build(void **state) {
    (void)state;
    Frame frame = {.kind = WIRE_HELLO};
    Why why;
    text_add(&frame.body, "another build");
    assert_false(wire_check_hello(&frame, &why));
    assert_non_null(strstr(why.text, "another build"));
    text_free(&frame.body);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_messages_of_any_size),
        cmocka_unit_test(keeps_deadlines),
        cmocka_unit_test(outlasts_signals),
        cmocka_unit_test(sees_the_end_and_noise),
        cmocka_unit_test(reads_payloads_back),
        cmocka_unit_test(refuses_a_length_beyond_the_end),
        cmocka_unit_test(starts_and_ends_a_worker),
        cmocka_unit_test(says_what_is_no_worker),
        cmocka_unit_test(refuses_another_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
