/* Moves a simulated rover from C: a client of the step service with its own collision detection, here level ground.
 *
 *   hil serve sim_juno --set experiment=drive --contacts outside        prints the endpoint
 *   cc -std=c11 -O2 step_client.c -lzmq -lm -o step_client              or, without -lzmq, a libzmq.so by its path
 *   ./step_client tcp://127.0.0.1:PORT [STEPS]
 *
 * All numbers are little-endian and without gaps, at the places of docs/reference/step-service.md; this computer has to
 * be little-endian too. For clients on this computer: keys (CURVE) are options of the ZeroMQ socket.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_include) && __has_include(<zmq.h>)
#include <zmq.h>
#else /* what is used of libzmq 4, whose binary interface is stable */
#define ZMQ_REQ 3
#define ZMQ_SNDMORE 2
#define ZMQ_RCVMORE 13
#define ZMQ_LINGER 17
#define ZMQ_RCVTIMEO 27
void *zmq_ctx_new(void);
void *zmq_socket(void *, int);
int zmq_connect(void *, const char *);
int zmq_setsockopt(void *, int, const void *, size_t);
int zmq_getsockopt(void *, int, void *, size_t *);
int zmq_send(void *, const void *, size_t, int);
int zmq_recv(void *, void *, size_t, int);
int zmq_close(void *);
int zmq_ctx_term(void *);
#endif

enum { REFUSED, DESCRIBE, RESET, CONTACTS, COMMAND, STEP, STATE, ENERGY };
enum { HEADER = 16, LARGEST = 65536, VERSION = 1, MOST_WHEELS = 16 };

typedef struct { uint32_t nq, nv, wheels, servos, cylinders, energies, outside, text; } sizes_t;
typedef struct {
    uint32_t wheel, zero;
    double point[3], normal[3], penetration, friction, restitution;
} contact_t; /* 80 bytes */

static void *socket_;
static uint32_t rig; /* the number of the rig, which every message carries */
static unsigned char reply[LARGEST];

static void die(const char *why)
{
    fprintf(stderr, "step_client: %s\n", why);
    exit(1);
}

static void send_message(uint16_t kind, const void *body, uint32_t size, int more)
{
    static unsigned char frame[LARGEST];
    uint16_t version = VERSION;
    if (size > LARGEST - HEADER)
        die("a message is too long");
    memcpy(frame, "HILS", 4);
    memcpy(frame + 4, &version, 2);
    memcpy(frame + 6, &kind, 2);
    memcpy(frame + 8, &size, 4);
    memcpy(frame + 12, &rig, 4);
    if (size)
        memcpy(frame + HEADER, body, size);
    if (zmq_send(socket_, frame, HEADER + size, more ? ZMQ_SNDMORE : 0) < 0)
        die("the request could not be sent");
}

/* Body of the next frame of the reply, which has to have `size` bytes (0: any), and whether another one follows. */
static const unsigned char *receive(uint16_t wanted, uint32_t size, int *more)
{
    uint16_t version, kind;
    uint32_t bytes;
    size_t length = sizeof *more;
    int got = zmq_recv(socket_, reply, sizeof reply, 0);
    if (got < HEADER || got > LARGEST || memcmp(reply, "HILS", 4))
        die("no answer, or none of the step service: is hil serve running there?");
    memcpy(&version, reply + 4, 2);
    memcpy(&kind, reply + 6, 2);
    memcpy(&bytes, reply + 8, 4);
    memcpy(&rig, reply + 12, 4);
    if (version != VERSION || bytes != (uint32_t)got - HEADER)
        die("the answer has another version, or is cut off");
    if (kind == REFUSED) {
        fprintf(stderr, "step_client: %.*s\n", (int)bytes, (const char *)reply + HEADER);
        exit(1);
    }
    if (kind != wanted || (size && bytes != size))
        die("the answer has another kind or size than expected");
    zmq_getsockopt(socket_, ZMQ_RCVMORE, more, &length);
    return reply + HEADER;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        die("use: step_client tcp://ADDRESS:PORT [STEPS]");
    long steps = argc > 2 ? strtol(argv[2], NULL, 10) : 1000;
    int more, wait_ms = 60000, at_once = 0;
    void *context = zmq_ctx_new();
    socket_ = zmq_socket(context, ZMQ_REQ);
    zmq_setsockopt(socket_, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms);
    zmq_setsockopt(socket_, ZMQ_LINGER, &at_once, sizeof at_once);
    if (zmq_connect(socket_, argv[1]))
        die("the endpoint is none; allowed: tcp://ADDRESS:PORT");

    sizes_t n;
    send_message(DESCRIBE, NULL, 0, 0);
    const unsigned char *text = receive(DESCRIBE, 0, &more);
    memcpy(&n, text, sizeof n);
    if (n.wheels > MOST_WHEELS || !n.outside)
        die("this client needs --contacts outside, and at most 16 wheels");
    /* the description is JSON; the radii are all that is needed of it here */
    double radius[MOST_WHEELS];
    char *json = malloc(n.text + 1);
    if (!json)
        die("no memory");
    memcpy(json, text + sizeof n, n.text);
    json[n.text] = 0;
    const char *place = json;
    for (uint32_t i = 0; i < n.wheels; i++) {
        place = strstr(place, "\"radius_m\":");
        if (!place)
            die("the description has no radii");
        place += strlen("\"radius_m\":");
        radius[i] = strtod(place, NULL);
    }
    free(json);

    uint32_t state_bytes = 16 + 8 * (n.nq + n.nv + 10 * n.wheels);
    size_t centre = 16 + 8 * ((size_t)n.nq + n.nv); /* of the wheels, in the state */
    unsigned char state[LARGEST];
    send_message(RESET, NULL, 0, 0);
    memcpy(state, receive(RESET, state_bytes, &more), state_bytes);

    /* speeds of the wheels; no duty, servos cut, valves off, regulators as they are */
    uint32_t numbers = 2 * n.wheels + n.servos + 3 * n.cylinders;
    double command[8 * MOST_WHEELS];
    if (numbers > 8 * MOST_WHEELS)
        die("too many actuators for this client");
    for (uint32_t i = 0; i < numbers; i++)
        command[i] = i < n.wheels ? 0.5 : NAN;
    for (uint32_t i = 0; i < 2 * n.cylinders; i++)
        command[2 * n.wheels + n.servos + i] = 0.0;
    send_message(COMMAND, command, 8 * numbers, 0);
    receive(COMMAND, 0, &more);

    struct { uint32_t count, zero; contact_t contact[MOST_WHEELS]; } body;
    int64_t step[2] = {0, 1000000};
    for (long k = 0; k < steps; k++) {
        memset(&body, 0, sizeof body);
        for (uint32_t i = 0; i < n.wheels; i++) { /* the collision detection: a wheel and the plane z = 0 */
            double c[3];
            memcpy(c, state + centre + 24 * i, sizeof c);
            contact_t *one = &body.contact[body.count++];
            one->wheel = i;
            one->point[0] = c[0], one->point[1] = c[1], one->point[2] = c[2] - radius[i];
            one->normal[2] = 1.0;
            one->penetration = radius[i] - c[2];
            one->friction = one->restitution = NAN;
        }
        memcpy(&step[0], state, 8);
        send_message(CONTACTS, &body, 8 + body.count * (uint32_t)sizeof(contact_t), 1);
        send_message(STEP, step, sizeof step, 0);
        receive(CONTACTS, 0, &more);
        if (!more)
            die("the step has no answer");
        memcpy(state, receive(STEP, state_bytes, &more), state_bytes);
    }

    double energy[64], q;
    int64_t t_ns;
    if (n.energies > 64)
        die("too many energies for this client");
    send_message(ENERGY, NULL, 0, 0);
    memcpy(energy, receive(ENERGY, 8 * n.energies, &more), 8 * n.energies);
    memcpy(&t_ns, state, 8);
    printf("t_ns %lld\nq", (long long)t_ns);
    for (uint32_t i = 0; i < n.nq; i++) {
        memcpy(&q, state + 16 + 8 * i, 8);
        printf(" %.17g", q);
    }
    printf("\nwork_of_drives_J %.17g\n", energy[6]);
    zmq_close(socket_);
    zmq_ctx_term(context);
    return 0;
}
