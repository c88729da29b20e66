// Documents in memory, for tests that change one of the functions.
#pragma once

#include "store/mem/mem_documents.h"

namespace reef::test {

class WrappedDocuments : public session::Documents {
 public:
  Result<std::optional<session::Document>> read(const std::string& name,
                                                std::uint64_t bytes_max) override {
    return real.read(name, bytes_max);
  }
  Result<session::Version> replace(const std::string& name, std::string_view bytes,
                                   const session::Expected& expected) override {
    return real.replace(name, bytes, expected);
  }
  Status remove(const std::string& name, const session::Expected& expected) override {
    return real.remove(name, expected);
  }
  Status rename(const std::string& from, const std::string& to,
                const session::Expected& expected) override {
    return real.rename(from, to, expected);
  }
  Result<session::DocumentPage> list(const std::string& folder, std::size_t limit,
                                     const std::string& cursor) override {
    return real.list(folder, limit, cursor);
  }
  Result<std::shared_ptr<session::OpenDocument>> open(const std::string& name) override {
    return real.open(name);
  }
  Result<std::unique_ptr<session::NewDocument>> receive() override { return real.receive(); }
  bool unchanged(const std::string& name, const std::optional<session::Version>& seen) override {
    return real.unchanged(name, seen);
  }
  Result<std::unique_ptr<Watch>> watch(Executor loop, std::string what, Changed changed) override {
    return real.watch(std::move(loop), std::move(what), std::move(changed));
  }

  store::MemDocuments real;
};

}  // namespace reef::test
