# The front door; CMake does the work (CMakePresets.json). `make demo` needs nothing but a C compiler's machine.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)

.PHONY: all demo check check-all install clean deps test-deps

all: deps
	cmake --preset release
	cmake --build build/release -j $(JOBS)

demo: all
	build/release/kfuse 'relu(x+res)' --shape 4096x4096

check: test-deps
	cmake --preset ci
	cmake --build build/release -j $(JOBS)
	ctest --test-dir build/release --output-on-failure -j $(JOBS)

# Sanitizers, slow tests and the layout of the text too.
check-all: test-deps
	cmake --preset asan
	cmake --build build/asan -j $(JOBS)
	ctest --test-dir build/asan --output-on-failure -j $(JOBS)
	cmake --preset tsan
	cmake --build build/tsan -j $(JOBS)
	ctest --test-dir build/tsan --output-on-failure -j $(JOBS) -R '^(unit[.](base|launcher|library|pool)|example[.](embed|threads))$$'
	cmake --preset ci
	cmake --build build/release -j $(JOBS)
	KF_CHECK_ALL=1 ctest --test-dir build/release --output-on-failure -j $(JOBS) -C slow
	scripts/check-format.sh

install: all
	cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build

deps:
	@scripts/install-deps.sh

test-deps:
	@scripts/install-deps.sh tests
