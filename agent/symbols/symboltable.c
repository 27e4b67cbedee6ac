/* symboltable.c - the functions and lines of one ELF file
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Functions come from a table of our own, as libdwfl walks all symbols for each
 * address. It is sorted when there is more than a few to find: of a large
 * library with some ten thousand functions a stack or two lead into it. Lines
 * come from libdwfl, and so do the functions of a file that was stripped and
 * has its debug file beside it or in /usr/lib/debug. Only local files are
 * looked at (symbols.c takes the variable away by which it would ask a server).
 */
#include "agent/symbols/symboltable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>

#include "agent/process/mappings.h"
#include "schema/fd.h"
#include "schema/order.h"
#include "schema/time.h"

#define FINDS_UNSORTED 16
/* Of tables in which symbols are looked for by name, on the collector's thread:
 * larger ones are not read. */
#define SYMBOLS_BYTES_MAX (16u << 20)
#define NAMES_BYTES_MAX (64u << 20)
/* Time for what was inlined in a file: large units take milliseconds for each
 * address, and files and lines of the others are worth more. */
#define INLINED_TIME (500 * CK_TIME_MS)

struct function {
    uint64_t start;
    uint64_t size; /* 0 = up to the next */
    const char *name;
};

/* Addresses of a compilation unit: clang writes no .debug_aranges, by which
 * libdwfl would find the unit. */
struct unit {
    uint64_t start;
    uint64_t end;
    Dwarf_Die die;
};

struct symboltable {
    int fd;
    Elf *elf;
    struct function *functions;
    size_t count;
    unsigned finds; /* after FINDS_UNSORTED, functions are sorted by start */
    Dwfl *dwfl;
    Dwfl_Module *module; /* of dwfl; NULL = no lines */
    struct unit *units;  /* sorted by start; read when first needed */
    size_t unit_count;
    uint64_t unit_bias;
    ck_time_t inlined_time; /* that it took so far */
    bool has_units;         /* they were tried */
    bool has_lines;         /* in the file itself */
    bool has_symtab;
};

static void id_print(Elf *elf, char build_id[SYMBOLTABLE_ID_BYTES])
{
    const void *bytes = NULL;
    ssize_t length = dwelf_elf_gnu_build_id(elf, &bytes);

    build_id[0] = '\0';
    for (ssize_t i = 0; i < length && 2 * i + 3 < SYMBOLTABLE_ID_BYTES; i++) {
        (void)sprintf(build_id + 2 * i, "%02x", ((const uint8_t *)bytes)[i]);
    }
}

/* A page of the file may be in two segments: as data, and as code. */
static int bias_find(
    Elf *elf, uint64_t start, uint64_t offset, bool is_code, uint64_t *bias)
{
    bool is_found = false;
    size_t count;

    if (elf_getphdrnum(elf, &count) != 0) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;

        if (gelf_getphdr(elf, (int)i, &segment) != NULL &&
            (!is_found || (is_code && (segment.p_flags & PF_X) != 0)) &&
            mapping_bias(&segment, start, offset, bias)) {
            is_found = true;
        }
    }
    return is_found ? 0 : -1;
}

/* NULL = the kernel gives none. Its sections are in the memory as well. */
static Elf *vdso_open(void)
{
    char *image = (char *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)image;

    return image == NULL
               ? NULL
               : elf_memory(image, header->e_shoff + (size_t)header->e_shnum *
                                                         header->e_shentsize);
}

/* *fd is the caller's to close, -1 = none. NULL with errno: no ELF file. What
 * is mapped may be shortened by others, which ends who reads it. */
static Elf *elf_open(const char *path, Elf_Cmd how, int *fd)
{
    Elf *elf = NULL;

    (void)elf_version(EV_CURRENT);
    errno = EBADMSG;
    if (strcmp(path, SYMBOLTABLE_VDSO) == 0) {
        *fd = -1;
        elf = vdso_open();
    } else {
        *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (*fd >= 0) {
            elf = elf_begin(*fd, how, NULL);
        }
    }
    if (elf != NULL && elf_kind(elf) != ELF_K_ELF) {
        (void)elf_end(elf);
        errno = EBADMSG;
        elf = NULL;
    }
    return elf;
}

int symboltable_identify(const char *path,
                         uint64_t start,
                         uint64_t offset,
                         bool is_code,
                         uint64_t *bias,
                         char build_id[SYMBOLTABLE_ID_BYTES])
{
    int fd;
    Elf *elf = elf_open(path, ELF_C_READ, &fd);
    int rc = -1;

    if (elf != NULL) {
        rc = bias_find(elf, start, offset, is_code, bias);
        id_print(elf, build_id);
    }
    (void)elf_end(elf);
    ck_fd_close(fd);
    return rc;
}

/* May the section's text be read here? */
static bool has_names(Elf *elf, size_t section)
{
    GElf_Shdr header;

    return gelf_getshdr(elf_getscn(elf, section), &header) != NULL &&
           header.sh_size <= NAMES_BYTES_MAX;
}

/* With relocated data it has another section's name before its own. */
static bool is_gos(const char *section)
{
    static const char table[] = ".gopclntab";
    size_t length = section == NULL ? 0 : strlen(section);

    return length >= sizeof(table) - 1 &&
           strcmp(section + length - (sizeof(table) - 1), table) == 0;
}

bool symboltable_is_go(const char *path)
{
    Elf_Scn *section = NULL;
    bool is_go = false;
    size_t names;
    int fd;
    Elf *elf = elf_open(path, ELF_C_READ, &fd);

    if (elf != NULL && elf_getshdrstrndx(elf, &names) == 0 &&
        has_names(elf, names)) {
        while (!is_go && (section = elf_nextscn(elf, section)) != NULL) {
            GElf_Shdr header;

            is_go = gelf_getshdr(section, &header) != NULL &&
                    is_gos(elf_strptr(elf, names, header.sh_name));
        }
    }
    (void)elf_end(elf);
    ck_fd_close(fd);
    return is_go;
}

/* Symbols that are asked for by name. */
struct wanted {
    const char *const *names;
    struct symbol_range *ranges;
    size_t count;
    int found;
};

static void
wanted_take(struct wanted *wanted, const char *name, const GElf_Sym *symbol)
{
    for (size_t i = 0; i < wanted->count; i++) {
        struct symbol_range *range = &wanted->ranges[i];

        if (range->start == 0 && strcmp(name, wanted->names[i]) == 0) {
            *range = (struct symbol_range){symbol->st_value, symbol->st_size};
            wanted->found += symbol->st_value != 0;
        }
    }
}

static void wanted_find(Elf *elf, Elf_Scn *section, struct wanted *wanted)
{
    GElf_Shdr header;
    Elf_Data *data;

    if (gelf_getshdr(section, &header) == NULL || header.sh_entsize == 0 ||
        (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB) ||
        header.sh_size > SYMBOLS_BYTES_MAX || !has_names(elf, header.sh_link)) {
        return;
    }
    data = elf_getdata(section, NULL);
    for (size_t i = 0; data != NULL && i < header.sh_size / header.sh_entsize &&
                       wanted->found < (int)wanted->count;
         i++) {
        GElf_Sym symbol;
        const char *name;

        if (gelf_getsym(data, (int)i, &symbol) == NULL) {
            break;
        }
        name = symbol.st_shndx == SHN_UNDEF
                   ? NULL
                   : elf_strptr(elf, header.sh_link, symbol.st_name);
        if (name != NULL) {
            wanted_take(wanted, name, &symbol);
        }
    }
}

int symboltable_ranges(const char *path,
                       const char *const *names,
                       size_t count,
                       struct symbol_range *ranges)
{
    struct wanted wanted = {names, ranges, count, 0};
    Elf_Scn *section = NULL;
    int fd;
    Elf *elf = elf_open(path, ELF_C_READ, &fd);

    memset(ranges, 0, count * sizeof(*ranges));
    while (elf != NULL && (section = elf_nextscn(elf, section)) != NULL) {
        wanted_find(elf, section, &wanted);
    }
    ck_fd_close(fd);
    if (elf == NULL) {
        return -1;
    }
    (void)elf_end(elf);
    return wanted.found;
}

CK_ORDER(function_compare, struct function, CK_UP(start) ?: CK_UP(size))

/* All functions of a symbol section. 0, or -1 with ENOMEM. */
static int functions_read(struct symboltable *table, Elf_Scn *section)
{
    GElf_Shdr header;
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count;

    if (data == NULL || gelf_getshdr(section, &header) == NULL ||
        header.sh_entsize == 0) {
        return 0;
    }
    count = header.sh_size / header.sh_entsize;
    table->functions = calloc(count + 1, sizeof(*table->functions));
    if (table->functions == NULL) {
        return -1;
    }
    for (size_t i = 0; i < count && i <= INT32_MAX; i++) {
        GElf_Sym symbol;
        unsigned type;
        const char *name;

        if (gelf_getsym(data, (int)i, &symbol) == NULL) {
            break;
        }
        type = GELF_ST_TYPE(symbol.st_info);
        if ((type != STT_FUNC && type != STT_GNU_IFUNC) ||
            symbol.st_shndx == SHN_UNDEF) {
            continue;
        }
        name = elf_strptr(table->elf, header.sh_link, symbol.st_name);
        if (name != NULL && name[0] != '\0') {
            table->functions[table->count++] =
                (struct function){symbol.st_value, symbol.st_size, name};
        }
    }
    return 0;
}

static bool is_lines(const char *section)
{
    return section != NULL && (strcmp(section, ".debug_line") == 0 ||
                               strcmp(section, ".zdebug_line") == 0);
}

/* .symtab, or .dynsym where the file was stripped. */
static int table_read(struct symboltable *table)
{
    Elf_Scn *section = NULL;
    Elf_Scn *chosen = NULL;
    GElf_Shdr header;
    size_t names = 0;

    (void)elf_getshdrstrndx(table->elf, &names);

    while ((section = elf_nextscn(table->elf, section)) != NULL) {
        if (gelf_getshdr(section, &header) == NULL) {
            continue;
        }
        table->has_lines =
            table->has_lines ||
            is_lines(elf_strptr(table->elf, names, header.sh_name));
        table->has_symtab = table->has_symtab || header.sh_type == SHT_SYMTAB;
        if (header.sh_type == SHT_SYMTAB ||
            (header.sh_type == SHT_DYNSYM && chosen == NULL)) {
            chosen = section;
        }
    }
    return chosen == NULL ? 0 : functions_read(table, chosen);
}

/* Is there a debug file by the name that this one gives, at one of the places
 * where libdwfl looks for it? */
static bool is_debug_here(const char *file, const char *link)
{
    static const char *const forms[] = {"%.*s%s", "%.*s.debug/%s",
                                        "/usr/lib/debug%.*s%s"};
    const char *slash =
        file == NULL || link == NULL ? NULL : strrchr(file, '/');
    bool is_here = false;

    for (size_t i = 0;
         slash != NULL && !is_here && i < sizeof(forms) / sizeof(forms[0]);
         i++) {
        char *path;

        if (asprintf(&path, forms[i], (int)(slash + 1 - file), file, link) >=
            0) {
            is_here = strcmp(path, file) != 0 && access(path, R_OK) == 0;
            free(path);
        }
    }
    return is_here;
}

/* The debug file, by its build id, else by its name. libdwfl's own search ends
 * with a question to servers: where that is switched off it still loads a
 * library for it, and all that this needs (4 ms). */
static int debug_find(Dwfl_Module *module,
                      void **state,
                      const char *name,
                      Dwarf_Addr base,
                      const char *file,
                      const char *link,
                      GElf_Word link_crc,
                      char **found)
{
    int fd = dwfl_build_id_find_debuginfo(module, state, name, base, file, link,
                                          link_crc, found);

    return fd < 0 && is_debug_here(file, link)
               ? dwfl_standard_find_debuginfo(module, state, name, base, file,
                                              link, link_crc, found)
               : fd;
}

static void lines_open(struct symboltable *table, const char *path)
{
    static char *debug_path; /* NULL: beside the file, /usr/lib/debug */
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = debug_find,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &debug_path,
    };

    table->dwfl = dwfl_begin(&callbacks);
    if (table->dwfl == NULL) {
        return;
    }
    dwfl_report_begin(table->dwfl);
    table->module = dwfl_report_elf(table->dwfl, path, path, -1, 0, true);
    (void)dwfl_report_end(table->dwfl, NULL, NULL);
}

/* Of a file that was stripped, the symbols of its debug file, if that is here:
 * then it is more than .dynsym has. 0, or -1 with ENOMEM. */
static int functions_debug(struct symboltable *table)
{
    int count =
        table->module == NULL ? -1 : dwfl_module_getsymtab(table->module);
    struct function *functions;
    size_t used = 0;

    if (count <= 0 || (size_t)count <= table->count) {
        return 0;
    }
    functions = calloc((size_t)count, sizeof(*functions));
    if (functions == NULL) {
        return -1;
    }
    for (int i = 0; i < count; i++) {
        GElf_Sym symbol;
        GElf_Addr address;
        GElf_Word section = SHN_UNDEF;
        const char *name = dwfl_module_getsym_info(
            table->module, i, &symbol, &address, &section, NULL, NULL);

        if (name != NULL && name[0] != '\0' && section != SHN_UNDEF &&
            (GELF_ST_TYPE(symbol.st_info) == STT_FUNC ||
             GELF_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC)) {
            functions[used++] =
                (struct function){address, symbol.st_size, name};
        }
    }
    if (used <= table->count) {
        free(functions);
        return 0;
    }
    free(table->functions);
    table->functions = functions;
    table->count = used;
    return 0;
}

struct symboltable *symboltable_create(const char *path, const char *build_id)
{
    struct symboltable *table = calloc(1, sizeof(*table));
    char now[SYMBOLTABLE_ID_BYTES];

    if (table == NULL) {
        return NULL;
    }
    table->elf = elf_open(path, ELF_C_READ_MMAP, &table->fd);
    if (table->elf == NULL) {
        goto error;
    }
    id_print(table->elf, now);
    if (strcmp(now, build_id) != 0) {
        errno = ESTALE;
        goto error;
    }
    if (table_read(table) != 0) {
        goto error;
    }
    if (table->fd >= 0) {
        lines_open(table, path);
    }
    if (!table->has_symtab && functions_debug(table) != 0) {
        goto error;
    }
    return table;
error:
    symboltable_destroy(table);
    return NULL;
}

void symboltable_destroy(struct symboltable *table)
{
    int saved = errno;

    if (table == NULL) {
        return;
    }
    dwfl_end(table->dwfl);
    free(table->units);
    free(table->functions);
    (void)elf_end(table->elf);
    ck_fd_close(table->fd);
    free(table);
    errno = saved;
}

CK_ORDER(unit_compare, struct unit, CK_UP(start))

static int unit_add(struct symboltable *table, const struct unit *unit)
{
    size_t count = table->unit_count;

    if ((count & (count - 1)) == 0) {
        size_t room = count == 0 ? 1 : 2 * count;
        struct unit *grown = realloc(table->units, room * sizeof(*unit));

        if (grown == NULL) {
            return -1;
        }
        table->units = grown;
    }
    table->units[table->unit_count++] = *unit;
    return 0;
}

static void units_read(struct symboltable *table)
{
    Dwarf_Die *die = NULL;
    Dwarf_Addr bias = 0;

    table->has_units = true;
    while ((die = dwfl_module_nextcu(table->module, die, &bias)) != NULL) {
        Dwarf_Addr base, start, end;
        ptrdiff_t at = 0;

        while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
            const struct unit unit = {start, end, *die};

            if (unit_add(table, &unit) != 0) {
                return;
            }
        }
    }
    table->unit_bias = bias;
    if (table->unit_count > 0) {
        qsort(table->units, table->unit_count, sizeof(*table->units),
              unit_compare);
    }
}

CK_BEFORE(units_begun, struct unit, uint64_t, a->start <= key)

/* The unit with the address, which is less table->unit_bias; NULL = none. */
static Dwarf_Die *unit_search(struct symboltable *table, uint64_t address)
{
    size_t low = units_begun(table->units, table->unit_count, address);

    return low > 0 && address < table->units[low - 1].end
               ? &table->units[low - 1].die
               : NULL;
}

static void unit_find(struct symboltable *table,
                      uint64_t address,
                      struct symbol_place *place)
{
    Dwarf_Die *unit;
    Dwarf_Line *line;
    int number = 0;

    if (!table->has_units) {
        units_read(table);
    }
    unit = unit_search(table, address - table->unit_bias);
    line = unit == NULL ? NULL
                        : dwarf_getsrc_die(unit, address - table->unit_bias);
    if (line != NULL && dwarf_lineno(line, &number) == 0 && number > 0) {
        place->file = dwarf_linesrc(line, NULL, NULL);
        place->line = (uint32_t)number;
    }
}

bool symboltable_has_lines(const struct symboltable *table)
{
    return table->has_lines;
}

/* The function that starts last at or before the address; if there are several,
 * the longest one. NULL = none. */
static const struct function *function_scan(const struct symboltable *table,
                                            uint64_t address)
{
    const struct function *best = NULL;

    for (size_t i = 0; i < table->count; i++) {
        const struct function *next = &table->functions[i];

        if (next->start <= address &&
            (best == NULL || function_compare(next, best) >= 0)) {
            best = next;
        }
    }
    return best;
}

CK_BEFORE(functions_begun, struct function, uint64_t, a->start <= key)

/* The same in a sorted table. */
static const struct function *function_search(const struct symboltable *table,
                                              uint64_t address)
{
    size_t low = functions_begun(table->functions, table->count, address);

    return low == 0 ? NULL : &table->functions[low - 1];
}

const char *symboltable_function(struct symboltable *table, uint64_t address)
{
    const struct function *found;

    if (table->finds == FINDS_UNSORTED && table->count > 0) {
        qsort(table->functions, table->count, sizeof(*table->functions),
              function_compare);
    }
    if (table->finds < FINDS_UNSORTED) {
        found = function_scan(table, address);
    } else {
        found = function_search(table, address);
    }
    table->finds += table->finds <= FINDS_UNSORTED;
    if (found == NULL ||
        (found->size != 0 && address - found->start >= found->size)) {
        return NULL;
    }
    return found->name;
}

/* What was inlined there. Not every file has a table of its units' addresses.
 */
static void inlined_put(struct symboltable *table,
                        uint64_t address,
                        struct symbol_place *place)
{
    ck_time_t began = ck_time_raw();
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = dwfl_module_addrdie(table->module, address, &bias);

    if (unit == NULL && table->has_units) {
        bias = table->unit_bias;
        unit = unit_search(table, address - bias);
    }
    if (unit != NULL) {
        place->inlined_count =
            inlined_find(unit, address - bias, place->inlined);
    }
    table->inlined_time += ck_time_raw() - began;
}

void symboltable_find(struct symboltable *table,
                      uint64_t address,
                      struct symbol_place *place)
{
    Dwfl_Line *line;

    *place =
        (struct symbol_place){.function = symboltable_function(table, address)};
    line = table->module == NULL ? NULL
                                 : dwfl_module_getsrc(table->module, address);
    if (line != NULL) {
        int number = 0;

        place->file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
        place->line = number > 0 ? (uint32_t)number : 0;
    } else if (table->module != NULL) {
        unit_find(table, address, place);
    }
    if (place->line > 0 && table->inlined_time < INLINED_TIME) {
        inlined_put(table, address, place);
    }
}
