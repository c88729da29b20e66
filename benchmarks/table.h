// A table for a terminal: first column to the left, numbers to the right.
#pragma once

#include <string>
#include <vector>

namespace reef::benchmarks {

class Table {
 public:
  // Units stand in the heads.
  Table(std::string title, std::vector<std::string> heads);

  // One cell per head; an empty cell is left blank.
  void add(std::vector<std::string> cells);
  // A line below the rows.
  void note(std::string text);
  // A blank line, then the table.
  void print() const;

 private:
  std::string title_;
  std::vector<std::vector<std::string>> rows_;  // the heads first
  std::vector<std::string> notes_;
};

// Three digits that matter: 0.123, 4.56, 78.9, 1234
std::string number(double value);

}  // namespace reef::benchmarks
