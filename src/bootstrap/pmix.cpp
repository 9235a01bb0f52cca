// Launchers that speak PMIx (https://pmix.github.io, version 3 on): Open MPI's mpirun, srun --mpi=pmix, prterun.
#include <pmix.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/clock.hpp"
#include "base/shared_library.hpp"
#include "bootstrap/launcher.hpp"
#include "bootstrap/peers.hpp"

namespace rondo {
namespace {

constexpr char library_name[] = "libpmix.so.2";

/// The library's functions. It is loaded where a launcher speaks it, and stays: others in this process may use it, too.
struct Functions {
  decltype(&PMIx_Init) init = nullptr;
  decltype(&PMIx_Put) put = nullptr;
  decltype(&PMIx_Commit) commit = nullptr;
  decltype(&PMIx_Fence) fence = nullptr;
  decltype(&PMIx_Get) get = nullptr;
  decltype(&PMIx_Finalize) finalize = nullptr;
  decltype(&PMIx_Error_string) error_string = nullptr;
};

Result<Functions> load() {
  auto library = SharedLibrary::load({library_name}, SharedLibrary::Symbols::for_plugins);
  if (!library)
    return in_bootstrap(Errc::unsupported,
                        "the launcher speaks PMIx, and its library can't be loaded: " + library.error().detail + " (Debian's libpmix2 has it)");
  Functions functions;
  library->find("PMIx_Init", functions.init);
  library->find("PMIx_Put", functions.put);
  library->find("PMIx_Commit", functions.commit);
  library->find("PMIx_Fence", functions.fence);
  library->find("PMIx_Get", functions.get);
  library->find("PMIx_Finalize", functions.finalize);
  library->find("PMIx_Error_string", functions.error_string);
  if (!library->missing().empty()) return in_bootstrap(Errc::unsupported, std::string(library_name) + " lacks " + library->missing());
  return functions;
}

/// Between init and finalize.
class Pmix final : public Launcher {
 public:
  explicit Pmix(const Functions& functions) : functions_(functions) {}
  ~Pmix() override {
    if (begun_) (void)functions_.finalize(nullptr, 0);
  }

  Result<void> begin() {
    if (const pmix_status_t status = functions_.init(&own_, nullptr, 0); status != PMIX_SUCCESS) return failed("init", status);
    begun_ = true;
    rank = own_.rank;
    pmix_proc_t all = own_;
    all.rank = PMIX_RANK_WILDCARD;
    pmix_value_t* value = nullptr;
    if (const pmix_status_t status = functions_.get(&all, PMIX_JOB_SIZE, nullptr, 0, &value); status != PMIX_SUCCESS) return failed("the job's size", status);
    const bool number = value->type == PMIX_UINT32;
    if (number) size = value->data.uint32;
    std::free(value);
    if (!number || rank >= size) return in_bootstrap(Errc::io, "PMIx says that this is rank " + std::to_string(rank) + " of " + std::to_string(size));
    return {};
  }

  Result<std::string> share(const std::string& text, std::int64_t deadline_ns) override {
    static std::atomic<std::uint32_t> shared{0};  // texts of one process may be under way no longer than its ranks' order of communicators
    const std::string key = "rondo." + std::to_string(shared.fetch_add(1, std::memory_order_relaxed));
    if (rank == 0)
      if (auto published = publish(key, text); !published) return published.error();
    pmix_info_t collect{};
    std::strncpy(collect.key, PMIX_COLLECT_DATA, sizeof collect.key - 1);
    collect.value.type = PMIX_BOOL;
    collect.value.data.flag = true;
    if (const pmix_status_t status = functions_.fence(nullptr, 0, &collect, 1); status != PMIX_SUCCESS) return failed("meeting the other ranks", status);
    if (rank == 0) return text;
    pmix_proc_t first = own_;
    first.rank = 0;
    pmix_value_t* value = nullptr;
    pmix_status_t status = PMIX_ERR_NOT_FOUND;
    // What a server has just heard of it may not find yet.
    while ((status = functions_.get(&first, key.c_str(), nullptr, 0, &value)) == PMIX_ERR_NOT_FOUND && now_ns() < deadline_ns) usleep(10'000);
    if (status != PMIX_SUCCESS) return failed("what rank 0 has to say", status);
    const bool is_text = value->type == PMIX_STRING && value->data.string != nullptr;
    const std::string got = is_text ? value->data.string : "";
    if (is_text) std::free(value->data.string);
    std::free(value);
    if (!is_text) return in_bootstrap(Errc::io, "rank 0 said nothing through PMIx");
    return got;
  }

 private:
  Result<void> publish(const std::string& key, std::string text) {
    pmix_value_t value{};
    value.type = PMIX_STRING;
    value.data.string = text.data();
    pmix_status_t status = functions_.put(PMIX_GLOBAL, key.c_str(), &value);
    if (status == PMIX_SUCCESS) status = functions_.commit();
    return status == PMIX_SUCCESS ? Result<void>() : failed("telling the other ranks", status);
  }

  Error failed(const std::string& what, pmix_status_t status) const {
    const bool late = status == PMIX_ERR_TIMEOUT;
    return in_bootstrap(late ? Errc::deadline_exceeded : Errc::io, "PMIx: " + what + ": " + functions_.error_string(status));
  }

  Functions functions_;
  bool begun_ = false;
  pmix_proc_t own_{};
};

}  // namespace

Result<std::unique_ptr<Launcher>> find_pmix(const Environment& environment) {
  if (!environment.contains("PMIX_NAMESPACE") || !environment.contains("PMIX_RANK")) return std::unique_ptr<Launcher>();
  const auto functions = load();
  if (!functions) return functions.error();
  auto pmix = std::make_unique<Pmix>(*functions);
  if (auto begun = pmix->begin(); !begun) return begun.error();
  return std::unique_ptr<Launcher>(std::move(pmix));
}

}  // namespace rondo
