target_link_libraries(rondo_base PUBLIC spdlog::spdlog)
