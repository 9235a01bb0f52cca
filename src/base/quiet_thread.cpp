#include "base/quiet_thread.hpp"

#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <thread>
#include <utility>

namespace rondo {

int start_quiet_thread(const char* name, std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int refused = 0;
  try {
    std::thread([name, body = std::move(body)] {
      pthread_setname_np(pthread_self(), name);
      body();
    }).detach();
  } catch (const std::system_error& error) {
    refused = error.code().value();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return refused;
}

}  // namespace rondo
