// Stands for a GPU's driver, of whose memory it takes every buffer to be: what FUNCTION, its name in CUDA or HIP, says.
int FUNCTION(unsigned count, const int* attributes, void** values, unsigned long long pointer) {
  (void)pointer;
  for (unsigned i = 0; i < count; ++i) {
    const int is_type = attributes[i] == 2;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
    *(unsigned*)values[i] = is_type ? 2 : 0;  // CU_MEMORYTYPE_DEVICE; not managed
  }
  return 0;
}
