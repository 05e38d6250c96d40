# make install PREFIX=…: program, worker, header, libraries, pkg-config file, man page.
install(TARGETS kfuse RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS kfuse-worker RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES kfuse.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
