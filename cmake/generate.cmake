# Generated code: it lives in the build folder and is never committed.

find_program(KF_RE2C re2c REQUIRED)
find_program(KF_LEMON lemon REQUIRED)
find_program(KF_PROTOC_C protoc-c REQUIRED)

function(kf_re2c input out)
  get_filename_component(stem ${input} NAME_WE)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/grammar/${stem}.c)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/grammar
    COMMAND ${KF_RE2C} -W -i --no-generation-date -o ${output} ${CMAKE_CURRENT_SOURCE_DIR}/${input}
    DEPENDS ${input} ${CMAKE_CURRENT_BINARY_DIR}/grammar/grammar.h)
  set(${out} ${output} PARENT_SCOPE)
endfunction()

# grammar.y gives grammar/grammar.c and grammar/grammar.h (the token numbers, the only ones there are).
function(kf_lemon input out)
  get_filename_component(stem ${input} NAME_WE)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/grammar)
  add_custom_command(OUTPUT ${folder}/${stem}.c ${folder}/${stem}.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${KF_LEMON} -q -l -d${folder} ${CMAKE_CURRENT_SOURCE_DIR}/${input}
    DEPENDS ${input})
  set(${out} ${folder}/${stem}.c PARENT_SCOPE)
endfunction()

# onnx/NAME.proto gives onnx/NAME.pb-c.c and .h.
function(kf_protobuf input out)
  get_filename_component(stem ${input} NAME_WE)
  get_filename_component(folder ${input} DIRECTORY)
  set(built ${CMAKE_CURRENT_BINARY_DIR}/${folder})
  add_custom_command(OUTPUT ${built}/${stem}.pb-c.c ${built}/${stem}.pb-c.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${built}
    COMMAND ${KF_PROTOC_C} --c_out=${built} -I${CMAKE_CURRENT_SOURCE_DIR}/${folder}
      ${CMAKE_CURRENT_SOURCE_DIR}/${input}
    DEPENDS ${input})
  set(${out} ${built}/${stem}.pb-c.c ${built}/${stem}.pb-c.h PARENT_SCOPE)
endfunction()

# kf_embed(NAME files… OUT var): the files as a table `const Embed NAME[]` of {path below the project, text
# (NUL-terminated), length}, ended by a NULL path; declared in compiler/base/embed.h.
function(kf_embed name)
  cmake_parse_arguments(EMBED "" "OUT" "" ${ARGN})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.c)
  set(paths)
  foreach(path ${EMBED_UNPARSED_ARGUMENTS})
    get_filename_component(path ${path} ABSOLUTE)
    list(APPEND paths ${path})
  endforeach()
  list(JOIN paths "|" joined)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${joined}" -DNAME=${name} -DROOT=${CMAKE_CURRENT_SOURCE_DIR}
      -DOUTPUT=${output} -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${paths} cmake/embed.cmake VERBATIM)
  set(${EMBED_OUT} ${output} PARENT_SCOPE)
endfunction()

# kf_table(device Device header files… OUT var): `const Device *const device_table[]`, NULL-terminated, of
# the `const Device device_STEM` that each file defines.
function(kf_table prefix type header)
  cmake_parse_arguments(TABLE "" "OUT" "" ${ARGN})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${prefix}_table.c)
  set(externs "")
  set(entries "")
  foreach(path ${TABLE_UNPARSED_ARGUMENTS})
    get_filename_component(stem ${path} NAME_WE)
    string(APPEND externs "extern const ${type} ${prefix}_${stem};\n")
    string(APPEND entries "    &${prefix}_${stem},\n")
  endforeach()
  file(GENERATE OUTPUT ${output} CONTENT
    "#include \"${header}\"\n#include <stddef.h>\n${externs}const ${type} *const ${prefix}_table[] = {\n${entries}    NULL,\n};\n")
  set(${TABLE_OUT} ${output} PARENT_SCOPE)
endfunction()

# kf_build_id(sources… OUT var): `const char build_id[]`, a hash of the sources.
function(kf_build_id)
  cmake_parse_arguments(ID "" "OUT" "" ${ARGN})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/build_id.c)
  list(JOIN ID_UNPARSED_ARGUMENTS "|" joined)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${joined}" -DOUTPUT=${output}
      -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/build-id.cmake
    DEPENDS ${ID_UNPARSED_ARGUMENTS} cmake/build-id.cmake VERBATIM)
  set(${ID_OUT} ${output} PARENT_SCOPE)
endfunction()
