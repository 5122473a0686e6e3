// What a user did wrong, said in layers: what was expected, what came, in which dataset, in which
// file.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace ptyche {

/// The user's mistake (a file, a value, a combination of options); the message names what was
/// expected and what came. Only `main` prints it and exits with 1. Our own mistakes are `assert`s.
class InvalidInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A solver left the scan behind; the message says where its best image is.
class Diverged : public InvalidInput {
 public:
  using InvalidInput::InvalidInput;
};

/// Long work was stopped by Ctrl-C after its state had been saved; `main` exits with 130.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The work was done and its files are written, but the image is not one of the sample; `main`
/// exits with 4.
class FailedImage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What stands in a message for an argument: its result if it is a function, else itself.
template <typename Arg>
using InMessage = typename std::conditional_t<std::is_invocable_v<Arg>, std::invoke_result<Arg>,
                                              std::type_identity<Arg>>::type;
template <typename Arg>
decltype(auto) in_message(Arg&& arg) {
  if constexpr (std::is_invocable_v<Arg>)
    return arg();
  else
    return std::forward<Arg>(arg);
}

/// Throws InvalidInput with the formatted message unless `condition` holds. An argument that takes
/// work is given as a function, which is called only then: [&] { return values.max(); }.
template <typename... Args>
void require(bool condition, fmt::format_string<InMessage<Args>...> format, Args&&... args) {
  if (!condition)
    throw InvalidInput(fmt::format(fmt::runtime(format), in_message(std::forward<Args>(args))...));
}

/// What a user is told of an exception that comes from outside and is no fault of the program:
/// memory that ran out (std::bad_alloc, LibTorch's own message) or a file that the system refuses.
/// Empty for every other exception.
std::string system_message(const std::exception& error);

/// Runs `work`; an InvalidInput that leaves it gets "context: " in front (a file, a dataset), and
/// so does what the system refuses (system_message), which becomes an InvalidInput.
template <typename Work>
auto with_context(const std::string& context, Work&& work) {
  try {
    return work();
  } catch (const InvalidInput& error) {
    throw InvalidInput(context + ": " + error.what());
  } catch (const std::exception& error) {
    const std::string refused = system_message(error);
    if (refused.empty()) throw;
    throw InvalidInput(context + ": " + refused);
  }
}

}  // namespace ptyche
