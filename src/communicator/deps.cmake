target_link_libraries(rondo_communicator PUBLIC nlohmann_json::nlohmann_json)
if(RONDO_HAS_UCX)
  target_compile_definitions(rondo_communicator PRIVATE RONDO_HAS_UCX)
endif()
