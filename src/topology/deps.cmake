target_link_libraries(rondo_topology PUBLIC PkgConfig::hwloc PkgConfig::pugixml nlohmann_json::nlohmann_json)
