target_include_directories(rondo_transport_ucx SYSTEM PUBLIC ${ucx_INCLUDE_DIRS})
