#include <vector>

#include "measure/reporter.hpp"

namespace commlens::measure {

const std::vector<ReporterDescription>& reporters() {
  static const std::vector<ReporterDescription> all = {
      table_reporter(),  // the first is the default
      json_reporter(),  csv_reporter(), osu_reporter(), nccl_reporter(), dftfe_reporter(),
  };
  return all;
}

}  // namespace commlens::measure
