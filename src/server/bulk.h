// Changes of sessions, as requests say them.
#pragma once

#include <string>

#include <google/protobuf/repeated_field.h>

#include "base/result.h"
#include "organise/changes.h"

namespace reef::server {

// Reads a merge patch as JSON, and labels to add and remove.
Result<organise::Change> change_from(const std::string& patch,
                                     const google::protobuf::RepeatedPtrField<std::string>& add,
                                     const google::protobuf::RepeatedPtrField<std::string>& remove);

}  // namespace reef::server
