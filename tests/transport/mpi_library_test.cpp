// What MPI libraries say of themselves, as MPI_Get_library_version gives it.
#include "transport/mpi_library.hpp"

#include <gtest/gtest.h>

#include <string>

namespace commlens::transport {
namespace {

struct Said {
  std::string text;
  std::string library;
  std::string family;
};

const Said all_said[] = {
    {"Open MPI v5.0.7, package: Debian OpenMPI, ident: 5.0.7, repo rev: v5.0.7, Feb 14, 2025", "Open MPI 5.0.7",
     "openmpi"},
    {"Open MPI v4.1.5rc2, package: Open MPI build@host Distribution", "Open MPI 4.1.5rc2", "openmpi"},
    {"MPICH Version:      4.0.2\nMPICH Release date: Thu Apr  7 12:34:45 CDT 2022\nMPICH ABI: 14:2:2\n", "MPICH 4.0.2",
     "mpich"},
    {"MPICH 4.2.0", "MPICH 4.2.0", "mpich"},
    {"MPI VERSION    : CRAY MPICH version 8.1.28.15 (ANL base 3.4a2)\nMPI BUILD INFO : Wed Nov 15 20:57 2023 (git "
     "hash)\n",
     "Cray MPICH 8.1.28.15", "mpich"},
    {"MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date : Wed March 02 22:00:00 EST 2022\nMPICH Version:\t3.2.1",
     "MVAPICH 2.3.7", "mpich"},
    {"MVAPICH Version      :\t3.0\nMVAPICH Release date : 02/2024", "MVAPICH 3.0", "mpich"},
    {"Intel(R) MPI Library 2021.11 for Linux* OS\n", "Intel MPI 2021.11", "intel"},
    {"IBM Spectrum MPI v10.4.0.3, package: IBM", "Spectrum MPI 10.4.0.3", "openmpi"},
    {"SMPI Version 3.32. Copyright The SimGrid Team 2007-2022", "SMPI 3.32", "other"},
    {"Some Other MPI 1.2, built on a Tuesday\nand a second line", "Some Other MPI 1.2", "other"},
    {"a name without any comma that goes on and on and on", "a name without any comma that goes on an", "other"},
    {" \n", "an unknown MPI", "other"},
    {"", "an unknown MPI", "other"},
};

TEST(MpiLibrary, IsKnownByItsNameAndItsVersion) {
  for (const Said& said : all_said) EXPECT_EQ(mpi_library_in(said.text), said.library) << said.text;
}

TEST(MpiLibrary, BelongsToAFamily) {
  for (const Said& said : all_said) EXPECT_EQ(mpi_family_in(said.text), said.family) << said.text;
}

TEST(MpiLibrary, OfThisProgramIsKnown) {
  EXPECT_EQ(mpi_library().find('\n'), std::string::npos);
  EXPECT_FALSE(mpi_library().empty());
  EXPECT_NE(mpi_family(), "");
}

}  // namespace
}  // namespace commlens::transport
