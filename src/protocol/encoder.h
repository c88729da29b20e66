// Writes messages of reef.proto field by field, without making objects of them: for large answers
// that are made often. Leaves out values that are a field's default, as the generated code does.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace reef::protocol {

class Encoder {
 public:
  // Appends to `out`.
  explicit Encoder(std::string& out) : out_(out) {}

  void text(int field, std::string_view text) {
    if (!text.empty()) message(field, text);
  }
  void number(int field, std::uint64_t number) {
    if (number == 0) return;
    Short head;
    head.varint(tag(field, kVarint));
    head.varint(number);
    put(head);
  }
  void flag(int field, bool flag) { number(field, flag ? 1 : 0); }
  void real(int field, double number) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    if (bits == 0) return;
    Short head;
    head.varint(tag(field, kFixed64));
    for (unsigned shift = 0; shift < 64; shift += 8) head.byte(bits >> shift);
    put(head);
  }
  // A repeated field.
  void numbers(int field, std::span<const std::uint32_t> numbers) {
    if (numbers.empty()) return;
    std::size_t size = 0;
    for (const auto number : numbers) size += varint_size(number);
    start(field, size);
    for (const auto number : numbers) {
      Short one;
      one.varint(number);
      put(one);
    }
  }
  // A message that is encoded already.
  void message(int field, std::string_view bytes) {
    start(field, bytes.size());
    out_ += bytes;
  }
  // Begins a field whose `size` bytes are written next.
  void start(int field, std::size_t size) {
    Short head;
    head.varint(tag(field, kBytes));
    head.varint(size);
    put(head);
  }

  static constexpr std::size_t varint_size(std::uint64_t value) {
    return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
  }
  // The size of a field that holds a message of `size` bytes.
  static constexpr std::size_t message_size(int field, std::size_t size) {
    return varint_size(tag(field, kBytes)) + varint_size(size) + size;
  }

 private:
  enum Type : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2 };
  static constexpr std::uint64_t tag(int field, Type type) {
    return static_cast<std::uint64_t>(field) << 3 | type;
  }
  // Holds at most two numbers, so that the string's room is checked once for all their bytes.
  struct Short {
    char bytes[20];
    std::size_t size = 0;
    void byte(std::uint64_t value) { bytes[size++] = static_cast<char>(value); }
    void varint(std::uint64_t value) {
      for (; value >= 0x80; value >>= 7) byte(value | 0x80);
      byte(value);
    }
  };
  void put(const Short& head) { out_.append(head.bytes, head.size); }

  std::string& out_;
};

}  // namespace reef::protocol
