#include "transport/ccl_library.hpp"

#include <string>

#include "base/error.hpp"

namespace commlens::transport {

CclLibrary load_ccl() { return CclLibrary(dlopen(COMMLENS_CCL_FILE, RTLD_NOW | RTLD_LOCAL)); }

void* ccl_library() {
  static void* const loaded = load_ccl().release();
  return loaded;
}

void* address_in_ccl(const char* function) {
  void* preloaded = dlsym(RTLD_DEFAULT, function);
  return preloaded != nullptr ? preloaded : dlsym(ccl_library(), function);
}

void check_ccl(ncclResult_t status, const char* call) {
  if (status == ncclSuccess) return;
  const char* detail = CCL_FUNCTION(ncclGetLastError)(nullptr);
  throw Error(std::string(call) + " of " COMMLENS_CCL_NAME ": " + CCL_FUNCTION(ncclGetErrorString)(status) +
              (detail != nullptr && *detail != '\0' ? std::string(" (") + detail + ")" : std::string()));
}

}  // namespace commlens::transport
