#include "base/loop_time.h"

#include <boost/asio/query.hpp>

namespace reef {

boost::asio::execution_context::id LoopTime::id;

LoopTime& LoopTime::of(const Executor& loop) {
  return boost::asio::use_service<LoopTime>(
      boost::asio::query(loop, boost::asio::execution::context));
}

}  // namespace reef
