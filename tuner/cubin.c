/* In: a cubin's bytes. Out: registers, stack, shared memory and a hash of the machine code of a
 * kernel. The idea: what ptxas -v would print stands in the file, so that a stored binary can be
 * asked again. */
#include "tuner/cubin.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { INFO_SIZED = 4 }; /* a record's format: `size` bytes follow; in others `size` is the value */
enum { INFO_REGISTERS = 0x2f, INFO_FRAME = 0x11, INFO_CONSTANT_BANK = 0x0a, INFO_EXTERNS = 0x0f };
enum { RESERVED_SHARED = 1024 };

typedef struct Bytes {
    const unsigned char *at;
    size_t size;
} Bytes;

typedef struct Cubin {
    Bytes file;
    size_t table; /* offset of the section headers */
    uint32_t count;
    Bytes names;
} Cubin;

static bool section_header(const Cubin *cubin, uint32_t index, Elf64_Shdr *header) {
    if (index >= cubin->count) return false;
    memcpy(header, cubin->file.at + cubin->table + index * sizeof *header, sizeof *header);
    return true;
}

/* The section's bytes; false if they do not lie inside the file. */
static bool section_bytes(const Cubin *cubin, const Elf64_Shdr *header, Bytes *bytes) {
    *bytes = (Bytes){cubin->file.at, 0};
    if (header->sh_type == SHT_NOBITS) return true;
    size_t size = cubin->file.size;
    if (header->sh_offset > size || header->sh_size > size - header->sh_offset) return false;
    *bytes = (Bytes){cubin->file.at + header->sh_offset, header->sh_size};
    return true;
}

/* A NUL-terminated name inside a string table; "" where there is none. */
static const char *name_at(Bytes table, uint32_t offset) {
    if (offset >= table.size || !memchr(table.at + offset, 0, table.size - offset)) return "";
    return (const char *)table.at + offset;
}

static bool open_cubin(const void *bytes, size_t size, Cubin *cubin) {
    Elf64_Ehdr head;
    Elf64_Shdr section;
    Bytes content;
    if (size < sizeof head) return false;
    memcpy(&head, bytes, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    if (head.e_machine != EM_CUDA || head.e_shentsize != sizeof section) return false;
    if (head.e_shoff > size || head.e_shnum > (size - head.e_shoff) / sizeof section) return false;
    if (head.e_phoff > size || head.e_phnum > (size - head.e_phoff) / sizeof(Elf64_Phdr))
        return false;
    *cubin = (Cubin){{bytes, size}, head.e_shoff, head.e_shnum, {bytes, 0}};
    for (uint32_t i = 0; i < cubin->count; i++)
        if (!section_header(cubin, i, &section) || !section_bytes(cubin, &section, &content))
            return false;
    return section_header(cubin, head.e_shstrndx, &section) &&
           section_bytes(cubin, &section, &cubin->names);
}

bool cubin_valid(const void *bytes, size_t size) {
    Cubin cubin;
    return open_cubin(bytes, size, &cubin);
}

/* Finds the section `prefix``name`. */
static bool find_section(const Cubin *cubin, const char *prefix, const char *name,
                         Elf64_Shdr *header, Bytes *bytes) {
    size_t length = strlen(prefix);
    for (uint32_t i = 0; i < cubin->count; i++) {
        if (!section_header(cubin, i, header)) return false;
        const char *full = name_at(cubin->names, header->sh_name);
        if (strncmp(full, prefix, length) == 0 && strcmp(full + length, name) == 0)
            return section_bytes(cubin, header, bytes);
    }
    return false;
}

static bool find_symbol(const Cubin *cubin, const char *name, uint32_t *index) {
    Elf64_Shdr header;
    Bytes symbols, strings;
    if (!find_section(cubin, ".symtab", "", &header, &symbols)) return false;
    if (!section_header(cubin, header.sh_link, &header) || !section_bytes(cubin, &header, &strings))
        return false;
    for (uint32_t i = 0; i < symbols.size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, symbols.at + i * sizeof symbol, sizeof symbol);
        *index = i;
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC &&
            strcmp(name_at(strings, symbol.st_name), name) == 0)
            return true;
    }
    return false;
}

/* One record of an .nv.info section; its bytes with the head. */
typedef struct Record {
    unsigned attribute;
    Bytes bytes;
} Record;

static bool next_record(Bytes *info, Record *record) {
    uint16_t size = 0;
    if (info->size < 4) return false;
    if (info->at[0] == INFO_SIZED) memcpy(&size, info->at + 2, sizeof size);
    if (size > info->size - 4) return false;
    *record = (Record){info->at[1], {info->at, 4 + (size_t)size}};
    *info = (Bytes){info->at + record->bytes.size, info->size - record->bytes.size};
    return true;
}

/* Reads one kernel's figures off the records {symbol, value} of .nv.info. */
static void read_info(Bytes info, uint32_t symbol, Resources *resources) {
    for (Record record; next_record(&info, &record);) {
        uint32_t pair[2];
        if (record.bytes.size != 4 + sizeof pair) continue;
        memcpy(pair, record.bytes.at + 4, sizeof pair);
        if (pair[0] != symbol) continue;
        if (record.attribute == INFO_REGISTERS) resources->registers = (int32_t)pair[1];
        if (record.attribute == INFO_FRAME) resources->stack_bytes = (int32_t)pair[1];
    }
}

static void hash_section(const Cubin *cubin, const char *prefix, const char *name,
                         XXH3_state_t *state) {
    Elf64_Shdr header;
    Bytes bytes;
    if (!find_section(cubin, prefix, name, &header, &bytes)) return;
    XXH3_64bits_update(state, prefix, strlen(prefix));
    XXH3_64bits_update(state, &header.sh_size, sizeof header.sh_size);
    XXH3_64bits_update(state, bytes.at, bytes.size);
}

/* What the kernel asks of its launch (threads, cluster, parameters). Two attributes hold symbols'
 * places in the file and are no part of the code. */
static void hash_info(const Cubin *cubin, const char *entry, XXH3_state_t *state) {
    Elf64_Shdr header;
    Bytes info;
    if (!find_section(cubin, ".nv.info.", entry, &header, &info)) return;
    for (Record record; next_record(&info, &record);)
        if (record.attribute != INFO_CONSTANT_BANK && record.attribute != INFO_EXTERNS)
            XXH3_64bits_update(state, record.bytes.at, record.bytes.size);
}

/* Hashes the whole file where the kernel's code has relocations: it calls or reads what lies
 * elsewhere, and what that is cannot be told by the kernel's own sections. */
static void hash_relocated(const Cubin *cubin, const char *entry, XXH3_state_t *state) {
    Elf64_Shdr header;
    Bytes bytes;
    bool some = find_section(cubin, ".rel.text.", entry, &header, &bytes) && bytes.size;
    some = some || (find_section(cubin, ".rela.text.", entry, &header, &bytes) && bytes.size);
    if (some) XXH3_64bits_update(state, cubin->file.at, cubin->file.size);
}

/* The module's constants count whether or not the kernel reads them: two files that differ in them
 * count as different, which costs one measurement. */
static uint64_t hash_code(const Cubin *cubin, const char *entry) {
    static const char *const own[] = {".text.", ".nv.constant0.", ".nv.constant1.",
                                      ".nv.constant2.", ".nv.shared."};
    static const char *const shared[] = {".nv.constant3", ".nv.constant4", ".nv.global.init"};
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        hash_section(cubin, own[i], entry, &state);
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        hash_section(cubin, shared[i], "", &state);
    hash_info(cubin, entry, &state);
    hash_relocated(cubin, entry, &state);
    return XXH3_64bits_digest(&state);
}

static int32_t shared_bytes(const Cubin *cubin, const char *entry) {
    Elf64_Shdr header;
    Bytes bytes;
    if (!find_section(cubin, ".nv.shared.", entry, &header, &bytes)) return 0;
    uint64_t size = header.sh_size;
    /* From sm_90 on the driver's own kilobyte a block is counted in. */
    if (find_section(cubin, ".nv.shared.reserved.0", "", &header, &bytes) &&
        size >= RESERVED_SHARED)
        size -= RESERVED_SHARED;
    return size > INT32_MAX ? INT32_MAX : (int32_t)size;
}

bool cubin_resources(const void *bytes, size_t size, const char *entry, Resources *resources,
                     uint64_t *machine_code) {
    Cubin cubin;
    Elf64_Shdr header;
    Bytes text, info;
    uint32_t symbol;
    *resources = (Resources){-1, -1, -1, -1};
    if (!open_cubin(bytes, size, &cubin) || !find_symbol(&cubin, entry, &symbol)) return false;
    if (!find_section(&cubin, ".text.", entry, &header, &text) || text.size == 0) return false;
    if (find_section(&cubin, ".nv.info", "", &header, &info)) read_info(info, symbol, resources);
    /* A stack frame holds spills and local arrays alike; none of it means no spills. */
    if (resources->stack_bytes == 0) resources->spill_bytes = 0;
    resources->shared_bytes = shared_bytes(&cubin, entry);
    *machine_code = hash_code(&cubin, entry);
    return true;
}
