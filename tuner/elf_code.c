/* In: the bytes of a shared object. Out: a hash of what it computes. The one idea: .text and
 * constants say what runs, and because calls go through numbered slots, so do the names of
 * undefined symbols. */
#include "tuner/elf_code.h"

#include <elf.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

typedef struct Object {
    const unsigned char *bytes;
    size_t size;
    const Elf64_Ehdr *head;
    const Elf64_Shdr *sections;
    Elf64_Shdr names;
} Object;

static bool inside(const Object *object, uint64_t offset, uint64_t length) {
    return offset <= object->size && length <= object->size - offset;
}

/* Headers are read in place: the caller's bytes must be aligned (elf_code_hash sees to it). */
static bool open(Object *object) {
    if (object->size < sizeof(Elf64_Ehdr)) return false;
    const Elf64_Ehdr *head = object->head = (const Elf64_Ehdr *)object->bytes;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    if (head->e_shentsize != sizeof(Elf64_Shdr) || head->e_shoff % _Alignof(Elf64_Shdr) != 0 ||
        !inside(object, head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr)) ||
        head->e_shstrndx >= head->e_shnum)
        return false;
    object->sections = (const Elf64_Shdr *)(object->bytes + head->e_shoff);
    object->names = object->sections[head->e_shstrndx];
    return object->names.sh_type == SHT_STRTAB && object->names.sh_size > 0 &&
           inside(object, object->names.sh_offset, object->names.sh_size) &&
           object->bytes[object->names.sh_offset + object->names.sh_size - 1] == 0;
}

static const char *section_name(const Object *object, const Elf64_Shdr *section) {
    if (section->sh_name >= object->names.sh_size) return "";
    return (const char *)object->bytes + object->names.sh_offset + section->sh_name;
}

static bool is_code(const Object *object, const Elf64_Shdr *section) {
    const char *name = section_name(object, section);
    return section->sh_type == SHT_PROGBITS &&
           (strncmp(name, ".text", 5) == 0 || strncmp(name, ".rodata", 7) == 0 ||
            strcmp(name, ".data") == 0);
}

static void hash_section(const Object *object, const Elf64_Shdr *section, XXH64_state_t *state) {
    if (!inside(object, section->sh_offset, section->sh_size)) return;
    XXH64_update(state, &section->sh_size, sizeof section->sh_size);
    XXH64_update(state, object->bytes + section->sh_offset, section->sh_size);
}

static void hash_imports(const Object *object, const Elf64_Shdr *table, XXH64_state_t *state) {
    if (table->sh_link >= object->head->e_shnum ||
        !inside(object, table->sh_offset, table->sh_size))
        return;
    const Elf64_Shdr *strings = &object->sections[table->sh_link];
    if (!inside(object, strings->sh_offset, strings->sh_size)) return;
    const char *text = (const char *)object->bytes + strings->sh_offset;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, object->bytes + table->sh_offset + at, sizeof symbol);
        if (symbol.st_shndx != SHN_UNDEF || symbol.st_name >= strings->sh_size) continue;
        XXH64_update(state, text + symbol.st_name,
                     strnlen(text + symbol.st_name, strings->sh_size - symbol.st_name));
    }
}

bool elf_code_hash(const void *bytes, size_t size, uint64_t *hash) {
    Object object = {.bytes = bytes, .size = size};
    bool found = false;
    XXH64_state_t state;
    if ((uintptr_t)bytes % _Alignof(Elf64_Ehdr) != 0 || !open(&object)) return false;
    XXH64_reset(&state, 0);
    for (uint32_t i = 0; i < object.head->e_shnum; i++) {
        const Elf64_Shdr *section = &object.sections[i];
        if (is_code(&object, section)) {
            hash_section(&object, section, &state);
            found = true;
        } else if (section->sh_type == SHT_DYNSYM) {
            hash_imports(&object, section, &state);
        }
    }
    *hash = XXH64_digest(&state);
    return found;
}
