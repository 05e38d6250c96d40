/* In: the kernel driver's files, or the driver. Out: how many GPUs, and the identity of one. The
 * idea: cuInit costs 0.2 s, more than all else in a run that is answered from the store, so files
 * answer first. */
#include "tuner/cuda_identity.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/cuda_driver.h"
#include "tuner/cuda_nvrtc.h"

#define DRIVER_FILES "/proc/driver/nvidia"

/* Text behind `label` in a file of "Label:  value" lines, trimmed; "" if it is not there. */
static void read_field(const char *path, const char *label, char *value, size_t size) {
    char line[512];
    FILE *file = fopen(path, "re");
    value[0] = 0;
    while (file && !value[0] && fgets(line, sizeof line, file)) {
        if (strncmp(line, label, strlen(label)) != 0) continue;
        const char *at = line + strlen(label);
        at += strspn(at, " \t");
        snprintf(value, size, "%.*s", (int)strcspn(at, "\n"), at);
    }
    if (file) fclose(file);
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Tue …" -> "580.159.04" */
static void driver_version(const char *root, char *version, size_t size) {
    char path[512], line[256];
    snprintf(path, sizeof path, "%.400s/version", root);
    read_field(path, "NVRM version:", line, sizeof line);
    version[0] = 0;
    for (const char *at = line; *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        size_t length = strspn(at, "0123456789.");
        if (length > 2 && memchr(at, '.', length) && (at[length] == ' ' || !at[length])) {
            snprintf(version, size, "%.*s", (int)length, at);
            return;
        }
    }
}

/* Counts the GPUs' folders; gives the model and UUID of the last, and whether all are of one model.
 */
typedef struct Gpus {
    int count;
    bool mixed;
    char model[96], uuid[64];
} Gpus;

static bool read_gpus(const char *root, Gpus *gpus) {
    char path[1024], model[96];
    *gpus = (Gpus){0};
    snprintf(path, sizeof path, "%.400s/gpus", root);
    DIR *folder = opendir(path);
    if (!folder) return false;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%.400s/gpus/%.255s/information", root, entry->d_name);
        read_field(path, "Model:", model, sizeof model);
        read_field(path, "GPU UUID:", gpus->uuid, sizeof gpus->uuid);
        gpus->mixed = gpus->mixed || (gpus->count > 0 && strcmp(model, gpus->model) != 0);
        snprintf(gpus->model, sizeof gpus->model, "%s", model);
        gpus->count++;
    }
    closedir(folder);
    return gpus->count > 0 && gpus->model[0];
}

/* Entries of CUDA_VISIBLE_DEVICES up to one that hides the rest ("-1", ""). */
static int count_visible(const char *visible) {
    int count = 0;
    while (*visible && *visible != '-' && *visible != ',') {
        count++;
        visible += strcspn(visible, ",");
        visible += *visible == ',';
    }
    return count;
}

int cuda_count_files(const char *root, const char *visible) {
    Gpus gpus;
    if (!read_gpus(root, &gpus)) return -1;
    int count = visible ? count_visible(visible) : gpus.count;
    return count < gpus.count ? count : gpus.count;
}

int cuda_count(Why *why) {
    Cuda cuda;
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (!cuda_load(&cuda, why)) return 0;
    int count = cuda_count_files(DRIVER_FILES, visible);
    if (count < 0) { /* WSL and Tegra have no such files */
        if (!cuda_check(&cuda, cuda.Init(0), "the NVIDIA driver does not start", why)) return 0;
        if (cuda.DeviceGetCount(&count) != CUDA_SUCCESS) count = 0;
    }
    if (count == 0)
        why_set(why, visible ? "CUDA_VISIBLE_DEVICES hides every GPU"
                             : "the NVIDIA driver finds no GPU");
    return count;
}

/* --- identity */

static bool name_compiler(DeviceIdentity *identity, const char *driver, Why *why) {
    Nvrtc nvrtc;
    if (!nvrtc_load(&nvrtc, why)) return false;
    nvrtc_print(&nvrtc, identity->compiler, sizeof identity->compiler);
    snprintf(identity->software, sizeof identity->software, "NVRTC %d.%d, driver %s", nvrtc.major,
             nvrtc.minor, driver);
    return true;
}

bool cuda_identify_files(const char *root, const char *visible, int index, DeviceIdentity *identity,
                         Why *why) {
    Gpus gpus;
    char driver[32];
    *identity = (DeviceIdentity){0};
    driver_version(root, driver, sizeof driver);
    if (!read_gpus(root, &gpus) || !driver[0])
        return why_set(why, "the driver's files do not tell what cuda:%d is", index);
    if (gpus.mixed || visible || index >= gpus.count)
        return why_set(why, "only the driver can tell which GPU is cuda:%d", index);
    if (!name_compiler(identity, driver, why)) return false;
    snprintf(identity->title, sizeof identity->title, "%s (cuda:%d)", gpus.model, index);
    snprintf(identity->key, sizeof identity->key, "files: %.80s, %.48s, driver %.31s, %.60s",
             gpus.model, gpus.count == 1 ? gpus.uuid : "one of several", driver,
             identity->compiler);
    return true;
}

static int attribute(const Cuda *cuda, CUdevice device, CUdevice_attribute name) {
    int value = 0;
    return cuda->DeviceGetAttribute(&value, name, device) == CUDA_SUCCESS ? value : 0;
}

static void read_limits(const Cuda *cuda, CUdevice device, DeviceIdentity *identity) {
    size_t memory = 0;
    cuda->DeviceTotalMem(&memory, device);
    identity->memory = (int64_t)memory;
    identity->cache = attribute(cuda, device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    identity->sms = attribute(cuda, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    identity->registers_per_block =
        attribute(cuda, device, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
    identity->shared_per_block =
        attribute(cuda, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    identity->threads_per_block =
        attribute(cuda, device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
}

static void read_names(const Cuda *cuda, CUdevice device, int index, DeviceIdentity *identity) {
    char name[64] = "GPU";
    int major = attribute(cuda, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    int minor = attribute(cuda, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    cuda->DeviceGetName(name, sizeof name, device);
    snprintf(identity->arch, sizeof identity->arch, "sm_%d%d", major, minor);
    snprintf(identity->title, sizeof identity->title, "%s (cuda:%d, %.15s, %d SMs)", name, index,
             identity->arch, identity->sms);
    snprintf(identity->key, sizeof identity->key, "cuda %d.%d, %d SMs, memory %d kHz x %d bits",
             major, minor, identity->sms,
             attribute(cuda, device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
             attribute(cuda, device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
}

static void driver_text(const Cuda *cuda, char *text, size_t size) {
    int version = 0;
    driver_version(DRIVER_FILES, text, size);
    if (text[0]) return;
    cuda->DriverGetVersion(&version);
    snprintf(text, size, "for CUDA %d.%d", version / 1000, version % 1000 / 10);
}

static bool identify_started(int index, DeviceIdentity *identity, Why *why) {
    Cuda cuda;
    CUdevice device;
    char driver[32];
    *identity = (DeviceIdentity){0};
    if (!cuda_load(&cuda, why)) return false;
    driver_text(&cuda, driver, sizeof driver);
    if (!name_compiler(identity, driver, why))
        return false; /* while another thread starts the driver */
    if (!cuda_check(&cuda, cuda.Init(0), "the NVIDIA driver does not start", why)) return false;
    if (!cuda_check(&cuda, cuda.DeviceGet(&device, index), "no such CUDA device", why))
        return false;
    read_limits(&cuda, device, identity);
    read_names(&cuda, device, index, identity);
    return true;
}

bool cuda_identify(int index, bool start, DeviceIdentity *identity, Why *why) {
    if (start) return identify_started(index, identity, why);
    return cuda_identify_files(DRIVER_FILES, getenv("CUDA_VISIBLE_DEVICES"), index, identity, why);
}
