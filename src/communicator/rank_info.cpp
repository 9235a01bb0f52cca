#include "communicator/rank_info.hpp"

#include <cstring>
#include <nlohmann/json.hpp>

#include "base/json_text.hpp"
#include "rondo/calibration.hpp"
#include "rondo/communicator.hpp"

namespace rondo {

Address pack(const RankInfo& info) {
  auto interfaces = nlohmann::json::array();
  for (const RankInterface& each : info.interfaces) interfaces.push_back({{"address", each.address}, {"shared_cpus", each.shared_cpus}});
  const nlohmann::json json{{"rondo", version()},
                            {"rank", info.rank},
                            {"host", info.host},
                            {"host_name", info.host_name},
                            {"user", info.user},
                            {"meeting", info.meeting},
                            {"process", info.process},
                            {"interfaces", interfaces},
                            {"infiniband", info.infiniband},
                            {"trial_address", info.trial_address},
                            {"trial_value", info.trial_value},
                            {"share_bytes", info.share_bytes},
                            {"symmetric_bytes", info.symmetric_bytes},
                            {"algorithm", info.algorithm},
                            {"strict", info.strict},
                            {"integrity", info.integrity},
                            {"coalesce_bytes", info.coalesce_bytes},
                            {"transport", info.transport},
                            {"core", write_core_figures(info.core)},
                            {"cpus", info.cpus},
                            {"view", info.view}};
  const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  Address address;
  address.bytes.resize(text.size());
  std::memcpy(address.bytes.data(), text.data(), text.size());
  return address;
}

Result<RankInfo> unpack_rank_info(const Address& address) {
  const auto wrong = [](const std::string& why) { return Error{Errc::invalid_argument, "a rank's introduction is unusable: " + why, 0, "bootstrap"}; };
  const auto* text = reinterpret_cast<const char*>(address.bytes.data());
  const auto json = nlohmann::json::parse(text, text + address.bytes.size(), nullptr, false);
  if (!json.is_object() || !json.contains("rondo") || !json["rondo"].is_number_integer()) return wrong("it is not Rondo's");
  if (json["rondo"] != version()) return wrong("it runs version " + json["rondo"].dump() + ", this rank " + std::to_string(version()));
  try {
    RankInfo info;
    info.rank = whole_number<std::uint32_t>(json.at("rank"));
    info.host = json.at("host").get<std::string>();
    info.host_name = json.at("host_name").get<std::string>();
    info.user = whole_number<std::uint32_t>(json.at("user"));
    info.meeting = json.at("meeting").get<std::string>();
    info.process = whole_number<std::int64_t>(json.at("process"));
    for (const auto& each : json.at("interfaces"))
      info.interfaces.push_back({each.at("address").get<std::string>(), whole_number<std::uint32_t>(each.at("shared_cpus"))});
    if (info.interfaces.empty()) return wrong("it names no interface");
    info.infiniband = json.at("infiniband").get<bool>();
    info.trial_address = whole_number<std::uint64_t>(json.at("trial_address"));
    info.trial_value = whole_number<std::uint64_t>(json.at("trial_value"));
    info.share_bytes = whole_number<std::uint64_t>(json.at("share_bytes"));
    info.symmetric_bytes = whole_number<std::uint64_t>(json.at("symmetric_bytes"));
    info.algorithm = json.at("algorithm").get<std::string>();
    info.strict = json.at("strict").get<bool>();
    info.integrity = json.at("integrity").get<bool>();
    info.coalesce_bytes = whole_number<std::uint64_t>(json.at("coalesce_bytes"));
    info.transport = json.at("transport").get<std::string>();
    auto core = read_core_figures(json.at("core").get<std::string>());
    if (!core) return wrong(core.error().detail);
    info.core = std::move(*core);
    for (const auto& cpu : json.at("cpus")) info.cpus.push_back(whole_number<std::uint32_t>(cpu));
    info.view = json.at("view").get<std::string>();
    return info;
  } catch (const std::exception& exception) {
    return wrong(exception.what());
  }
}

}  // namespace rondo
