#include "skills/library.h"

namespace reef::skills {
namespace {

Result<Library::Opened> open_now(Shelf& shelf, const std::vector<std::string>& roots,
                                 const std::string& name, const std::string& file) {
  REEF_TRY(auto found, shelf.load(roots, name));
  Library::Opened out{std::move(found), {}, {}};
  if (!file.empty()) {
    REEF_TRY(out.text, shelf.read_bundled(out.found, file));
  }
  out.files = shelf.bundled(out.found);
  return out;
}

}  // namespace

void Library::configure(const std::vector<std::string>& paths) {
  roots_ = {own_};
  roots_.insert(roots_.end(), paths.begin(), paths.end());
}

bool Library::is_bare() const {
  // Configured folders may be on a disk that hangs.
  if (roots_.size() != 1) return false;
  const auto own = files_.stat_path(own_);
  return !own && own.error().code == Errc::not_found;
}

Task<Catalogue> Library::look() {
  if (is_bare()) co_return Catalogue{};
  // A copy of the roots, because a reload may change them while the pool works.
  auto work = [this, roots = roots_] { return shelf_.look(roots); };
  co_return co_await pool_.run(work);
}

Task<Result<Library::Opened>> Library::open(std::string name, std::string file) {
  auto work = [this, roots = roots_, name = std::move(name), file = std::move(file)] {
    return open_now(shelf_, roots, name, file);
  };
  co_return co_await pool_.run(work);
}

}  // namespace reef::skills
