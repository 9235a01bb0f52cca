target_link_libraries(rondo_bootstrap PUBLIC PkgConfig::sodium)
