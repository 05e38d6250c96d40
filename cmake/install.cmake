# The library in both forms, and `make install PREFIX=…`: program, worker, header, libraries, pkg-config
# file, man page. All rooms become one object in which nothing but kf_* is global, so that neither library
# has internal names to clash with a caller's.
get_property(objects GLOBAL PROPERTY KF_OBJECTS)
set(merged ${CMAKE_CURRENT_BINARY_DIR}/kfuse_merged.o)
add_custom_command(OUTPUT ${merged}
  COMMAND ${CMAKE_LINKER} -r -o ${merged} ${objects}
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=kf_* ${merged}
  DEPENDS ${objects} COMMAND_EXPAND_LISTS VERBATIM)

find_library(KF_SQLITE_SHARED sqlite3 REQUIRED)
add_library(kfuse_static STATIC ${merged})
add_library(kfuse_shared SHARED ${merged})
set_target_properties(kfuse_static kfuse_shared PROPERTIES OUTPUT_NAME kfuse LINKER_LANGUAGE C)
set_target_properties(kfuse_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
if(NOT KF_SANITIZE)
  target_link_options(kfuse_shared PRIVATE -Wl,--no-undefined)
endif()
target_link_libraries(kfuse_shared PRIVATE kf_flags ${KF_SQLITE_SHARED} Threads::Threads m ${CMAKE_DL_LIBS})

set(pkgconfig ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH KF_PC_PREFIX /${pkgconfig} /)
configure_file(kfuse.pc.in kfuse.pc @ONLY)

install(TARGETS kfuse kfuse-worker RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS kfuse_static kfuse_shared DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES kfuse.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/kfuse.pc DESTINATION ${pkgconfig})
install(FILES doc/kfuse.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
