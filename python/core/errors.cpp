#include "errors.hpp"

#include <string>

namespace rondo_python {

namespace nb = nanobind;

void translate_failures() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      const nb::object kinds = nb::module_::import_("rondo._errors").attr("KINDS");
      const nb::object kind = kinds[std::string(rondo::to_string(failure.error.code)).c_str()];
      const std::string text = failure.error.detail + (failure.error.where.empty() ? "" : " (" + failure.error.where + ")");
      PyErr_SetString(kind.ptr(), text.c_str());
    }
  });
}

}  // namespace rondo_python
