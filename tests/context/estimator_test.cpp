// Estimates beside what public tokenizers counted of texts of several kinds
// (benchmarks/token_samples).
#include <cmath>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "context/estimate.h"

namespace reef::context {
namespace {

struct Sample {
  std::string name, text;
  std::int64_t counted[2] = {0, 0};  // cl100k, o200k
};

std::vector<Sample> samples() {
  std::vector<Sample> out;
  std::ifstream lines(REEF_TOKEN_SAMPLES "/counts");
  for (Sample sample; lines >> sample.name >> sample.counted[0] >> sample.counted[1];) {
    std::ifstream file(REEF_TOKEN_SAMPLES "/" + sample.name);
    std::stringstream text;
    text << file.rdbuf();
    sample.text = text.str();
    out.push_back(sample);
  }
  return out;
}

double off(const Sample& sample, int which, std::int64_t estimate) {
  const auto counted = static_cast<double>(sample.counted[which]);
  return std::abs(static_cast<double>(estimate) - counted) / counted;
}

TEST(EstimatorOnText, AnEstimateIsNearWithoutAnyReport) {
  const auto all = samples();
  ASSERT_GE(all.size(), 8U);
  for (const int which : {0, 1}) {
    double sum = 0;
    for (const auto& sample : all) {
      const auto error = off(sample, which, Estimator().estimate(weigh(sample.text)));
      EXPECT_LT(error, 0.35) << sample.name << " " << which;
      sum += error;
    }
    EXPECT_LT(sum / static_cast<double>(all.size()), 0.18) << which;
  }
}

TEST(EstimatorOnText, AnEstimateIsNearerAfterReports) {
  const auto all = samples();
  for (const int which : {0, 1}) {
    Estimator estimator;
    double weight = 0;
    std::int64_t counted = 0;
    for (int round = 0; round < 4; ++round)
      for (const auto& sample : all) {
        weight += weigh(sample.text);
        counted += sample.counted[which];
        estimator.learn(weight, counted);
      }
    EXPECT_LT(estimator.error(), 0.06) << which;
  }
}

}  // namespace
}  // namespace reef::context
