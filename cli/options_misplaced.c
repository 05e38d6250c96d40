/* In: options, of a command line or of a list's line. Out: what is wrong where one of them would not be
 * looked at, since it is another command's. */
#include <string.h>

#include "cli/options.h"

bool options_name_file(const Options *options) {
    const char *ending = options->word_count ? strrchr(options->words[0], '.') : NULL;
    return ending && (strcmp(ending, ".cu") == 0 || strcmp(ending, ".c") == 0);
}

const char *options_misplaced(const Options *o) {
    Command command = o->command;
    bool writes = command == COMMAND_RUN || command == COMMAND_DUMP ||
                  command == COMMAND_TEMPLATE || command == COMMAND_EMIT || command == COMMAND_ONNX;
    bool takes_lines =
        command == COMMAND_TEMPLATE ||
        ((command == COMMAND_EMIT || command == COMMAND_WHY) && options_name_file(o));
    bool plain = command == COMMAND_DUMP || command == COMMAND_OPS || command == COMMAND_DEVICES ||
                 command == COMMAND_CACHE || command == COMMAND_EMIT || command == COMMAND_WHY;
    if (o->output_count > 0 && !writes)
        return "-o goes with run, dump, emit, tune and onnx: kfuse run EXPR NAME=FILE.npy… -o OUT";
    if ((o->line_count && !takes_lines) ||
        ((o->reference_count || o->has_tolerance) && command != COMMAND_TEMPLATE))
        return "a kernel's header lines and references go with kfuse tune FILE, the lines with "
               "kfuse emit FILE and why FILE, too";
    if (command != COMMAND_EMIT && (o->name || o->archs || o->format))
        return "--name, --arch and --format go with emit";
    if (plain && o->json) return "--json goes with reports, grad, onnx and tune-all";
    if (command != COMMAND_CACHE && o->binaries)
        return "--binaries goes with cache export and cache import";
    if (command != COMMAND_GRAD && o->wrt_count)
        return "--wrt goes with grad: kfuse grad EXPR --wrt x,b";
    if (command != COMMAND_ONNX && (o->dim_count || o->rewrite || o->products))
        return "--dim, --products and --rewrite go with onnx: kfuse onnx MODEL";
    if (command != COMMAND_TUNE_ALL && (o->devices || o->shards))
        return "--devices and --shard go with kfuse tune-all FILE";
    return NULL;
}
