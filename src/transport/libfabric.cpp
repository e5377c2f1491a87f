#include "transport/libfabric.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

namespace commlens::transport {

namespace {

/// fi_fabric() is given nothing of ours: what it has opened belongs to the process.
struct Opened {
  std::mutex mutex;
  std::vector<std::string> providers;
};
Opened& opened() {
  static Opened opened;
  return opened;
}

}  // namespace

std::string opened_providers() {
  Opened& all = opened();
  const std::scoped_lock lock(all.mutex);
  std::string text;
  for (const std::string& provider : all.providers) text += (text.empty() ? "" : ", ") + provider;
  return text;
}

}  // namespace commlens::transport

/// As in rdma/fabric.h, whose layout has not changed since libfabric 1.0.
struct fi_fabric_attr {
  void* fabric;
  char* name;
  char* prov_name;
  std::uint32_t prov_version;
  std::uint32_t api_version;
};

/// In place of libfabric's own, as the program exports it: opens the fabric, and keeps the provider's name.
extern "C" int fi_fabric(fi_fabric_attr* attributes, void** fabric, void* context) {
  constexpr int no_such_function = -38;  // -FI_ENOSYS
  void* library = dlopen("libfabric.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return no_such_function;
  auto* open = reinterpret_cast<decltype(&fi_fabric)>(dlsym(library, "fi_fabric"));
  static thread_local int depth = 0;  // a provider may open another one that it is layered over
  ++depth;
  const int status = open == nullptr ? no_such_function : open(attributes, fabric, context);
  --depth;
  dlclose(library);
  if (depth > 0 || status != 0 || attributes == nullptr || attributes->prov_name == nullptr) return status;
  auto& all = commlens::transport::opened();
  const std::scoped_lock lock(all.mutex);
  const std::string provider = attributes->prov_name;
  if (std::find(all.providers.begin(), all.providers.end(), provider) == all.providers.end()) {
    all.providers.push_back(provider);
  }
  return status;
}
