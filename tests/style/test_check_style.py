"""Made-up trees, each with one fault, that the checker must find; and right ones that it must leave alone."""

import tempfile
import unittest
from pathlib import Path

import check_style
from cpp_text import blank_out, functions


def long_body(lines):
    return "{\n" + "  step();\n" * lines + "}\n"


class Trees(unittest.TestCase):
    def rules(self, files):
        """The rules that a tree of these files breaks: 'PATH:LINE RULE', sorted."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "src").mkdir()
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            return sorted(f"{fault.path}:{fault.line} {fault.rule}" for fault in check_style.check_tree(root))

    def includes(self, user, used):
        return self.rules({user: f'#include "{used.removeprefix("src/").removeprefix("include/")}"\n', used: "\n"})

    def test_forbidden_directions_are_found(self):
        for user, used in (("src/verifier/a.cpp", "src/formats/b.hpp"), ("src/formats/a.cpp", "src/verifier/b.hpp"),
                           ("src/plan/a.cpp", "src/planner/b.hpp"), ("src/topology/a.cpp", "src/plan/b.hpp"),
                           ("src/executor/a.cpp", "transports/shm/b.hpp"), ("src/executor/a.cpp", "kernels/cpu/b.hpp"),
                           ("transports/ucx/a.cpp", "transports/shm/b.hpp"), ("transports/shm/a.cpp", "kernels/cpu/b.hpp"),
                           ("transports/shm/a.cpp", "src/planner/b.hpp"), ("src/base/a.cpp", "src/plan/b.hpp"),
                           ("include/rondo/a.hpp", "src/base/b.hpp"), ("tools/rondo/a.cpp", "src/base/b.hpp"),
                           ("benchmarks/bench/a.cpp", "src/plan/b.hpp"), ("examples/a.cpp", "src/plan/b.hpp")):
            with self.subTest(user=user, used=used):
                self.assertEqual(self.includes(user, used), [f"{user}:1 include-direction"])

    def test_allowed_directions_are_left_alone(self):
        for user, used in (("src/planner/a.cpp", "src/topology/b.hpp"), ("src/planner/a.cpp", "src/plan/b.hpp"),
                           ("src/verifier/a.cpp", "src/plan/b.hpp"), ("src/executor/a.cpp", "src/plan/b.hpp"),
                           ("src/communicator/a.cpp", "transports/shm/b.hpp"), ("transports/shm/a.cpp", "transports/shm/b.hpp"),
                           ("src/plan/a.cpp", "include/rondo/b.hpp"), ("transports/ucx/a.cpp", "src/base/b.hpp"),
                           ("tools/rondo/a.cpp", "tools/rondo/b.hpp"), ("tools/rondo/a.cpp", "include/rondo/b.hpp"),
                           ("tests/plan/a.cpp", "src/plan/b.hpp"), ("benchmarks/x/a.cpp", "benchmarks/y/b.hpp")):
            with self.subTest(user=user, used=used):
                self.assertEqual(self.includes(user, used), [])

    def test_a_quoted_header_that_is_not_in_the_tree_is_found(self):
        self.assertEqual(self.rules({"src/plan/a.cpp": '\n#include "hwloc.h"\n'}), ["src/plan/a.cpp:2 include-direction"])

    def test_a_file_that_is_too_long_is_found(self):
        self.assertEqual(self.rules({"src/plan/a.cpp": "int a;\n" * 401}), ["src/plan/a.cpp:401 file-size"])
        self.assertEqual(self.rules({"src/plan/a.cpp": "int a;\n" * 400}), [])
        self.assertEqual(self.rules({"tools/a.py": "a = 1\n" * 401}), ["tools/a.py:401 file-size"])

    def test_a_function_that_is_too_long_is_found_at_its_first_line(self):
        for head in ("void f(int a) ", "Result<void> Run::go() const ", "Run::Run(int a) : a_{a}, b_(a) ",
                     "template <class T>\nauto f(T a) -> T ", 'TEST_CASE("it works; always") ', "bool operator==(A a, A b) "):
            with self.subTest(head=head):
                text = "namespace rondo {\n\nstruct A {\n  int a = 0;\n};\n\n" + head + long_body(70) + "}\n"
                self.assertEqual(self.rules({"src/plan/a.cpp": text}), ["src/plan/a.cpp:7 function-size"])
                self.assertEqual(self.rules({"src/plan/a.cpp": text.replace("  step();\n" * 70, "  step();\n" * 60)}), [])

    def test_a_long_method_inside_a_class_is_found(self):
        text = "class A : public B {\n public:\n  A() = default;\n  int f() " + long_body(70) + "};\n"
        self.assertEqual(self.rules({"src/plan/a.hpp": text}), ["src/plan/a.hpp:4 function-size"])

    def test_a_class_or_a_table_may_be_long(self):
        methods = "".join(f"  int f{i}() {{ return {i}; }}\n" for i in range(90))
        self.assertEqual(self.rules({"src/plan/a.hpp": "class A {\n" + methods + "};\n"}), [])
        self.assertEqual(self.rules({"src/plan/a.cpp": "const int table[] = {\n" + "  1,\n" * 90 + "};\n"}), [])

    def test_a_long_python_function_is_found(self):
        self.assertEqual(self.rules({"tools/a.py": "\ndef f():\n" + "    g()\n" * 70}), ["tools/a.py:2 function-size"])

    def test_the_environment_is_read_in_one_place_alone(self):
        self.assertEqual(self.rules({"src/plan/a.cpp": 'auto a = std::getenv("A");\n'}), ["src/plan/a.cpp:1 getenv"])
        self.assertEqual(self.rules({"tools/a.cpp": "char** e = environ;\n"}), ["tools/a.cpp:1 getenv"])
        self.assertEqual(self.rules({"src/base/config.cpp": "char** e = environ;\n"}), [])
        self.assertEqual(self.rules({"src/plan/a.cpp": '// no getenv("A") here\nauto a = "getenv(";\n'}), [])

    def test_conditionals_on_what_was_found_at_configuration_belong_into_cmake(self):
        self.assertEqual(self.rules({"src/plan/a.cpp": "#ifdef RONDO_HAS_UCX\n#endif\n"}), ["src/plan/a.cpp:1 conditional"])
        self.assertEqual(self.rules({"src/plan/a.cpp": "#if defined(__CUDACC__)\n#endif\n"}), ["src/plan/a.cpp:1 conditional"])
        self.assertEqual(self.rules({"src/plan/a.cpp": "#if defined(__AVX2__)  // unlike UCX\n#endif\n"}), [])

    def test_memory_orders_are_written_out(self):
        for call in ("word.load()", "word->store(1)", "word.fetch_add(1)", "word.exchange(f(2))", "word.compare_exchange_weak(a, b)"):
            with self.subTest(call=call):
                self.assertEqual(self.rules({"transports/shm/a.cpp": f"auto a = {call};\n"}), ["transports/shm/a.cpp:1 memory-order"])
        right = "auto a = word.load(std::memory_order_acquire);\nword.store(f(1),\n  std::memory_order_release);\n"
        self.assertEqual(self.rules({"src/executor/a.cpp": right}), [])

    def test_tabs_long_lines_and_names_are_found(self):
        self.assertEqual(self.rules({"src/plan/a.cpp": "\tint a;\n"}), ["src/plan/a.cpp:1 tab"])
        self.assertEqual(self.rules({"src/plan/a.cpp": "int a; //" + "x" * 152 + "\n"}), ["src/plan/a.cpp:1 line-length"])
        self.assertEqual(self.rules({"src/plan/MyFile.cpp": "\n"}), ["src/plan/MyFile.cpp:1 file-name"])
        self.assertEqual(self.rules({"kernels/cpu/reduce-inl.hpp": "\n", "src/plan/my_file.cpp": "\n"}), [])

    def test_a_type_that_two_files_define_is_found(self):
        here = "namespace rondo {\nstruct Part {\n  int a;\n};\n}\n"
        self.assertEqual(self.rules({"src/plan/a.hpp": here, "src/base/a.hpp": here.replace("struct Part", "class Part final : public B<int>")}),
                         ["src/plan/a.hpp:2 one-definition"])
        for other in (here.replace("Part {", "Other {"), here.replace("Part {", "Part;\nstruct A {"), here.replace("rondo {", "rondo::b {"),
                      here.replace("rondo {", "{"), "namespace rondo {\nstruct A {\n  struct Part {};\n};\nvoid f() {\n  struct Part {};\n}\n}\n",
                      here.replace("Part {", "Part<int> {")):
            self.assertEqual(self.rules({"src/plan/a.hpp": here, "src/base/a.hpp": other}), [])
        self.assertEqual(self.rules({"src/plan/a.hpp": here, "tests/plan/b.hpp": here}), [])  # no program has both

    def test_the_allow_list_excuses_what_it_names_and_nothing_else(self):
        long_file = "void f() " + long_body(70)
        allow = "tests/style/allow.txt"
        self.assertEqual(self.rules({"src/plan/a.cpp": long_file, allow: "function-size src/plan/a.cpp:f a table of cases\n"}), [])
        self.assertEqual(self.rules({"src/plan/a.cpp": long_file, allow: "# nothing\n"}), ["src/plan/a.cpp:1 function-size"])
        self.assertEqual(self.rules({"src/plan/a.cpp": "\n", allow: "function-size src/plan/a.cpp:f gone since\n"}), [f"{allow}:1 allow-list"])
        self.assertEqual(self.rules({allow: "function-size src/plan/a.cpp:f\n"}), [f"{allow}:1 allow-list"])


class Text(unittest.TestCase):
    def test_braces_in_comments_and_literals_do_not_count(self):
        text = "void f() {\n  // }\n  g(\"}\", '}', R\"(}\")\", 1'000);  /* } */\n}\nvoid h() {\n}\n"
        self.assertEqual(functions(blank_out(text), text), [("f", 1, 4), ("h", 5, 6)])

    def test_a_long_lambda_at_the_top_counts_and_one_inside_belongs_to_its_function(self):
        text = "const auto f = [](int a) {\n  return a;\n};\nvoid g() {\n  auto h = [] {\n  };\n}\n"
        self.assertEqual([found[1:] for found in functions(blank_out(text), text)], [(1, 3), (4, 7)])


if __name__ == "__main__":
    unittest.main()
