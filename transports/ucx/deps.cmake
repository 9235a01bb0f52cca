target_link_libraries(rondo_transport_ucx PUBLIC PkgConfig::ucx)
