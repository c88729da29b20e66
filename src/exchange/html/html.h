// Sessions as pages for a browser. Nothing reads these back. docs/exchange.md tells what a page may
// do.
#pragma once

#include <memory>

#include "exchange/exchange.h"

namespace reef::exchange {

// Writes <id>-<title>.html, and index.html when there are several.
std::unique_ptr<Writer> html_writer(Outlet& outlet);

}  // namespace reef::exchange
