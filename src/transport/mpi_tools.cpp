#include "transport/mpi_tools.hpp"

#include <mpi.h>

#include <array>
#include <iterator>
#include <regex>

namespace commlens::transport {

#if COMMLENS_MPI_HAS_TOOL_INTERFACE
ToolInterface::ToolInterface(ThreadLevel level) {
  int provided = MPI_THREAD_SINGLE;
  is_usable_ = MPI_T_init_thread(native(level), &provided) == MPI_SUCCESS;
}

ToolInterface::~ToolInterface() {
  if (is_usable_) MPI_T_finalize();
}

std::vector<std::string> ToolInterface::categories() const {
  std::vector<std::string> names;
  int count = 0;
  if (!is_usable_ || MPI_T_category_get_num(&count) != MPI_SUCCESS) return names;
  for (int index = 0; index < count; ++index) {
    std::array<char, 256> name{};
    auto length = static_cast<int>(name.size());
    int no_description = 0;
    int controls = 0;
    int performance = 0;
    int inner = 0;
    const int status =
        MPI_T_category_get_info(index, name.data(), &length, nullptr, &no_description, &controls, &performance, &inner);
    if (status == MPI_SUCCESS && controls > 0) names.emplace_back(name.data());
  }
  return names;
}

std::string ToolInterface::value_of(const std::string& variable) const {
  int index = 0;
  if (!is_usable_ || MPI_T_cvar_get_index(variable.c_str(), &index) != MPI_SUCCESS) return "";
  std::array<char, 8192> description{};
  auto length = static_cast<int>(description.size());
  int no_name = 0;
  int verbosity = 0;
  int bind = 0;
  int scope = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum values = MPI_T_ENUM_NULL;
  MPI_T_cvar_get_info(index, nullptr, &no_name, &verbosity, &type, &values, description.data(), &length, &bind, &scope);
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  int count = 0;
  if (type != MPI_INT || MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) return "";
  int value = 0;
  const int status = MPI_T_cvar_read(handle, &value);
  MPI_T_cvar_handle_free(&handle);
  return status == MPI_SUCCESS ? named_value(description.data(), value) : "";
}
#else
ToolInterface::ToolInterface(ThreadLevel /*level*/) {}
ToolInterface::~ToolInterface() = default;
std::vector<std::string> ToolInterface::categories() const { return {}; }
std::string ToolInterface::value_of(const std::string& /*variable*/) const { return {}; }
#endif

std::string named_value(const std::string& description, int value) {
  static const std::regex line(R"((?:^|\n)(\w+)\s+- )");
  auto name = std::sregex_iterator(description.begin(), description.end(), line);
  for (; name != std::sregex_iterator() && value > 0; ++name) --value;
  return name == std::sregex_iterator() || value < 0 ? "" : (*name)[1].str();
}

}  // namespace commlens::transport
