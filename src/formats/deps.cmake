target_link_libraries(rondo_formats PUBLIC PkgConfig::pugixml nlohmann_json::nlohmann_json)
