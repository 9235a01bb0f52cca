# librondo, shared (with a SONAME) and static, from the same objects; installation, CMake package and pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(objects "")
set(module_dependencies "")
foreach(module IN LISTS RONDO_MODULES)
  list(APPEND objects $<TARGET_OBJECTS:${module}>)
  get_target_property(links ${module} LINK_LIBRARIES)
  list(REMOVE_ITEM links rondo_options)
  list(APPEND module_dependencies ${links})
endforeach()
list(REMOVE_DUPLICATES module_dependencies)

add_library(rondo SHARED ${objects})
set_target_properties(rondo PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_link_options(rondo PRIVATE LINKER:-Bsymbolic-functions)  # its functions call one another without a detour
add_library(rondo_static STATIC ${objects})
set_target_properties(rondo_static PROPERTIES OUTPUT_NAME rondo)
foreach(library rondo rondo_static)
  # Only the headers of include/rondo are public; what the library is built with stays its own.
  target_link_libraries(${library} PRIVATE $<BUILD_INTERFACE:${module_dependencies}> $<BUILD_INTERFACE:rondo_options>)
  target_link_libraries(${library} PUBLIC Threads::Threads)
  target_include_directories(${library} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${library} PUBLIC cxx_std_20)
endforeach()

install(TARGETS rondo rondo_static EXPORT rondo-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/rondo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT rondo-targets NAMESPACE rondo:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rondo)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/rondo-config.cmake.in ${CMAKE_BINARY_DIR}/rondo-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rondo)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/rondo-config-version.cmake COMPATIBILITY SameMinorVersion)
# Relative, so that an installed tree can be moved and `cmake --install --prefix` holds.
file(RELATIVE_PATH RONDO_PC_PREFIX /p/${CMAKE_INSTALL_LIBDIR}/pkgconfig /p)
configure_file(${CMAKE_CURRENT_LIST_DIR}/rondo.pc.in ${CMAKE_BINARY_DIR}/rondo.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/rondo-config.cmake ${CMAKE_BINARY_DIR}/rondo-config-version.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rondo)
install(FILES ${CMAKE_BINARY_DIR}/rondo.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The installed programs find the library that lies beside them.
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
