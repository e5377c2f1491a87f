// Prints example records of every kind, one a line, so that other programs' tests can check them against
// docs/record.schema.json and read them.
#include <iostream>

#include "measure/examples.hpp"

int main() {
  namespace examples = commlens::measure::examples;
  for (const auto& run : {examples::run_with_gpus(), examples::run_without_gpus()}) {
    for (const auto& record : examples::every_kind()) std::cout << commlens::measure::to_json(run, record) << '\n';
  }
  return std::cout.flush() ? 0 : 1;
}
