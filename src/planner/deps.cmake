# Every algorithm has the same four functions, by the same names.
file(GLOB algorithms ${CMAKE_CURRENT_LIST_DIR}/algorithm_*.cpp)
set_source_files_properties(${algorithms} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
