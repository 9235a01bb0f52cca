// The C interface: communicators on GPU memory where there is no GPU. tests/made_up_gpu has the rest.
#include <string>

#include "c_api_ranks.hpp"
#include "rondo/rondo_cuda.h"
#include "support/catch.hpp"

TEST_CASE("through C, a communicator on GPU memory is refused where there is no CUDA or no GPU, on all ranks, and the host's works on", "[threads]") {
  const bool built = std::string(rondo_cuda_version()) != "";
  const auto body = [built](Rank c, std::uint32_t) -> std::string {
    rondo_cuda_communicator* gpu = nullptr;
    const rondo_status made = rondo_cuda_create(c, RONDO_CUDA_CURRENT, nullptr, &gpu);
    const bool has_gpu = made == RONDO_SUCCESS;
    rondo_cuda_destroy(gpu);
    float value = 1;
    return first_wrong({has_gpu ? "" : expect(made, RONDO_UNSUPPORTED, built ? "GPU" : "this build of Rondo has no CUDA"),
                        expect(rondo_all_reduce(c, &value, &value, 1, RONDO_F32, RONDO_SUM), RONDO_SUCCESS), value == 2 ? "" : "a wrong sum"});
  };
  CHECK(run_two(body) == "");
  CHECK(rondo_cuda_check(nullptr) == RONDO_INVALID_ARGUMENT);
  CHECK(rondo_cuda_run(nullptr, nullptr, nullptr) == RONDO_INVALID_ARGUMENT);
  CHECK(rondo_cuda_exchange(nullptr, nullptr, 0) == RONDO_INVALID_ARGUMENT);
}
