#ifdef RONDO_CATCH3
#include <catch2/catch_session.hpp>
#include <catch2/catch_test_case_info.hpp>
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
using Listener = Catch::EventListenerBase;
#else
#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>
using Listener = Catch::TestEventListenerBase;
#endif
#include <string>

#include "support/hang.hpp"

namespace {

/// A test case that goes on for too long ends the program with word of where it is.
class HangListener : public Listener {
 public:
  using Listener::Listener;

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    Listener::testCaseStarting(info);
    name_ = info.name;
    if (!info.isHidden()) begin_watch(name_.c_str(), TEST_CASE_SECONDS);
  }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    end_watch();
    Listener::testCaseEnded(stats);
  }

 private:
  std::string name_;
};

}  // namespace

CATCH_REGISTER_LISTENER(HangListener)

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
