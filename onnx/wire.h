/* Whether bytes are a message of the wire format all through, before anything is unpacked. */
#ifndef KF_ONNX_WIRE_H
#define KF_ONNX_WIRE_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

/* Where a message breaks off or is none. */
typedef struct OnnxBreak {
    size_t offset;
    const char *why;
} OnnxBreak;

/* Follows the fields that `descriptor` knows as messages. What nests too deep is refused here, so that
 * unpacking, which recurses, has an end. */
bool onnx_wire_check(const ProtobufCMessageDescriptor *descriptor, const uint8_t *data, size_t size,
                     OnnxBreak *at);

#endif
