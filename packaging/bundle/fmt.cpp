// SPDX-License-Identifier: Apache-2.0
// fmt's own functions, for the bundle's program: Debian has them as a shared library only, but
// ships the header that they are compiled from.  Its templates that other sources expect to find
// compiled are named here, as fmt's own format.cc names them; it would name more, for wchar_t.
#include <locale>

#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template auto dragonbox::to_decimal(float number) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double number) noexcept -> dragonbox::decimal_fp<double>;
template auto locale_ref::get<std::locale>() const -> std::locale;
template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template void buffer<char>::append(const char* begin, const char* end);
template void vformat_to(buffer<char>& out, basic_string_view<char> format,
                         basic_format_args<buffer_context<char>> values, locale_ref locale);

}  // namespace detail
FMT_END_NAMESPACE
