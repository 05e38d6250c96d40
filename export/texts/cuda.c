/* --- the driver, loaded when it is wanted */

typedef struct Attribute {
    uint32_t id, padding;
    union {
        uint32_t cluster[3];
        int32_t early;
        char size[64];
    } value;
} Attribute;

typedef struct Config {
    uint32_t grid[3], block[3], shared;
    void *stream;
    Attribute *attributes;
    uint32_t attribute_count;
} Config;

enum {
    ATTRIBUTE_CLUSTER = 4,
    ATTRIBUTE_EARLY = 6,
    FUNCTION_SHARED = 8,
    FUNCTION_LARGE_CLUSTER = 14,
    DEVICE_SMS = 16,
    DEVICE_MAJOR = 75,
    DEVICE_MINOR = 76,
    SHARED_WITHOUT_ASKING = 48 << 10,
    CLUSTER_WITHOUT_ASKING = 8,
    ENTRIES = sizeof entries / sizeof *entries
};

struct @NAME@_Kernel {
    void *library;
    int (*context_device)(int *);
    int (*device_attribute)(int *, int, int);
    int (*module_load)(void **, const void *);
    int (*module_function)(void **, void *, const char *);
    int (*module_unload)(void *);
    int (*function_attribute)(void *, int, int);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  void *, void **, void **);
    int (*launch_config)(const Config *, void *, void **, void **); /* NULL before CUDA 11.8 */
    void *modules[FILES];
    void *functions[ENTRIES][2]; /* the entry and its twin, or NULL */
    int arch, loaded, sms;       /* of the device, of the binary it runs */
};

static bool find(void *library, const char *name, void *function) {
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static bool load_driver(@NAME@_Kernel *k) {
    k->library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!k->library) return false;
    find(k->library, "cuLaunchKernelEx", &k->launch_config);
    return find(k->library, "cuCtxGetDevice", &k->context_device) &&
           find(k->library, "cuDeviceGetAttribute", &k->device_attribute) &&
           find(k->library, "cuModuleLoadData", &k->module_load) &&
           find(k->library, "cuModuleGetFunction", &k->module_function) &&
           find(k->library, "cuModuleUnload", &k->module_unload) &&
           find(k->library, "cuFuncSetAttribute", &k->function_attribute) &&
           find(k->library, "cuLaunchKernel", &k->launch);
}

static bool read_device(@NAME@_Kernel *k) {
    int device, major, minor;
    if (k->context_device(&device) || k->device_attribute(&major, DEVICE_MAJOR, device) ||
        k->device_attribute(&minor, DEVICE_MINOR, device) ||
        k->device_attribute(&k->sms, DEVICE_SMS, device))
        return false;
    k->arch = 10 * major + minor;
    return true;
}

/* A binary of the device's own major version and the nearest minor one; else PTX, which the driver
 * compiles. */
static const Binary *choose_binary(const @NAME@_Kernel *k, int file) {
    const Binary *best = NULL;
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++) {
        const Binary *b = &binaries[i];
        bool runs = b->file == file && b->arch <= k->arch && (b->ptx || b->arch / 10 == k->arch / 10);
        if (runs && (!best || best->ptx > b->ptx || (best->ptx == b->ptx && best->arch < b->arch)))
            best = b;
    }
    return best;
}

static bool load_modules(@NAME@_Kernel *k) {
    for (int file = 0; file < FILES; file++) {
        const Binary *binary = choose_binary(k, file);
        if (!binary || k->module_load(&k->modules[file], binary->bytes)) return false;
        k->loaded = binary->arch;
    }
    for (int i = 0; i < ENTRIES; i++) {
        void *module = k->modules[entries[i].file];
        if (k->module_function(&k->functions[i][0], module, entries[i].name)) return false;
        if (entries[i].twin && k->module_function(&k->functions[i][1], module, entries[i].twin))
            return false;
    }
    return true;
}

int @NAME@_open(@NAME@_Kernel **kernel) {
    @NAME@_Kernel *k = calloc(1, sizeof *k);
    int code = KF_CALL_OK;
    *kernel = NULL;
    if (!k) return KF_CALL_MEMORY;
    if (!load_driver(k))
        code = KF_CALL_DRIVER;
    else if (!read_device(k) || !load_modules(k))
        code = KF_CALL_DEVICE;
    if (code == KF_CALL_OK)
        *kernel = k;
    else
        @NAME@_close(k);
    return code;
}

void @NAME@_close(@NAME@_Kernel *k) {
    if (!k) return;
    for (int file = 0; file < FILES; file++)
        if (k->modules[file]) k->module_unload(k->modules[file]);
    if (k->library) dlclose(k->library);
    free(k);
}

/* --- launching */

static uint32_t add_attributes(const @NAME@_Kernel *k, const Launch *launch, Attribute *list) {
    uint32_t count = 0;
    if (launch->cluster > 1) {
        list[count].id = ATTRIBUTE_CLUSTER;
        list[count].value.cluster[0] = (uint32_t)launch->cluster;
        list[count].value.cluster[1] = list[count].value.cluster[2] = 1;
        count++;
    }
    if (launch->dependent && k->arch >= 90 && k->launch_config) {
        list[count].id = ATTRIBUTE_EARLY;
        list[count++].value.early = 1;
    }
    return count;
}

static int ask(const @NAME@_Kernel *k, void *function, const Launch *launch) {
    int refused = 0;
    if (launch->shared > SHARED_WITHOUT_ASKING)
        refused = k->function_attribute(function, FUNCTION_SHARED, (int)launch->shared);
    if (!refused && launch->cluster > CLUSTER_WITHOUT_ASKING)
        refused = k->function_attribute(function, FUNCTION_LARGE_CLUSTER, 1);
    return refused;
}

/* Aligned arrays of a legal shape go to the entry, others to its twin, if it has one. */
static int enqueue(const Call *call, const Launch *launch, void **args) {
    const @NAME@_Kernel *k = call->kernel;
    bool aligned = launch->address % entries[launch->entry].alignment == 0;
    void *function = k->functions[launch->entry][aligned && launch->legal ? 0 : 1];
    Attribute attributes[2] = {{0}};
    Config config = {.shared = (uint32_t)launch->shared, .stream = call->stream, .attributes = attributes};
    if (!function) return launch->legal ? KF_CALL_ALIGNMENT : KF_CALL_SHAPE;
    for (int i = 0; i < 3; i++) {
        if (launch->grid[i] == 0) return KF_CALL_OK;
        if (launch->grid[i] > (i ? 65535 : INT32_MAX)) return KF_CALL_SIZE;
        config.grid[i] = (uint32_t)launch->grid[i];
        config.block[i] = (uint32_t)launch->block[i];
    }
    if (ask(k, function, launch)) return KF_CALL_LAUNCH;
    config.attribute_count = add_attributes(k, launch, attributes);
    if (config.attribute_count && !k->launch_config) return KF_CALL_DRIVER;
    int refused = config.attribute_count
                      ? k->launch_config(&config, function, args, NULL)
                      : k->launch(function, config.grid[0], config.grid[1], config.grid[2],
                                  config.block[0], config.block[1], config.block[2], config.shared,
                                  call->stream, args, NULL);
    return refused ? KF_CALL_LAUNCH : KF_CALL_OK;
}
