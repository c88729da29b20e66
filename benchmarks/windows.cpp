// Contexts for a model: building, measuring in tokens, pruning and cutting. Also compares the
// estimates with the counts of real tokenizers.
#include <sstream>

#include <fmt/format.h>

#include "base/files.h"
#include "context/context.h"
#include "groups.h"
#include "measure.h"
#include "process.h"
#include "sessions.h"
#include "table.h"
#include "talk.h"
#include "transcripts.h"

namespace reef::benchmarks {
namespace {

constexpr std::size_t kSizes[] = {100, 1'000, 10'000, 100'000};
constexpr int kRepeats = 9;

template <class Work>
Nanos median_of(const Work& work) {
  Samples samples;
  for (int i = 0; i < kRepeats; ++i) {
    const auto began = now();
    work();
    samples.add(now() - began);
  }
  return samples.median();
}

std::vector<session::Entry> many_entries(std::size_t count) {
  std::vector<session::Entry> out;
  SeededRandom random(count);
  std::optional<session::EntryId> parent;
  for (std::size_t i = 0; i < count; ++i) {
    auto draft =
        i % 2 == 0 ? user_says(std::string(kUserText)) : assistant_says(std::string(kReplyText));
    out.push_back(session::make_entry(std::move(draft), session::EntryId{random.hex(8)}, parent,
                                      SystemClock().now()));
    parent = out.back().id;
  }
  return out;
}

void print_building() {
  Table table("Building what a model is given from entries in memory, median",
              {"entries", "text MiB", "copying the text ms (limit)", "build ms", "count ms",
               "weigh ms", "prune ms", "choose cut ms"});
  for (const auto size : kSizes) {
    const auto entries = many_entries(size);
    std::vector<const session::Entry*> branch;
    for (const auto& entry : entries) branch.push_back(&entry);
    const auto context = session::build_context(branch);
    const auto messages = session::for_model(context);
    std::size_t bytes = 0;
    for (const auto& message : messages) bytes += session::text_of(*message).size();
    std::string copy;
    const auto copying = median_of([&] {
      copy.clear();
      for (const auto& message : messages) copy += session::text_of(*message);
    });
    const auto build = median_of([&] { session::for_model(session::build_context(branch)); });
    const auto count = median_of([&] { context::count(context); });
    double weight = 0;
    const auto weigh = median_of([&] {
      for (const auto& message : messages) weight += context::weigh(*message);
    });
    const auto prune = median_of([&] { context::prune(messages, 200'000, {}, {}); });
    const auto cut = median_of([&] { context::choose_cut(branch, {}); });
    table.add({fmt::format("{}", size), number(static_cast<double>(bytes) / (1 << 20)),
               number(in_ms(copying)), number(in_ms(build)), number(in_ms(count)),
               number(in_ms(weigh)), number(in_ms(prune)), number(in_ms(cut))});
  }
  table.print();
}

struct Sample {
  std::string name, text;
  std::int64_t counted[2] = {0, 0};  // cl100k, o200k
};

// Reads texts of several kinds and the counts of two public tokenizers for each.
Result<std::vector<Sample>> read_samples() {
  PosixFiles files;
  const std::string folder = REEF_TOKEN_SAMPLES;
  REEF_TRY(const auto list, read_all(files, folder + "/counts"));
  std::vector<Sample> out;
  std::istringstream lines(list);
  for (Sample sample; lines >> sample.name >> sample.counted[0] >> sample.counted[1];) {
    REEF_TRY(sample.text, read_all(files, folder + "/" + sample.name));
    out.push_back(sample);
  }
  if (out.empty()) return Error(Errc::corrupt, folder + "/counts is empty");
  return out;
}

std::int64_t pi_estimate(const std::string& text) {
  session::UserMessage message;
  message.content.push_back(session::TextBlock{text});
  return context::estimate(session::Message(std::move(message)));
}

double off_by(std::int64_t estimate, std::int64_t counted) {
  return 100 * static_cast<double>(estimate - counted) / static_cast<double>(counted);
}

Status print_estimates() {
  REEF_TRY(const auto samples, read_samples());
  constexpr const char* kTokenizers[] = {"cl100k", "o200k"};
  for (int which = 0; which < 2; ++which) {
    Table table(
        fmt::format("Estimates beside the counts of {}, off by %", kTokenizers[which]),
        {"text", "bytes", "counted", "pi (UTF-16 by 4)", "untaught", "taught by the others"});
    double sums[3] = {0, 0, 0};
    for (const auto& sample : samples) {
      const auto counted = sample.counted[which];
      const auto weight = context::weigh(sample.text);
      context::Estimator taught;
      for (const auto& other : samples)
        if (&other != &sample) taught.learn(context::weigh(other.text), other.counted[which]);
      const double off[] = {off_by(pi_estimate(sample.text), counted),
                            off_by(context::Estimator().estimate(weight), counted),
                            off_by(taught.estimate(weight), counted)};
      for (int i = 0; i < 3; ++i) sums[i] += std::abs(off[i]);
      table.add({sample.name.substr(0, sample.name.find('.')),
                 fmt::format("{}", sample.text.size()), fmt::format("{}", counted),
                 fmt::format("{:+.1f}", off[0]), fmt::format("{:+.1f}", off[1]),
                 fmt::format("{:+.1f}", off[2])});
    }
    const auto mean = [&](int i) {
      return fmt::format("{:.1f}", sums[i] / static_cast<double>(samples.size()));
    };
    table.add({"mean of all", "", "", mean(0), mean(1), mean(2)});
    // A conversation of growing requests with mixed text, each followed by a report, as in real
    // turns.
    context::Estimator estimator;
    double weight = 0;
    std::int64_t counted = 0;
    for (int round = 0; round < 4; ++round)
      for (const auto& sample : samples) {
        weight += context::weigh(sample.text);
        counted += sample.counted[which];
        estimator.learn(weight, counted);
      }
    table.note(
        fmt::format("a conversation of all of them, a report after each: off by {:.1f} % in "
                    "the mean",
                    100 * estimator.error()));
    table.print();
  }
  return Ok{};
}

}  // namespace

Status contexts() {
  REEF_TRY(const Scratch scratch, Scratch::make());
  const auto pi = Pi::find();
  if (!pi) fmt::print("pi is left out: {}\n", pi.error().what);
  REEF_CHECK(print_contexts(scratch.path(), pi));
  print_building();
  return print_estimates();
}

}  // namespace reef::benchmarks
