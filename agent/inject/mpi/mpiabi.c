/* mpiabi.c - distinguish Open MPI from the MPICH family, read their values
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Data symbols are looked up in the global scope first, because a program
 * that is not position independent holds its own copy of them.
 */
#include "agent/inject/mpi/mpiabi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "agent/inject/inject.h"
#include "agent/inject/symbol.h"

/* The largest text of MPI_Get_library_version of the known libraries. */
#define VERSION_BYTES_MAX 8192

INJECT_ROOM struct mpi_abi mpi_abi;

static const char library_names[][24] = {
    "libmpi.so.40",       "libmpi.so.80",
    "libmpi.so.12",       "libmpich.so.12",
    "libmpichfort.so.12", "libmpi.so",
    "libmpich.so",        "libmpi_cray.so.12",
    "libmpi_mpifh.so.40", "libmpi_usempif08.so.40",
    "libmpi_abi.so.1",
};

/* Fortran's constants: the names that compilers give to a common block. */
static const char bottom_names[][24] = {
    "mpi_fortran_bottom_", "mpi_fortran_bottom", "mpi_fortran_bottom__",
    "MPI_FORTRAN_BOTTOM"};
static const char in_place_names[][24] = {
    "mpi_fortran_in_place_", "mpi_fortran_in_place", "mpi_fortran_in_place__",
    "MPI_FORTRAN_IN_PLACE"};
static const char ignore_names[][36] = {
    "mpi_fortran_status_ignore_",     "mpi_fortran_status_ignore",
    "mpi_fortran_status_ignore__",    "MPI_FORTRAN_STATUS_IGNORE",
    "mpi_fortran_statuses_ignore_",   "mpi_fortran_statuses_ignore",
    "mpi_fortran_statuses_ignore__",  "MPI_FORTRAN_STATUSES_IGNORE",
    "MPIR_F08_MPI_STATUS_IGNORE_OBJ", "MPIR_F08_MPI_STATUSES_IGNORE_OBJ"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static long fortran_bottom[COUNT(bottom_names)];
static long fortran_in_place[COUNT(in_place_names)];
static long fortran_ignore[COUNT(ignore_names)];

static void *library_symbol(const char *name)
{
    void *found = NULL;

    for (size_t i = 0; i < COUNT(library_names) && found == NULL; i++) {
        void *library = dlopen(library_names[i], RTLD_LAZY | RTLD_NOLOAD);

        if (library != NULL) {
            found = dlsym(library, name);
            (void)dlclose(library);
        }
    }
    return found;
}

void *mpi_abi_symbol(const char *name)
{
    void *found = symbol_next(name);

    return found != NULL ? found : library_symbol(name);
}

/* Those of library_names that are loaded, open once for many names: the loader
 * looks for each of the others in all its folders. */
struct libraries {
    void *handles[COUNT(library_names)]; /* NULL = not loaded */
};

static void libraries_open(struct libraries *libraries)
{
    for (size_t i = 0; i < COUNT(library_names); i++) {
        libraries->handles[i] =
            dlopen(library_names[i], RTLD_LAZY | RTLD_NOLOAD);
    }
}

static void libraries_close(const struct libraries *libraries)
{
    for (size_t i = 0; i < COUNT(library_names); i++) {
        if (libraries->handles[i] != NULL) {
            (void)dlclose(libraries->handles[i]);
        }
    }
}

static long data_symbol(const struct libraries *libraries, const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);

    for (size_t i = 0; i < COUNT(library_names) && found == NULL; i++) {
        if (libraries->handles[i] != NULL) {
            found = dlsym(libraries->handles[i], name);
        }
    }
    return (long)found;
}

static void fortran_find(const struct libraries *libraries)
{
    for (size_t i = 0; i < COUNT(bottom_names); i++) {
        fortran_bottom[i] = data_symbol(libraries, bottom_names[i]);
        fortran_in_place[i] = data_symbol(libraries, in_place_names[i]);
    }
    for (size_t i = 0; i < COUNT(ignore_names); i++) {
        fortran_ignore[i] = data_symbol(libraries, ignore_names[i]);
    }
}

/* One pointer of mpi_abi.call and the name of its function. */
struct call_name {
    size_t at;
    char name[40];
};
#define CALL_NAME(member, symbol)                                              \
    {                                                                          \
        offsetof(struct mpi_abi_calls, member), symbol                         \
    }

static const struct call_name call_names[] = {
    CALL_NAME(type_size, "PMPI_Type_size"),
    CALL_NAME(comm_size, "PMPI_Comm_size"),
    CALL_NAME(comm_remote_size, "PMPI_Comm_remote_size"),
    CALL_NAME(comm_rank, "PMPI_Comm_rank"),
    CALL_NAME(comm_test_inter, "PMPI_Comm_test_inter"),
    CALL_NAME(comm_group, "PMPI_Comm_group"),
    CALL_NAME(comm_remote_group, "PMPI_Comm_remote_group"),
    CALL_NAME(win_get_group, "PMPI_Win_get_group"),
    CALL_NAME(group_rank, "PMPI_Group_rank"),
    CALL_NAME(group_size, "PMPI_Group_size"),
    CALL_NAME(group_free, "PMPI_Group_free"),
    CALL_NAME(group_translate_ranks, "PMPI_Group_translate_ranks"),
    CALL_NAME(query_thread, "PMPI_Query_thread"),
    CALL_NAME(topo_test, "PMPI_Topo_test"),
    CALL_NAME(cartdim_get, "PMPI_Cartdim_get"),
    CALL_NAME(cart_shift, "PMPI_Cart_shift"),
    CALL_NAME(graph_neighbors_count, "PMPI_Graph_neighbors_count"),
    CALL_NAME(graph_neighbors, "PMPI_Graph_neighbors"),
    CALL_NAME(dist_graph_neighbors_count, "PMPI_Dist_graph_neighbors_count"),
    CALL_NAME(dist_graph_neighbors, "PMPI_Dist_graph_neighbors"),
};
static const struct call_name fortran_names[] = {
    CALL_NAME(comm_f2c, "PMPI_Comm_f2c"),
    CALL_NAME(type_f2c, "PMPI_Type_f2c"),
    CALL_NAME(request_f2c, "PMPI_Request_f2c"),
    CALL_NAME(message_f2c, "PMPI_Message_f2c"),
    CALL_NAME(win_f2c, "PMPI_Win_f2c"),
    CALL_NAME(group_f2c, "PMPI_Group_f2c"),
};

static bool calls_find(const struct call_name *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *found = mpi_abi_symbol(names[i].name);

        if (found == NULL) {
            return false;
        }
        memcpy((char *)&mpi_abi.call + names[i].at, &found, sizeof(found));
    }
    return true;
}

/* A library may have been built without files. */
static void files_find(void)
{
    void *get_group = mpi_abi_symbol("PMPI_File_get_group");
    void *f2c = mpi_abi_symbol("PMPI_File_f2c");

    if (get_group != NULL && f2c != NULL) {
        memcpy(&mpi_abi.call.file_get_group, &get_group, sizeof(get_group));
        memcpy(&mpi_abi.call.file_f2c, &f2c, sizeof(f2c));
    }
}

static void version_find(void)
{
    static INJECT_ROOM char text[VERSION_BYTES_MAX];
    union {
        void *object;
        int (*call)(char *, int *);
    } get = {mpi_abi_symbol("PMPI_Get_library_version")};
    int length = 0;
    char *end;

    if (get.object == NULL || get.call(text, &length) != 0) {
        return;
    }
    text[sizeof(text) - 1] = '\0';
    end = text + strcspn(text, ",\n");
    *end = '\0';
    for (char *c = text; *c != '\0'; c++) {
        if (*c < ' ') {
            *c = ' ';
        }
    }
    (void)snprintf(mpi_abi.version, sizeof(mpi_abi.version), "%.*s",
                   (int)sizeof(mpi_abi.version) - 1, text);
}

/* Does the version begin with this name and, behind blanks, number? */
static bool version_is(const char *name, const char *number)
{
    const char *rest = mpi_abi.version + strlen(name);

    if (strncmp(mpi_abi.version, name, strlen(name)) != 0) {
        return false;
    }
    rest += strspn(rest, " ");
    return strncmp(rest, number, strlen(number)) == 0;
}

static void openmpi_set(const struct libraries *libraries)
{
    mpi_abi.kind = MPI_ABI_OPENMPI;
    mpi_abi.handle_mask = ~(uint64_t)0;
    mpi_abi.handle_bytes = sizeof(uint64_t);
    mpi_abi.status_bytes = 24;
    mpi_abi.source_at = 0;
    mpi_abi.tag_at = 1;
    mpi_abi.comm_world =
        (uint64_t)data_symbol(libraries, "ompi_mpi_comm_world");
    mpi_abi.comm_self = (uint64_t)data_symbol(libraries, "ompi_mpi_comm_self");
    mpi_abi.comm_null = (uint64_t)data_symbol(libraries, "ompi_mpi_comm_null");
    mpi_abi.request_null =
        (uint64_t)data_symbol(libraries, "ompi_request_null");
    mpi_abi.datatype_null =
        (uint64_t)data_symbol(libraries, "ompi_mpi_datatype_null");
    mpi_abi.status_ignore = 0;
    mpi_abi.in_place = 1;
    mpi_abi.any_source = -1;
    mpi_abi.proc_null = -2;
    mpi_abi.root = -4;
    mpi_abi.undefined = -32766;
    mpi_abi.no_precede = 2;
    mpi_abi.cart = 1;
    mpi_abi.graph = 2;
    mpi_abi.dist_graph = 3;
    mpi_abi.f08_first = 1;
}

/* A handle of Fortran is the handle of C in the MPICH family. */
static long handle_same(int handle)
{
    return (long)(uint32_t)handle;
}

static void mpich_set(void)
{
    mpi_abi.kind = MPI_ABI_MPICH;
    mpi_abi.handle_mask = 0xffffffffu;
    mpi_abi.handle_bytes = sizeof(uint32_t);
    mpi_abi.status_bytes = 20;
    mpi_abi.source_at = 2;
    mpi_abi.tag_at = 3;
    mpi_abi.comm_world = 0x44000000;
    mpi_abi.comm_self = 0x44000001;
    mpi_abi.comm_null = 0x04000000;
    mpi_abi.request_null = 0x2c000000;
    mpi_abi.datatype_null = 0x0c000000;
    mpi_abi.status_ignore = 1;
    mpi_abi.in_place = -1;
    mpi_abi.any_source = -2;
    mpi_abi.proc_null = -1;
    mpi_abi.root = -3;
    mpi_abi.undefined = -32766;
    mpi_abi.call.comm_f2c = handle_same;
    mpi_abi.call.type_f2c = handle_same;
    mpi_abi.call.request_f2c = handle_same;
    mpi_abi.call.message_f2c = handle_same;
    mpi_abi.call.win_f2c = handle_same;
    mpi_abi.call.group_f2c = handle_same;
    mpi_abi.no_precede = 8192;
    mpi_abi.cart = 2;
    mpi_abi.graph = 1;
    mpi_abi.dist_graph = 3;
    /* MPICH 4.0 hands out the values of C there. */
    mpi_abi.f08_first = !version_is("MPICH Version:", "4.0.");
}

/* Families of libraries whose values are those of MPICH's binary interface. */
static bool version_is_mpich(void)
{
    return strncmp(mpi_abi.version, "MPICH", 5) == 0 ||
           strncmp(mpi_abi.version, "Intel(R) MPI", 12) == 0 ||
           strncmp(mpi_abi.version, "MVAPICH", 7) == 0 ||
           strstr(mpi_abi.version, "CRAY MPICH") != NULL;
}

/* The interface of MPI-5 has other values than the library's own, in a library
 * of its own: libmpi_abi.so.1, or the file that this is a link to. */
static bool is_standard_abi(void)
{
    static const char name[] = "libmpi_abi";
    const void *function = mpi_abi_symbol("PMPI_Get_library_version");
    const char *slash;
    Dl_info info;

    if (function == NULL || dladdr(function, &info) == 0) {
        return false;
    }
    slash = strrchr(info.dli_fname, '/');
    return strncmp(slash == NULL ? info.dli_fname : slash + 1, name,
                   sizeof(name) - 1) == 0;
}

/* What kind it is, and its values. */
static void kind_find(const struct libraries *libraries)
{
    if (strncmp(mpi_abi.version, "Open MPI", 8) == 0 &&
        calls_find(fortran_names, COUNT(fortran_names)) &&
        data_symbol(libraries, "ompi_mpi_comm_world") != 0 &&
        data_symbol(libraries, "ompi_request_null") != 0) {
        openmpi_set(libraries);
    } else if (version_is_mpich()) {
        mpich_set();
    }
    fortran_find(libraries);
}

void mpi_abi_find(void)
{
    struct libraries libraries;

    version_find();
    mpi_abi.is_standard = is_standard_abi();
    if (mpi_abi.is_standard || !calls_find(call_names, COUNT(call_names))) {
        return;
    }
    files_find();
    libraries_open(&libraries);
    kind_find(&libraries);
    libraries_close(&libraries);
}

/* Open MPI: source, tag, error, cancelled, size_t bytes. MPICH: the bytes in
 * two words, the cancelled bit lowest in the upper one, then the rest. */
struct mpi_status mpi_abi_status(const void *status)
{
    const int32_t *word = status;
    struct mpi_status result = {
        .peer = mpi_abi_peer(word[mpi_abi.source_at]),
        .tag = word[mpi_abi.tag_at],
    };

    if (mpi_abi.kind == MPI_ABI_OPENMPI) {
        memcpy(&result.bytes, word + 4, sizeof(result.bytes));
        result.is_cancelled = word[3] != 0;
    } else {
        result.bytes =
            (uint32_t)word[0] | (uint64_t)(uint32_t)word[1] >> 1 << 32;
        result.is_cancelled = (word[1] & 1) != 0;
    }
    return result;
}

static bool is_one_of(const long *addresses, size_t count, long address)
{
    for (size_t i = 0; i < count; i++) {
        if (addresses[i] != 0 && addresses[i] == address) {
            return true;
        }
    }
    return false;
}

long mpi_abi_fortran_buffer(long address)
{
    if (is_one_of(fortran_in_place, COUNT(fortran_in_place), address)) {
        return mpi_abi.in_place;
    }
    return is_one_of(fortran_bottom, COUNT(fortran_bottom), address) ? 0
                                                                     : address;
}

bool mpi_abi_fortran_ignores(long status)
{
    return is_one_of(fortran_ignore, COUNT(fortran_ignore), status);
}
