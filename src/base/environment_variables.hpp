// Which environment variables a record keeps. Header-only and without code of the C++ library, whatever the
// optimization, because the preloaded profiling library uses it too. The lists are those of
// python/commlens/knowledge/{variables,secrets}.yaml.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "base/knowledge_lists.hpp"

namespace commlens::environment {

namespace detail {

/// As starts_with() and substr() do, without the exception of these, which is code of the C++ library.
constexpr bool begins_with(std::string_view text, std::string_view beginning) {
  return text.size() >= beginning.size() && std::equal(beginning.begin(), beginning.end(), text.begin());
}

constexpr bool begins_with_any(std::string_view text, const auto& beginnings) {
  return std::any_of(std::begin(beginnings), std::end(beginnings),
                     [text](std::string_view beginning) { return begins_with(text, beginning); });
}

constexpr char upper(char character) {
  return character >= 'a' && character <= 'z' ? static_cast<char>(character - 'a' + 'A') : character;
}

constexpr bool is_letter_or_digit(char character) {
  return (character >= '0' && character <= '9') || (upper(character) >= 'A' && upper(character) <= 'Z');
}

/// Whether `word`, in capitals, stands in the text from `start` on, in whatever case.
constexpr bool stands_at(std::string_view text, std::size_t start, std::string_view word) {
  if (text.size() - start < word.size()) return false;
  for (std::size_t index = 0; index < word.size(); ++index) {
    if (upper(text[start + index]) != word[index]) return false;
  }
  return true;
}

constexpr bool sounds_secret(std::string_view name) {
  for (std::size_t start = 0; start < name.size(); ++start) {
    for (const std::string_view word : knowledge::secrets::secret_words) {
      if (stands_at(name, start, word)) return true;
    }
    if (start > 0 && is_letter_or_digit(name[start - 1])) continue;
    for (const std::string_view word : knowledge::secrets::secret_names) {
      const std::size_t end = start + word.size();
      if (stands_at(name, start, word) && (end == name.size() || !is_letter_or_digit(name[end]))) return true;
    }
  }
  return false;
}

/// `user=me,password=word`, `Bearer word`, `https://host/?sig=word`, or the key of a service.
constexpr bool assigns_secret(std::string_view value) {
  for (std::size_t start = 0; start < value.size(); ++start) {
    for (const std::string_view word : knowledge::secrets::secret_words) {
      const std::size_t end = start + word.size();
      if (stands_at(value, start, word) && end < value.size() &&
          (value[end] == '=' || value[end] == ':' || value[end] == ' '))
        return true;
    }
    if (start > 0 && is_letter_or_digit(value[start - 1])) continue;
    for (const std::string_view word : knowledge::secrets::secret_names) {
      const std::size_t end = start + word.size();
      if (stands_at(value, start, word) && end < value.size() && value[end] == '=') return true;
    }
    std::string_view rest = value;
    rest.remove_prefix(start);
    if (rest.size() >= knowledge::secrets::shortest_key &&
        begins_with_any(rest, knowledge::secrets::beginnings_of_keys)) {
      return true;
    }
  }
  return false;
}

/// One long word of digits and letters of both kinds, as keys and hashes are.
constexpr bool is_like_a_key(std::string_view value) {
  bool has_digit = false;
  bool has_letter = false;
  for (const char character : value) {
    const bool is_digit = character >= '0' && character <= '9';
    const bool is_letter = upper(character) >= 'A' && upper(character) <= 'Z';
    const bool is_base64 = character == '+' || character == '/' || character == '=';
    if (!is_digit && !is_letter && !is_base64) return false;
    has_digit = has_digit || is_digit;
    has_letter = has_letter || is_letter;
  }
  return value.size() >= knowledge::secrets::shortest_secret && has_digit && has_letter && !value.starts_with('/');
}

/// `https://user:password@host`, `user:password@host`
constexpr bool has_password(std::string_view value) {
  const std::size_t colon = value.find(':');
  return colon != std::string_view::npos && value.find('@', colon) != std::string_view::npos;
}

}  // namespace detail

/// Whether the variable is likely to hold a password or a key.
constexpr bool is_secret(std::string_view name, std::string_view value) {
  return detail::sounds_secret(name) || detail::is_like_a_key(value) || detail::has_password(value) ||
         detail::assigns_secret(value) || value.find("-----BEGIN") != std::string_view::npos;
}

/// Whether the variable concerns communication and can be published.
constexpr bool is_recorded(std::string_view name, std::string_view value) {
  return detail::begins_with_any(name, knowledge::variables::recorded) &&
         !detail::begins_with_any(name, knowledge::variables::of_launcher) && !is_secret(name, value);
}

/// Calls visit(name, value) for the variables of an environment that concern communication and can be published.
template <class Visit>
void for_each_recorded(char** environment, Visit visit) {
  for (char** entry = environment; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    std::string_view value = text;
    value.remove_prefix(equals + 1);
    if (is_recorded(name, value)) visit(name, value);
  }
}

/// Whether the variable changes how bytes travel.
constexpr bool is_transport_setting(std::string_view name) {
  return detail::begins_with_any(name, knowledge::variables::transport_settings) &&
         !detail::begins_with_any(name, knowledge::variables::per_process);
}

}  // namespace commlens::environment
