// What this machine's processor can do.
#pragma once

#include <initializer_list>
#include <string_view>

namespace ptyche {

/// True if the processor has one of these instruction sets, by the names that Linux gives them in
/// /proc/cpuinfo ("avx512_bf16"). Looked up anew at each call, which takes as long as some layers
/// of a network.
bool processor_has_any(std::initializer_list<std::string_view> names);

}  // namespace ptyche
