// What is told by the names of MPI's variables and of the functions on a stack.
#include "transport/selection.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "transport/call_stack.hpp"
#include "transport/mpi_tools.hpp"
#include "transport/ucx_log.hpp"

namespace commlens::transport {
namespace {

TEST(Selection, HasTheComponentsThatAreLeft) {
  EXPECT_EQ(components_among({"ompi_pml_base", "ompi_pml_ob1", "opal_btl_self", "opal_btl_tcp", "ompi_mtl_ofi"}),
            (Selection{{"pml", "ob1"}, {"btl", "self,tcp"}}));
  EXPECT_EQ(components_among({"ompi_pml_cm", "opal_btl_tcp", "ompi_mtl_base", "ompi_mtl_ofi"}),
            (Selection{{"pml", "cm"}, {"mtl", "ofi"}}));
  EXPECT_EQ(components_among({"ompi_pml_ucx", "opal_btl_tcp", "ompi_mtl_ofi"}), (Selection{{"pml", "ucx"}}));
}

TEST(Selection, NamesTheSharedMemoryOfOpenMpi5Once) {
  EXPECT_EQ(components_among({"ompi_pml_ob1", "opal_btl_sm", "opal_btl_vader", "opal_smsc_base"}).at("btl"), "sm");
  EXPECT_EQ(components_among({"ompi_pml_ob1", "opal_btl_tcp", "opal_btl_vader", "opal_smsc_base"}).at("btl"), "tcp");
  EXPECT_EQ(components_among({"ompi_pml_ob1", "opal_btl_vader"}).at("btl"), "vader");
}

TEST(Selection, IsEmptyWhereTheLibraryDoesNotTell) {
  EXPECT_TRUE(components_among({}).empty());
  EXPECT_TRUE(components_among({"COLLECTIVE", "CH4"}).empty());
  EXPECT_TRUE(components_among({"ompi_pml_ob1", "ompi_pml_ucx"}).empty());  // neither is closed
}

TEST(Selection, HasTheNetworkModuleOfMpich) {
  const std::string one = "MPICH Version: 4.2.0\nMPICH Device:      ch4:ofi\nMPICH configure: --with-x=y\n";
  const std::string two = "MPICH Device:      ch4:ucx ofi\nMPICH configure:\n";
  EXPECT_EQ(netmod_in(one, {}), "ofi");
  EXPECT_EQ(netmod_in(two, {{"ucx", "tag(tcp/eth0)"}}), "ucx");
  EXPECT_EQ(netmod_in(two, {{"provider", "tcp"}}), "ofi");
  EXPECT_EQ(netmod_in(two, {}), "");
  EXPECT_EQ(netmod_in("MPICH Device:      ch3:nemesis\n", {}), "");
  EXPECT_EQ(netmod_in("Open MPI v4.1.4", {{"ucx", "tag(tcp/eth0)"}}), "");
}

TEST(Selection, NamesAValueByTheDescriptionOfItsVariable) {
  const std::string text =
      "Variable to select an algorithm\nauto - it decides\nnb      - Force one\nsmp  - Force another";
  EXPECT_EQ(named_value(text, 0), "auto");
  EXPECT_EQ(named_value(text, 2), "smp");
  EXPECT_EQ(named_value(text, 3), "");
  EXPECT_EQ(named_value(text, -1), "");
  EXPECT_EQ(named_value("no values", 0), "");
}

TEST(Selection, HasTheCollectiveOfAStack) {
  const std::vector<Frame> stack{{"ompi_request_default_wait", "libmpi.so.40"},
                                 {"ompi_coll_base_allreduce_intra_recursivedoubling", "libmpi.so.40"},
                                 {"ompi_coll_base_allreduce_intra_ring", "libmpi.so.40"},
                                 {"ompi_coll_tuned_allreduce_intra_dec_fixed", "mca_coll_tuned.so"},
                                 {"PMPI_Allreduce", "libmpi.so.40"},
                                 {"main", "program"}};
  EXPECT_EQ(collective_on(stack),
            (Selection{{"collective", "MPI_Allreduce"}, {"coll", "tuned"}, {"algorithm", "recursivedoubling"}}));
}

TEST(Selection, KnowsComponentsThatAreLinkedIntoTheLibrary) {
  EXPECT_EQ(collective_on({{"mca_coll_basic_allreduce_intra", "libmpi.so.40"}, {"MPI_Allreduce", "libmpi.so.40"}}),
            (Selection{{"collective", "MPI_Allreduce"}, {"coll", "basic"}}));
}

TEST(Selection, HasTheOutermostComponentAndNoAlgorithmOfItsParts) {
  const std::vector<Frame> stack{{"ompi_coll_base_reduce_intra_binomial", "libmpi.so.40"},
                                 {"", "mca_coll_tuned.so"},
                                 {"mca_coll_han_allreduce_intra", "mca_coll_han.so"},
                                 {"MPI_Allreduce", "libmpi.so.40"}};
  EXPECT_EQ(collective_on(stack), (Selection{{"collective", "MPI_Allreduce"}, {"coll", "han"}}));
}

TEST(Selection, HasNoAlgorithmThatSeveralTreesShare) {
  EXPECT_EQ(collective_on({{"ompi_coll_base_bcast_intra_generic", "libmpi.so.40"},
                           {"ompi_coll_base_bcast_intra_bintree", "libmpi.so.40"},
                           {"MPI_Bcast", "libmpi.so.40"}})
                .at("algorithm"),
            "bintree");
  EXPECT_FALSE(collective_on({{"ompi_coll_base_bcast_intra_generic", "libmpi.so.40"},
                              {"", "mca_coll_tuned.so"},
                              {"MPI_Bcast", "libmpi.so.40"}})
                   .contains("algorithm"));
}

TEST(Selection, HasNothingOfOtherCallsAndOfHiddenNames) {
  EXPECT_TRUE(collective_on({}).empty());
  EXPECT_TRUE(collective_on({{"mca_pml_ob1_recv", "mca_pml_ob1.so"}, {"MPI_Recv", "libmpi.so.40"}}).empty());
  EXPECT_EQ(collective_on({{"", "libmpi.so.12"}, {"MPI_Allreduce", "libmpi.so.12"}}),
            (Selection{{"collective", "MPI_Allreduce"}}));
}

TEST(UcxLog, TellsTheTransportsToOtherRanks) {
  EXPECT_EQ(lanes_in("ucp_context_0 intra-node cfg#1 tag(sysv/memory cma/memory) "),
            "intra-node tag(sysv/memory cma/memory)");
  EXPECT_EQ(lanes_in("ucp_context_0 inter-node cfg#2 tag(rc_mlx5/mlx5_0:1)"), "inter-node tag(rc_mlx5/mlx5_0:1)");
  EXPECT_EQ(lanes_in("intra-node cfg#1 tag(tcp/eth0)  am(tcp/eth0)"), "intra-node tag(tcp/eth0) am(tcp/eth0)");
  EXPECT_EQ(lanes_in("ep_cfg[2]: tag(posix/memory cma/memory); "), "tag(posix/memory cma/memory)");
}

TEST(UcxLog, TellsNothingOfARankItselfAndOfOtherThings) {
  EXPECT_EQ(lanes_in("ucp_context_0 self cfg#0 tag(self/memory cma/memory)"), "");
  EXPECT_EQ(lanes_in("ep_cfg[0]: tag(self/memory0 cma/memory)"), "");
  EXPECT_EQ(lanes_in("Version 1.20.1 (loaded from libucp.so.0)"), "");
  EXPECT_EQ(lanes_in("UCX_* env variables: UCX_TLS=tcp"), "");
}

TEST(CallStack, IsReadOnceTheTimeIsOver) {
  using std::chrono_literals::operator""ms;
  StackSample sample(1ms);
  const auto until = std::chrono::steady_clock::now() + 20ms;
  while (std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(5ms);
  bool sleeps = false;
  for (const Frame& frame : sample.finish()) sleeps = sleeps || frame.function.find("nanosleep") != std::string::npos;
  EXPECT_TRUE(sleeps);
}

TEST(CallStack, IsEmptyBefore) {
  StackSample sample(std::chrono::seconds(60));
  EXPECT_TRUE(sample.finish().empty());
}

}  // namespace
}  // namespace commlens::transport
