target_link_libraries(rondo_bootstrap PUBLIC PkgConfig::sodium)
target_include_directories(rondo_bootstrap SYSTEM PRIVATE ${pmix_INCLUDE_DIRS})
