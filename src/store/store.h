// Table of contents of store/: the implementations of what session/ says of a home's bytes.
//
// session::Transcripts:
//
//   fs/fs_transcripts.h    FsTranscripts   sessions/<id>/session.jsonl under a home; the default
//   fs/appends.h           Appends         durable appends, many behind one sync
//   fs/session_folders.h   SessionFolders  what other programs do to them
//   mem/mem_transcripts.h  MemTranscripts  the same contract without a disk; tests and embedding
//
// session::Journal, the catalog and the ledger:
//
//   fs/fs_journal.h        FsJournal       a file
//   mem/mem_journal.h      MemJournal      the same contract without a disk
//
// session::Ownership:
//
//   fs/fs_ownership.h      FsOwnership     the lock on run/reefd.lock
//   mem/mem_ownership.h    MemOwnership    the same contract without a disk
//
// session::Documents, all else that a home holds:
//
//   fs/fs_documents.h      FsDocuments     the files of a home
//   fs/fs_watch.h          FsWatch         what tells of changes in them
//   mem/mem_documents.h    MemDocuments    the same contract without a disk
#pragma once

#include "store/fs/fs_documents.h"
#include "store/fs/fs_journal.h"
#include "store/fs/fs_ownership.h"
#include "store/fs/fs_transcripts.h"
#include "store/mem/mem_documents.h"
#include "store/mem/mem_journal.h"
#include "store/mem/mem_ownership.h"
#include "store/mem/mem_transcripts.h"
