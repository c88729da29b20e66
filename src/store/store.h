// Table of contents of store/: the implementations of session::Store.
//
//   fs/fs_store.h    FsStore    sessions/<id>/session.jsonl under a home; the default
//   fs/appends.h     Appends    durable appends, many behind one sync
//   fs/fs_folders.h  FsFolders  the folders beside it, implementing session::Folders
//   mem/mem_store.h  MemStore   the same contract without a disk; tests and embedding
#pragma once

#include "store/fs/fs_folders.h"
#include "store/fs/fs_store.h"
#include "store/mem/mem_store.h"
