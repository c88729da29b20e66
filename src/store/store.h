// Table of contents of store/: the implementations of session::Store.
//
//   fs/fs_store.h    FsStore    sessions/<id>/session.jsonl under a home; the default
//   fs/appends.h     Appends    durable appends, many behind one sync
//   mem/mem_store.h  MemStore   the same contract without a disk; tests and embedding
//
// and of session::Documents, all else that a home holds:
//
//   fs/fs_documents.h    FsDocuments   the files of a home
//   fs/fs_watch.h        FsWatch       what tells of changes in them
//   mem/mem_documents.h  MemDocuments  the same contract without a disk
#pragma once

#include "store/fs/fs_documents.h"
#include "store/fs/fs_store.h"
#include "store/mem/mem_documents.h"
#include "store/mem/mem_store.h"
