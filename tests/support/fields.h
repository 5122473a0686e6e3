// What must hold for the declared fields of every options struct.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ptyche/core/field.h"

namespace ptyche {

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;

struct Anything {
  template <typename T>
  requires(!is_optional<T>) operator T() const;
};

template <typename T, std::size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{(void(I), Anything{})...}; };
}

/// How many members an options struct has.
template <typename T, std::size_t N = 0>
constexpr std::size_t member_count() {
  if constexpr (takes<T>(std::make_index_sequence<N + 1>()))
    return member_count<T, N + 1>();
  else
    return N;
}

/// Gives the field another valid value.
inline void change(const Field& field) {
  const std::string before = value_text(field);
  std::vector<std::string> candidates = choices_of(field);
  for (const char* text : {"true", "false", "3", "2", "0.25", "16", "1,2", "100", "ml:7", "pinn",
                           "x", "1e-4", "20000"})
    candidates.push_back(text);
  for (const std::string& text : candidates) {
    try {
      assign(field, text);
    } catch (const InvalidInput&) {
      continue;
    }
    if (value_text(field) != before) return;
  }
  FAIL() << field.name << ": no other valid value found";
}

/// Changes every field alone: one that affects the result must change the key, another one must
/// not. `key` makes the key of an Options.
template <typename Options, typename MakeKey>
void expect_key_to_hold_what_affects_the_result(const Options& start, MakeKey&& key) {
  Options counted = start;
  std::set<std::string> names;
  for (std::size_t i = 0; i < fields(counted).size(); ++i) {
    Options changed = start;
    const Field field = fields(changed)[i];
    EXPECT_TRUE(names.insert(field.name).second) << field.name << " is declared twice";
    change(field);
    const bool same = key(changed) == key(start);
    EXPECT_EQ(same, !field.affects_result) << field.name;
  }
}

}  // namespace ptyche
