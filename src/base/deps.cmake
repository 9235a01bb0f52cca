target_link_libraries(rondo_base PUBLIC spdlog::spdlog nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})
