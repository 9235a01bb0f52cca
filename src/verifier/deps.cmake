target_link_libraries(rondo_verifier PUBLIC PkgConfig::hwy)
