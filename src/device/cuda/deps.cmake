target_link_libraries(rondo_device_cuda PUBLIC CUDA::cudart_static)
