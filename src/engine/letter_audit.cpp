#include "engine/letter_audit.hpp"

#include <map>

#include "base/check.hpp"

namespace flowfabric {
namespace {

using StoredRecords = std::map<Key, Record>;

Result<StoredRecords> load_records(Store& store, const std::vector<Key>& keys) {
  StoredRecords records;
  if (keys.empty()) return records;
  FF_TRY(loaded, store.load(keys));
  for (Record& record : loaded) records.emplace(record.key, std::move(record));
  return records;
}

Key execution_of(const Key& letter) { return execution_key(execution_of_letter(letter)); }

WrongLetter missing_letter(const Slot& slot) {
  WrongLetter wrong;
  wrong.problem = name_of_record(slot.key) + " is failed, but is missing from the dead letters";
  wrong.is_missing = true;
  RootChange& guard = wrong.repair.roots.emplace_back();
  guard.key = slot.key;
  guard.expected_version = slot.version;
  guard.action = RootChange::Action::check;
  put_letter(*slot.letter, wrong.repair);
  return wrong;
}

WrongLetter letter_of_nothing(const Slot& slot) {
  WrongLetter wrong;
  wrong.problem = "there is a " + name_of_record(slot.key) + " of " + name_of_record(execution_of(slot.key)) +
                  ", which does not ask for it";
  erase_letter({slot.key, std::get<LetterRecord>(slot.record), slot.version}, wrong.repair);
  return wrong;
}

// Whether the execution, as it is stored, has this letter.
bool asks_for(const StoredRecords& executions, const Slot& slot) {
  const auto found = executions.find(execution_of(slot.key));
  if (found == executions.end()) return false;
  const auto execution = decode_execution(found->second);
  if (!execution) return true;  // nobody knows
  const auto letter = letter_of(*execution);
  return letter && letter->key == slot.key && letter->version == slot.version;
}

}  // namespace

Result<std::vector<WrongLetter>> wrong_letters(Store& store, const std::vector<const Slot*>& slots) {
  std::vector<Key> keys;
  for (const Slot* slot : slots) {
    if (slot->letter) keys.push_back(slot->letter->key);
    if (std::holds_alternative<LetterRecord>(slot->record)) keys.push_back(execution_of(slot->key));
  }
  FF_TRY(found, load_records(store, keys));
  std::vector<WrongLetter> wrong;
  for (const Slot* slot : slots) {
    if (slot->letter && !found.contains(slot->letter->key)) wrong.push_back(missing_letter(*slot));
    if (std::holds_alternative<LetterRecord>(slot->record) && !asks_for(found, *slot)) {
      wrong.push_back(letter_of_nothing(*slot));
    }
  }
  // What has changed since it was read is as it should be, until the next check says otherwise.
  std::vector<Key> again;
  for (const WrongLetter& one : wrong) again.push_back(one.repair.roots.front().key);
  FF_TRY(present, load_records(store, again));
  std::erase_if(wrong, [&](const WrongLetter& one) {
    const RootChange& guard = one.repair.roots.front();
    const auto record = present.find(guard.key);
    return record == present.end() || record->second.version != guard.expected_version;
  });
  return wrong;
}

}  // namespace flowfabric
