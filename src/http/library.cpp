#include "http/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/assert.h"

namespace reef::http {
namespace {

// Debian's libcurl4, the variant with OpenSSL; the number is the version of its interface.
constexpr const char* kFile = "libcurl.so.4";

Library loaded;

Error missing(const char* what) {
  const char* why = ::dlerror();
  return Error(Errc::unavailable, fmt::format("{}: {}", what, why ? why : "not there"));
}

template <class Function>
bool find(void* handle, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(handle, name));
  return into != nullptr;
}

}  // namespace

Status load_library() {
  if (loaded.global_init) return Ok{};
  void* handle = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return missing("HTTP needs libcurl (Debian's libcurl4)");
  Library found;
  const bool whole = find(handle, "curl_easy_init", found.easy_init) &&
                     find(handle, "curl_easy_cleanup", found.easy_cleanup) &&
                     find(handle, "curl_easy_setopt", found.easy_setopt) &&
                     find(handle, "curl_easy_getinfo", found.easy_getinfo) &&
                     find(handle, "curl_easy_pause", found.easy_pause) &&
                     find(handle, "curl_easy_strerror", found.easy_strerror) &&
                     find(handle, "curl_multi_init", found.multi_init) &&
                     find(handle, "curl_multi_cleanup", found.multi_cleanup) &&
                     find(handle, "curl_multi_setopt", found.multi_setopt) &&
                     find(handle, "curl_multi_add_handle", found.multi_add_handle) &&
                     find(handle, "curl_multi_remove_handle", found.multi_remove_handle) &&
                     find(handle, "curl_multi_socket_action", found.multi_socket_action) &&
                     find(handle, "curl_multi_info_read", found.multi_info_read) &&
                     find(handle, "curl_slist_append", found.slist_append) &&
                     find(handle, "curl_slist_free_all", found.slist_free_all) &&
                     find(handle, "curl_global_init", found.global_init);
  if (!whole) return missing("libcurl lacks a function");
  if (found.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return Error(Errc::unavailable, "libcurl cannot be initialised");
  loaded = found;
  return Ok{};
}

const Library& curl() {
  REEF_ASSERT(loaded.global_init);
  return loaded;
}

}  // namespace reef::http
