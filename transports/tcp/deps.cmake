target_link_libraries(rondo_transport_tcp PUBLIC PkgConfig::sodium)
