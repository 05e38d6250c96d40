/* In: the bytes of a file, the descriptor of the message they should be. Out: whether they are, or where
 * they cease to be. The one idea: a walk over tags and lengths alone, with a bound on nesting. */
#include "onnx/wire.h"

enum { NESTING = 100 /* as other readers of the format allow */ };

typedef struct Walk {
    const uint8_t *data; /* of the file */
    size_t at;
    OnnxBreak *found;
} Walk;

static bool broken(Walk *walk, const char *why) {
    *walk->found = (OnnxBreak){walk->at, why};
    return false;
}

static bool varint(Walk *walk, size_t end, uint64_t *value) {
    *value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (walk->at == end) return broken(walk, "the file ends inside a number");
        uint8_t byte = walk->data[walk->at++];
        if (shift < 64) *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return broken(walk, "a number is longer than 10 bytes");
}

static bool skip(Walk *walk, size_t end, uint64_t count) {
    if (count > end - walk->at) return broken(walk, "a field is longer than what contains it");
    walk->at += (size_t)count;
    return true;
}

static bool message(Walk *walk, const ProtobufCMessageDescriptor *descriptor, size_t end,
                    int nesting);

static bool field(Walk *walk, const ProtobufCMessageDescriptor *descriptor, size_t end,
                  int nesting) {
    uint64_t tag, value;
    if (!varint(walk, end, &tag)) return false;
    if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff) return broken(walk, "a field has no number");
    switch (tag & 7) {
    case 0: return varint(walk, end, &value);
    case 1: return skip(walk, end, 8);
    case 2: break;
    case 5: return skip(walk, end, 4);
    default: return broken(walk, "a field is of no kind that there is");
    }
    if (!varint(walk, end, &value)) return false;
    size_t from = walk->at;
    if (!skip(walk, end, value)) return false;
    const ProtobufCFieldDescriptor *known =
        protobuf_c_message_descriptor_get_field(descriptor, (unsigned)(tag >> 3));
    if (!known || known->type != PROTOBUF_C_TYPE_MESSAGE) return true;
    size_t to = walk->at;
    walk->at = from;
    return message(walk, known->descriptor, to, nesting + 1);
}

static bool message(Walk *walk, const ProtobufCMessageDescriptor *descriptor, size_t end,
                    int nesting) {
    if (nesting > NESTING) return broken(walk, "messages nest too deep");
    while (walk->at < end)
        if (!field(walk, descriptor, end, nesting)) return false;
    return true;
}

bool onnx_wire_check(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t size,
                     OnnxBreak *at) {
    Walk walk = {data, 0, at};
    return message(&walk, descriptor, size, 0);
}
