const char *@NAME@_error(int status) {
    static const char *const messages[] = {
        "done",
        "no data where there are elements",
        "an array has another type than the kernel",
        "a rank or extent does not fit, or was not compiled for",
        "strides that were not compiled for",
        "data is not aligned to its elements",
        "an output overlaps another array",
        "larger than the kernel's indices reach",
        "too little workspace, or it is not aligned to 256 bytes",
        "no CUDA driver, or one that is too old",
        "no binary for the current device, or no current context",
        "the launch was refused",
        "out of memory",
        "fewer than one thread"};
    return status >= 0 && status < (int)(sizeof messages / sizeof *messages) ? messages[status]
                                                                             : "no such status";
}
