// Stands in for device/gpu/ in a build without a GPU backend.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "device/device.hpp"

namespace commlens::device {

std::string_view backend() { return "host"; }
int gpu_count() { return 0; }
std::vector<GpuProperties> gpus() { return {}; }
std::vector<std::pair<std::string, std::string>> gpu_versions() { return {}; }

std::unique_ptr<Device> open_gpu(int /*ordinal*/) {
  throw Error("this build has no GPU backend; configure with the preset cuda or hip");
}

}  // namespace commlens::device
