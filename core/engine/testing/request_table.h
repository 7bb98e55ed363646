// SPDX-License-Identifier: Apache-2.0
//
// The block requests of which docs/performance.md tells what each costs, and its tables of them.
//
//   std::vector<Counts> column;                       // all reads, then all writes
//   for (const bool write : {false, true}) {
//     for (const CountedShape& shape : CountedShapes()) column.push_back(Count(shape, write));
//   }
//   ExpectTableOfDocuments<Counts>({ref, plain, inlined}, [](const Counts& c) { return ...; });
#ifndef VOF_CORE_ENGINE_TESTING_REQUEST_TABLE_H_
#define VOF_CORE_ENGINE_TESTING_REQUEST_TABLE_H_

#include <array>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace vof {

struct CountedShape {
  const char* name;
  std::vector<size_t> data;  // pieces
};

inline const std::vector<CountedShape>& CountedShapes() {
  static const auto* const kShapes =
      new std::vector<CountedShape>{{"512 B", {512}},
                                    {"4 KiB", {4096}},
                                    {"8 KiB in two segments", {4096, 4096}},
                                    {"128 KiB", {128 << 10}}};
  return *kShapes;
}

// Columns: `ref`, `v5`, `v5` + INLINE. `cell` makes the text of one.
template <typename Counts, typename Cell>
void ExpectTableOfDocuments(const std::array<std::vector<Counts>, 3>& columns, Cell cell) {
  std::string table = "| request | `ref` | `v5` | `v5` + INLINE |\n|---|---|---|---|\n";
  size_t row = 0;
  for (const char* operation : {"read", "write"}) {
    for (const CountedShape& shape : CountedShapes()) {
      absl::StrAppend(&table, "| ", operation, " ", shape.name, " |");
      for (const auto& column : columns) {
        ASSERT_EQ(column.size(), 2 * CountedShapes().size());
        absl::StrAppend(&table, " ", cell(column[row]), " |");
      }
      table += "\n";
      ++row;
    }
  }
  std::ifstream file("docs/performance.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_NE(page.find(table), std::string::npos) << "docs/performance.md lacks:\n" << table;
}

}  // namespace vof

#endif  // VOF_CORE_ENGINE_TESTING_REQUEST_TABLE_H_
