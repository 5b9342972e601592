// SPDX-License-Identifier: Apache-2.0
// A program's verbs and options, as scripts by which shells complete its command line.
//
// All three work alike.  The words before the cursor lead to a verb, "job start"; options
// and their values are passed over, for they are no verbs of it.  Offered are that verb's own
// verbs and options; behind an option its choices, or files where it takes anything; behind
// "--" whatever the shell would complete.
#pragma once

#include <string>

#include "base/command_line.hpp"

namespace headway {

std::string bash_completion(const VerbDescription& program);
std::string zsh_completion(const VerbDescription& program);
std::string fish_completion(const VerbDescription& program);

}  // namespace headway
