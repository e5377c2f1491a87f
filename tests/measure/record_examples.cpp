// Prints example records of every kind, one line each, behind the lines of their launches, so that other programs'
// tests can check them against docs/record.schema.json and read them.
#include <iostream>

#include "measure/examples.hpp"
#include "measure/record_json.hpp"

int main() {
  using namespace commlens::measure;
  for (const auto& start : {examples::start_with_gpus(), examples::start_without_gpus()}) {
    std::cout << start_line(start) << '\n';
    for (const auto& record : examples::every_kind()) std::cout << record_line(start, Result(record)) << '\n';
  }
  return std::cout.flush() ? 0 : 1;
}
