// Sessions as text for people (Markdown) and for programs that read lines (NDJSON). Nothing reads
// these back. docs/formats/ndjson.md describes the lines.
#pragma once

#include <memory>

#include "exchange/exchange.h"

namespace reef::exchange {

// Writes <id>-<title>.md.
std::unique_ptr<Writer> markdown_writer(Outlet& outlet);
// Writes <id>.ndjson, one message a line.
std::unique_ptr<Writer> ndjson_writer(Outlet& outlet);

}  // namespace reef::exchange
