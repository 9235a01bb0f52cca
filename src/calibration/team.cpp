#include "calibration/team.hpp"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <system_error>
#include <thread>

namespace rondo::calibration {
namespace {

void pin_to(std::uint32_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

}  // namespace

Result<void> run_on(const std::vector<std::uint32_t>& cpus, const std::function<void(std::size_t)>& work) {
  enum Order { hold, go, give_up };
  std::atomic<Order> order{hold};
  std::vector<std::thread> threads;
  Result<void> result;
  for (std::size_t k = 0; k < cpus.size(); ++k) {
    try {
      threads.emplace_back([&, k] {
        pin_to(cpus[k]);
        // pairs with the store below: who is told to go sees all that was prepared before
        order.wait(hold, std::memory_order_acquire);
        if (order.load(std::memory_order_acquire) == go) work(k);
      });
    } catch (const std::system_error& error) {
      result = Error{Errc::out_of_resources,
                     "measuring takes " + std::to_string(cpus.size()) + " threads, and there were " + std::to_string(k) + " (limit: ulimit -u)",
                     error.code().value(), "calibration"};
      break;
    }
  }
  order.store(result ? go : give_up, std::memory_order_release);
  order.notify_all();
  for (std::thread& thread : threads) thread.join();
  return result;
}

}  // namespace rondo::calibration
