// Which entries of the log a query wants, for stores that cannot ask an index. `root` is not among it: the history of a
// record has a path of its own in most stores.
#pragma once

#include <algorithm>

#include "store/store.hpp"

namespace flowfabric {

// `Entry` is a LogEntry, or one that has views of the same fields.
template <class Entry>
bool wants(const LogQuery& query, const Entry& entry) {
  if (query.name_space && *query.name_space != entry.name_space) return false;
  if (query.lane && *query.lane != entry.lane) return false;
  return query.types.empty() || std::find(query.types.begin(), query.types.end(), entry.type) != query.types.end();
}

}  // namespace flowfabric
