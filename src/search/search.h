// Table of contents of search/: full-text search over documents with weighted fields. It knows
// nothing about sessions.
//
//   index.h           Index, Job               the library's door: add, search, flush, merge
//   query.h           parse_query, Query       any text is a query
//   searcher.h        Searcher, Filter, Hit    the best documents by block-max pruning
//   snippet.h         Snippets                 the part that shows why
//   tokenizer.h       Tokenizer                text to terms
//   stemmer.h         Stemmer, is_stop_word    English word forms
//   spelling.h        Nearness                 words that differ by a few typing mistakes
//   scoring.h         FieldScales, idf         BM25 over fields, defined exactly
//   memory_segment.h  MemorySegment            the newest documents
//   segment.h         Segment, SegmentWriter   an immutable file of documents
//   build.h           Build, Tombstones        one segment out of others
//   manifest.h        Manifest                 which files count
//   matcher.h, cursor.h                        clauses and postings during a search
//   any_of.h, rough_first.h                    documents with any of the words; with common ones
//   norms.h, rough.h, window_sums.h            numbers kept between searches, and adding them up
//   dictionary.h, packing.h, checked_file.h    bytes
//
// docs/search.md has the design and the formats.
#pragma once

#include "search/index.h"
#include "search/query.h"
#include "search/snippet.h"
