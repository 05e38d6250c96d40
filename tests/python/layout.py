"""Structures and constants of kfuse_library.py beside those of kfuse.h, as a C compiler has them."""
import ctypes
import os
import re
import subprocess
import tempfile
import unittest

import support
import kfuse_library as kf

STRUCTURES = [value for value in vars(kf).values() if isinstance(value, type) and issubclass(value, ctypes.Structure)]
CONSTANTS = [name for name, value in vars(kf).items() if name.startswith("KF_") and isinstance(value, int)]


def ask_compiler(lines):
    """Numbers by name, of a C program that prints expressions."""
    body = "".join(f'    printf("{name} %lld\\n", (long long)({expression}));\n' for name, expression in lines)
    source = f'#include <stddef.h>\n#include <stdio.h>\n#include "kfuse.h"\nint main(void) {{\n{body}    return 0;\n}}\n'
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "layout.c")
        with open(path, "w") as file:
            file.write(source)
        subprocess.run([os.environ.get("CC", "cc"), "-std=c11", f"-I{support.SOURCE}", path, "-o", path[:-2]], check=True)
        printed = subprocess.run([path[:-2]], check=True, capture_output=True, text=True).stdout
    return {name: int(value) for name, value in map(str.split, printed.splitlines())}


def header_fields(name):
    """The members of a structure in kfuse.h, in order."""
    with open(os.path.join(support.SOURCE, "kfuse.h")) as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    body = re.search(r"typedef struct %s \{(.*?)\n?\} %s;" % (name, name), text, re.S).group(1)
    body = re.sub(r"\(\*(\w+)\)\([^)]*\)", r"\1", body)
    return [re.search(r"(\w+)(\[\w+\])?$", word.strip()).group(1)
            for declaration in body.split(";") if declaration.strip() for word in declaration.split(",")]


class Layout(unittest.TestCase):
    def test_offsets_and_sizes(self):
        lines = [(s.__name__, f"sizeof({s.__name__})") for s in STRUCTURES]
        lines += [(f"{s.__name__}.{f}", f"offsetof({s.__name__}, {f})") for s in STRUCTURES for f, _ in s._fields_]
        lines += [(f"{s.__name__}:{f}", f"sizeof((({s.__name__} *)0)->{f})") for s in STRUCTURES for f, _ in s._fields_]
        asked = ask_compiler(lines)
        self.assertEqual(len(STRUCTURES), 6)
        for structure in STRUCTURES:
            name = structure.__name__
            self.assertEqual(ctypes.sizeof(structure), asked[name], name)
            for field, _ in structure._fields_:
                place, expected = getattr(structure, field), (asked[f"{name}.{field}"], asked[f"{name}:{field}"])
                self.assertEqual((place.offset, place.size), expected, f"{name}.{field}")

    def test_every_member_is_there(self):
        for structure in STRUCTURES:
            self.assertEqual([field for field, _ in structure._fields_], header_fields(structure.__name__), structure.__name__)

    def test_constants(self):
        asked = ask_compiler([(name, name) for name in CONSTANTS])
        self.assertGreater(len(CONSTANTS), 25)
        self.assertEqual({name: getattr(kf, name) for name in CONSTANTS}, asked)

    def test_version(self):
        with open(os.path.join(support.SOURCE, "kfuse.h")) as file:
            self.assertIn(f'#define KF_VERSION "{kf.VERSION.decode()}"', file.read())
        self.assertEqual(kf.library().kf_version(), kf.VERSION)


support.main()
