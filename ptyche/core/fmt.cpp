// The compiled part of fmt, of which LibTorch ships the headers alone: here once instead of in
// every file (FMT_HEADER_ONLY), where it took a quarter of the time of a build.
#include <fmt/format-inl.h>

template auto fmt::detail::thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto fmt::detail::decimal_point_impl<char>(locale_ref) -> char;
template auto fmt::detail::dragonbox::to_decimal<float>(float) noexcept -> decimal_fp<float>;
template auto fmt::detail::dragonbox::to_decimal<double>(double) noexcept -> decimal_fp<double>;
