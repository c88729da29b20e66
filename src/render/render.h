// Table of contents of render/: what every face shows, before it is drawn. No terminal, no browser.
//
//   text.h       Span, Line                  styled text
//   markdown.h   parse_markdown, Block      a text as blocks
//   stream.h     MarkdownStream             a text that is still being written
//   pieces.h     Pieces                     where blocks end
//   code.h       highlight                  code in colours, of the languages in languages.cpp
//   compare.h    compare                    what of one list became what of another
//   file_change.h      FileChange, combine             changes of files, put together
//   diff.h       FileDiff                   a change as people see it
//   width.h      width                      how many cells text takes
//   wrap.h       wrap, cut                  lines of a width
//   layout.h     lay_out                    blocks as lines of a width
//
// Pure functions and values; any thread. Text comes from models, tools and files: nothing of it
// reaches a face that could drive a terminal or a page (utf8::visible).
#pragma once

#include "render/code.h"
#include "render/diff.h"
#include "render/layout.h"
#include "render/markdown.h"
#include "render/stream.h"
#include "render/text.h"
#include "render/width.h"
#include "render/wrap.h"
