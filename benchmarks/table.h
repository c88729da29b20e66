// A table for a terminal: the first column to the left, numbers to the right.
#pragma once

#include <string>
#include <vector>

namespace reef::benchmarks {

class Table {
 public:
  // The heads name the units.
  Table(std::string title, std::vector<std::string> heads);

  // One cell per head; an empty cell is left blank.
  void add(std::vector<std::string> cells);
  // Adds a line below the rows.
  void note(std::string text);
  // Prints a blank line and then the table.
  void print() const;

 private:
  std::string title_;
  std::vector<std::vector<std::string>> rows_;  // the heads first
  std::vector<std::string> notes_;
};

// Writes three significant digits: 0.123, 4.56, 78.9, 1234
std::string number(double value);

}  // namespace reef::benchmarks
