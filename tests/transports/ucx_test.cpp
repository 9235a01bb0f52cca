#ifdef RONDO_HAS_UCX
#include "transports/ucx/ucx.hpp"

#include <filesystem>
#include <fstream>

#include "conformance.hpp"
#include "support/catch.hpp"
#include "support/folder.hpp"
#include "transports/ucx/library.hpp"
#include "transports/ucx/setup.hpp"

using namespace rondo;

TEST_CASE("interfaces of InfiniBand devices are to UCX ports of these devices, all others are what they are called") {
  const test::Folder folder;
  std::filesystem::create_directories(folder.path() / "ib1/device/infiniband/mlx4_0");
  std::ofstream(folder.path() / "ib1/dev_port") << "1\n";
  std::filesystem::create_directories(folder.path() / "roce/device/infiniband/mlx5_3");
  std::filesystem::create_directories(folder.path() / "eth0/device");
  CHECK(ucx::devices_of({"ib1", "eth0", "roce", "none"}, folder.path()) == "mlx4_0:2,eth0,mlx5_3:1,none");
}

TEST_CASE("UCX knows InfiniBand where its module for that is, be there such a device or not") {
  bool is_there = false;
  for (const char* folder : {"/usr/lib/x86_64-linux-gnu/ucx/", "/usr/lib/aarch64-linux-gnu/ucx/"})
    is_there |= std::filesystem::exists(folder + std::string("libuct_ib.so.0"));
  CHECK(ucx::knows_infiniband() == is_there);
}

TEST_CASE("UCX is looked for where the loader looks, and then where PyPI's package has it") {
  const auto usual = ucx::load_library({"libucp.so.0"});
  REQUIRE(usual);
  const test::Folder folder;
  const auto package = folder.path() / "libucp.so.0";
  std::filesystem::create_symlink(usual->path, package);
  const auto found = ucx::load_library({"libnone.so.0", package});
  REQUIRE(found);
  CHECK(std::string(found->get_version_string()) == usual->get_version_string());
  REQUIRE(ucx::places_of_library().size() == 2);
  CHECK(ucx::places_of_library()[0] == "libucp.so.0");
  CHECK(ucx::places_of_library()[1].ends_with("/libucx/lib/libucp.so.0"));
}

TEST_CASE("a UCX that isn't there, or that isn't one, is named") {
  const auto none = ucx::load_library({"libnone.so.0", "libnothing.so.1"});
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::unsupported);
  for (const char* word : {"libucx0", "libnone.so.0", "libnothing.so.1"}) CHECK(none.error().detail.find(word) != std::string::npos);
  const auto other = ucx::load_library({"libm.so.6"});
  REQUIRE_FALSE(other);
  for (const char* word : {"libm.so.6", "lacks ucp_get_version_string, ", ", uct_release_component_list"})
    CHECK(other.error().detail.find(word) != std::string::npos);
}

TEST_CASE("UCX does what a transport must") {
  conformance([](std::uint32_t rank, std::uint32_t ranks) { return make_ucx_transport(UcxOptions{rank, ranks}); }, 10);
}
#endif
