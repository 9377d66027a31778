// The keys of records: a kind, an id and a partition.
#include "base/check.hpp"
#include "base/hashing.hpp"
#include "base/limits.hpp"
#include "core/records.hpp"

namespace flowfabric {

Key make_key(RecordKind kind, std::string_view id, std::uint16_t partition) {
  Key key;
  key.bytes.reserve(id.size() + 3);
  key.bytes += static_cast<char>(kind);
  key.bytes += id;
  key.bytes += static_cast<char>(partition >> 8);
  key.bytes += static_cast<char>(partition & 255);
  FF_CHECK(key.bytes.size() <= limits::max_key_bytes);
  return key;
}

Key execution_key(const ExecutionId& id) {
  return make_key(RecordKind::execution, {reinterpret_cast<const char*>(id.uuid.bytes.data()), id.uuid.bytes.size()},
                  id.partition);
}

namespace {

ExecutionId id_of(const Key& key) {
  FF_CHECK(key.bytes.size() == execution_key_bytes);
  ExecutionId id;
  id.partition = key.partition();
  const std::string_view bytes = key.id();
  for (std::size_t i = 0; i < 16; ++i) id.uuid.bytes[i] = static_cast<std::uint8_t>(bytes[i]);
  return id;
}

}  // namespace

ExecutionId execution_id_of(const Key& key) {
  FF_CHECK(key.kind() == RecordKind::execution);
  return id_of(key);
}

Key flow_key(const FlowId& id) {
  return make_key(RecordKind::flow, {reinterpret_cast<const char*>(id.uuid.bytes.data()), id.uuid.bytes.size()},
                  id.partition);
}

// Keys of one flow lie next to each other, as those of its members do.
Key flow_name_key(const FlowId& flow, std::string_view node) {
  const std::string uuid(reinterpret_cast<const char*>(flow.uuid.bytes.data()), flow.uuid.bytes.size());
  const Sha256 digest = sha256(uuid + std::string(node));
  const std::string_view hash(reinterpret_cast<const char*>(digest.data()), 16);
  return make_key(RecordKind::flow_name, uuid.substr(0, 6) + std::string(hash), flow.partition);
}

FlowId flow_id_of(const Key& key) {
  FF_CHECK(key.kind() == RecordKind::flow);
  return id_of(key);
}

// The first six bytes are those of the flow, which are a time if the id was generated: records of one flow lie close to
// each other in the store. The others are a hash, so that flows with similar ids do not have members in common.
ExecutionId member_id(const FlowId& flow, std::uint32_t ordinal) {
  std::string text(reinterpret_cast<const char*>(flow.uuid.bytes.data()), flow.uuid.bytes.size());
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(ordinal >> shift);
  const Sha256 digest = sha256(text);
  ExecutionId id;
  id.partition = flow.partition;
  id.uuid = flow.uuid;
  for (std::size_t i = 6; i < 16; ++i) id.uuid.bytes[i] = digest[i];
  id.uuid.bytes[6] = static_cast<std::uint8_t>((id.uuid.bytes[6] & 0x0f) | 0x80);  // version 8: an own scheme
  id.uuid.bytes[8] = static_cast<std::uint8_t>((id.uuid.bytes[8] & 0x3f) | 0x80);
  return id;
}

FlowId flow_of(const Execution& execution) { return {execution.id.partition, *execution.spec.flow}; }

Key lane_key(std::string_view lane) { return make_key(RecordKind::lane, lane, partition_of(lane)); }

Key namespace_key(std::string_view name_space) {
  return make_key(RecordKind::name_space, name_space, partition_of(name_space));
}

std::uint16_t worker_partition(std::string_view worker_instance_id) {
  return static_cast<std::uint16_t>(fnv1a64(worker_instance_id) % partition_count);
}

// Neither part has control characters, so the zero between them and the zero that a partition below 256 begins with come
// before anything else: keys order as (namespace, instance id) does, also where one name begins with another.
Key worker_key(std::string_view name_space, std::string_view worker_instance_id) {
  std::string id(name_space);
  id += '\0';
  id += worker_instance_id;
  return make_key(RecordKind::worker, id, worker_partition(worker_instance_id));
}

Key hooks_key() { return make_key(RecordKind::hooks, "hooks", partition_of("hooks")); }

Key api_keys_key() { return make_key(RecordKind::api_keys, "http", partition_of("http")); }
Key keyring_key() { return make_key(RecordKind::keyring, "handles", partition_of("handles")); }

Key flow_idempotency_key(std::string_view name_space, std::string_view key) {
  // No key of an execution reads like this: a namespace has no control characters.
  return idempotency_key("\x01flow", std::string(name_space) + '\0' + std::string(key));
}

Key idempotency_key(std::string_view name_space, std::string_view key) {
  std::string joined(name_space);
  joined += '\0';
  joined += key;
  const Sha256 digest = sha256(joined);
  const std::string_view id(reinterpret_cast<const char*>(digest.data()), digest.size());
  return make_key(RecordKind::idempotency, id, partition_of(id));
}

}  // namespace flowfabric
