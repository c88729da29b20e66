// Random transcripts, a little worse than real ones: trees, calls with and without results,
// pictures, thoughts, every kind of entry, text that is hard on formats. The same seed gives the
// same transcript.
#pragma once

#include <cstdint>
#include <string>

namespace reef::test {

// The bytes of a session.jsonl. Times are whole milliseconds between 2000 and 2100.
std::string random_transcript(std::uint64_t seed);

}  // namespace reef::test
