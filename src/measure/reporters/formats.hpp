// The reporters, each defined in the file of its name. A new one is a file, a declaration here and a line in
// reporters.cpp.
#pragma once

#include "measure/reporter.hpp"

namespace commlens::measure {

ReporterDescription table_reporter();
ReporterDescription json_reporter();
ReporterDescription csv_reporter();
ReporterDescription osu_reporter();
ReporterDescription dftfe_reporter();

}  // namespace commlens::measure
