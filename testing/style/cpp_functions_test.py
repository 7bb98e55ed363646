# SPDX-License-Identifier: Apache-2.0
"""The function finder on the shapes that C++ definitions come in."""

import unittest

from testing.style.cpp_functions import LostTrack, find_functions
from testing.style.cpp_text import code_only, without_directives


def _names(source):
    return [(function.name, function.length_lines) for function in find_functions(source)]


class CodeOnlyTest(unittest.TestCase):

    def test_blanks_comments_and_literals_and_keeps_lines(self):
        source = 'a /* b\n c */ d  // e\nf("g\\"h", \'i\') R"x(j)\nk)x" l'
        code = code_only(source)
        self.assertEqual(len(code), len(source))
        self.assertEqual(code.count('\n'), source.count('\n'))
        for letter in 'bceghijk':
            self.assertNotIn(letter, code)
        for letter in 'adfl':
            self.assertIn(letter, code)

    def test_a_digit_separator_opens_no_character(self):
        self.assertIn('strcpy', code_only("int x = 1'000; strcpy(a, b); int y = 2'000;"))

    def test_comment_marks_in_strings_are_text(self):
        self.assertIn('after', code_only('x("// no comment"); after();'))

    def test_only_the_first_branch_of_a_condition_counts(self):
        code = without_directives('#if A\nif (x) {\n#else\nif (y) {\n#endif\n}\n')
        self.assertEqual((code.count('{'), code.count('}')), (1, 1))


class FindFunctionsTest(unittest.TestCase):

    def test_free_functions(self):
        self.assertEqual(_names('int F() {\n  return 1;\n}\n\nvoid G(int a,\n       int b) { }\n'),
                         [('F', 3), ('G', 2)])

    def test_methods_in_and_outside_of_classes(self):
        source = '''
namespace a::b {
class X final : public Y<int> {
 public:
  X() : Y<int>{1}, value_{2}, other_(3) {
    Use();
  }
  ~X() override { Stop(); }
  bool operator==(const X& x) const { return true; }
  X& operator=(X&&) = default;
  int operator()(int a) const noexcept { return a; }
  int value() const { return value_; }

 private:
  int value_ = 0;
  std::array<int, 2> pair_{1, 2};
};
void X::Run() {
}
}  // namespace a::b
'''
        self.assertEqual(_names(source), [('X', 3), ('~X', 1), ('operator', 1), ('operator', 1),
                                          ('value', 1), ('X::Run', 2)])

    def test_templates_concepts_and_constraints(self):
        source = '''
template <class T>
concept C = requires(T t) {
  { t.F() } -> std::same_as<int>;
};
template <C T, int kSize = 3, class = std::enable_if_t<(kSize >= 2)>>
  requires C<T>
auto F(T t) -> std::vector<T> {
  return {};
}
'''
        self.assertEqual(_names(source), [('F', 5)])

    def test_values_are_no_functions(self):
        source = '''
constexpr int kTable[] = {1, 2, 3};
inline constexpr Limits kLimits{.a = 1, .b = F({2})};
struct alignas(64) Line { int a; };
enum class E : uint8_t { kA, kB };
auto lambda = [](int a) { return a; };
void WithDefault(Options options = {}, std::function<void()> f = [] { G(); }) { Use(); }
extern "C" { int Exported(int a) { return a; } }
'''
        self.assertEqual(_names(source), [('WithDefault', 1), ('Exported', 1)])

    def test_lambdas_and_local_classes_belong_to_their_function(self):
        source = 'void F() {\n  struct L { void M() {} };\n  G([&] {\n    H();\n  });\n}\n'
        self.assertEqual(_names(source), [('F', 6)])

    def test_the_head_counts_from_its_first_line_of_code(self):
        source = '// Comment.\ntemplate <class T>\nstd::vector<int>\nF(\n    T t) {\n}\n'
        self.assertEqual(find_functions(source)[0].first_line, 2)
        self.assertEqual(find_functions(source)[0].length_lines, 5)

    def test_gtest_cases(self):
        self.assertEqual(_names('TEST(Suite, Name) {\n  EXPECT_TRUE(true);\n}\n'), [('TEST', 3)])

    def test_braces_that_do_not_pair_are_reported(self):
        with self.assertRaises(LostTrack):
            find_functions('void F() {\n')
        with self.assertRaises(LostTrack):
            find_functions('void F() {}\n}\n')


if __name__ == '__main__':
    unittest.main()
