// Which variables a record keeps: the table that Python's tests read too.
#include "base/environment_variables.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <string>

namespace commlens::environment {
namespace {

TEST(Secrets, AreThoseOfTheTable) {
  std::ifstream table(COMMLENS_SECRETS_TABLE);
  int secrets = 0;
  int others = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t blank = line.find(' ');
    const std::size_t equals = line.find('=');
    const std::string name = line.substr(blank + 1, equals - blank - 1);
    const std::string value = line.substr(equals + 1);
    const bool expected = line.starts_with("secret ");
    EXPECT_EQ(is_secret(name, value), expected) << line;
    EXPECT_FALSE(expected && is_recorded(name, value)) << line;
    ++(expected ? secrets : others);
  }
  EXPECT_GT(secrets, 20);
  EXPECT_GT(others, 10);
}

TEST(Variables, AreRecordedWhereTheyConcernCommunication) {
  EXPECT_TRUE(is_recorded("UCX_TLS", "cuda_copy,rc_x"));
  EXPECT_FALSE(is_recorded("HOME", "/home/user"));
  EXPECT_FALSE(is_recorded("OMPI_MCA_orte_jobid", "1")) << "one job's, not a setting";
  EXPECT_TRUE(is_transport_setting("OMPI_MCA_pml"));
  EXPECT_FALSE(is_transport_setting("HIP_VISIBLE_DEVICES"));
}

}  // namespace
}  // namespace commlens::environment
