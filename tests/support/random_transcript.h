// Transcripts as they could be, and a little worse: trees, calls with and without results,
// pictures, thoughts, every kind of entry, text that is hard on formats. The same seed gives the
// same.
#pragma once

#include <cstdint>
#include <string>

namespace reef::test {

// The bytes of a session.jsonl. Times are of whole milliseconds, after 2000 and before 2100.
std::string random_transcript(std::uint64_t seed);

}  // namespace reef::test
