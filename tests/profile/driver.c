// Replaces the GPU driver's FUNCTION (its name in CUDA or HIP) and reports every buffer as device
// memory.
int FUNCTION(unsigned count, const int* attributes, void** values, unsigned long long pointer) {
  (void)pointer;
  for (unsigned i = 0; i < count; ++i) {
    const int is_type = attributes[i] == 2;   // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
    *(unsigned*)values[i] = is_type ? 2 : 0;  // CU_MEMORYTYPE_DEVICE; not managed
  }
  return 0;
}
