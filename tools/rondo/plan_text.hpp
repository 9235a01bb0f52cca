// A plan in one of the forms that files have.
#pragma once

#include <cstdio>
#include <string>

#include "rondo/formats.hpp"

/// Says on standard error what another system won't run.
inline void warn_of_limits(const char* command, const std::string& text, const std::string& format) {
  if (format == "json") return;
  if (const std::string excess = rondo::exceeded_limits(text); !excess.empty()) std::fprintf(stderr, "%s: warning: %s\n", command, excess.c_str());
}

/// `format`: json (Rondo's own), msccl (MSCCL XML) or mscclpp (MSCCL++ JSON).
inline rondo::Result<std::string> plan_text(const rondo::Plan& plan, const std::string& format) {
  if (format == "msccl") return rondo::export_msccl_xml(plan);
  if (format == "mscclpp") return rondo::export_mscclpp_json(plan);
  return rondo::write_plan(plan);
}
