// A plan in one of the forms that files have.
#pragma once

#include <string>

#include "rondo/formats.hpp"

/// `format`: json (Rondo's own), msccl (MSCCL XML) or mscclpp (MSCCL++ JSON).
inline rondo::Result<std::string> plan_text(const rondo::Plan& plan, const std::string& format) {
  if (format == "msccl") return rondo::export_msccl_xml(plan);
  if (format == "mscclpp") return rondo::export_mscclpp_json(plan);
  return rondo::write_plan(plan);
}
