// Made by `npm run types` from /openapi.json; do not edit. The suite `browser` compares it with the server.

export interface ActivitySample {
  at: number;
  created: number;
  claimed: number;
  completed: number;
  failed: number;
  cancelled: number;
  wait_p50_ms?: number;
  wait_p95_ms?: number;
  run_p50_ms?: number;
  run_p95_ms?: number;
  incomplete?: boolean;
}

export interface ApiKey {
  key_id: string;
  name: string;
  role: 'viewer' | 'worker' | 'operator' | 'admin';
  namespace?: string;
  created_at?: number;
  created_by: string;
  expires_at?: number;
}

export interface ApiKeyRequest {
  name: string;
  role: 'viewer' | 'worker' | 'operator' | 'admin';
  namespace?: string;
  expires_at?: number;
}

export interface ApiKeys {
  keys: ApiKey[];
}

export interface ApprovalInfo {
  title: string;
  approvers: string[];
  needed: number;
  rejections: number;
  decisions: Decision[];
  context?: unknown;
  context_base64?: string;
  context_encoding?: string;
}

export interface ApprovalRequest {
  title: string;
  context?: unknown;
  context_base64?: string;
  context_encoding?: string;
  approvers?: string[];
  needed?: number;
  rejections?: number;
}

export interface Attempt {
  attempt_index: number;
  attempt_id: string;
  attempt_type: 'initial' | 'retry' | 'reclaim' | 'replay';
  attempt_state: 'started' | 'suspended' | 'ended_success' | 'ended_failure' | 'ended_cancelled' | 'interrupted' | 'interrupted_reclaimed';
  lease_epoch: number;
  worker_id: string;
  worker_instance_id: string;
  started_at?: number;
  suspended_at?: number;
  resumed_at?: number;
  ended_at?: number;
  timeout_at?: number;
  timeout_left_ms?: number;
  previous_attempt_index?: number;
  reason?: string;
  requested_by?: string;
  failure?: Failure;
  has_result: boolean;
  result_encoding?: string;
}

export interface AttemptsReply {
  attempts: Attempt[];
  next_cursor: string;
}

export interface Attention {
  severity: 'warning' | 'error';
  code: string;
  message: string;
  link?: string;
}

export interface BackfillBody {
  namespace?: string;
  from: number;
  to: number;
  reason?: string;
}

export interface BackfillReply {
  created: number;
  existing: number;
  executions: RunningFiring[];
}

export interface BudgetBalance {
  budget: string;
  account: string[];
  dimension: string;
  spent: number;
  hard?: number;
  soft?: number;
  warning: boolean;
  overdrawn: boolean;
  period_end?: number;
}

export interface BudgetDimension {
  name: string;
  hard?: number;
  soft?: number;
  reserve: number;
}

export interface BudgetSpec {
  dimensions: BudgetDimension[];
  period: string;
  time_zone: string;
  on_hard_limit: 'deny' | 'pause' | 'fail' | 'cancel_pending' | 'notify';
}

export interface BudgetUse {
  period_start?: number;
  period_end?: number;
  paused: boolean;
  resets: number;
  breaches: number;
  dimensions: DimensionUse[];
  bucket_ms: number;
  usage: UsageBucket[];
}

export interface BulkBody {
  action: 'cancel' | 'replay' | 'priority';
  ids?: string[];
  filter?: ExecutionFilter;
  dry_run?: boolean;
  priority?: number;
  from_step?: string;
  reason?: string;
  limit?: number;
  cursor?: string;
}

export interface BulkFailure {
  execution_id: string;
  error: ErrorDetail;
}

export interface BulkReply {
  matched: number;
  changed: number;
  unchanged: number;
  skipped: number;
  results: BulkSuccess[];
  failures: BulkFailure[];
  next_cursor: string;
  done: boolean;
}

export interface BulkSignalBody {
  ids?: string[];
  filter?: ExecutionFilter;
  dry_run?: boolean;
  limit?: number;
  cursor?: string;
  waitpoint: string;
  name?: string;
  payload?: unknown;
  payload_base64?: string;
  payload_encoding?: string;
  source?: string;
  idempotency_key?: string;
}

export interface BulkSuccess {
  execution_id: string;
  already_cancelled?: boolean;
  replay_count?: number;
  public_state?: 'waiting' | 'delayed' | 'rate_limited' | 'waiting_children' | 'active' | 'suspended' | 'resumable' | 'completed' | 'failed' | 'cancelled' | 'expired' | 'skipped';
  priority?: number;
  signal?: SignalReply;
}

export interface Caller {
  name: string;
  role: 'viewer' | 'worker' | 'operator' | 'admin';
  namespace?: string;
}

export interface CancelHeldBody {
  handle: string;
  reason?: string;
}

export interface CancelReply {
  already_cancelled: boolean;
}

export interface ChangeBudgetBody {
  namespace?: string;
  change: 'reset' | 'resume' | 'adjust';
  account?: string[];
  amounts?: Record<string, number>;
  reason?: string;
}

export interface Checkpoint {
  checkpoint?: unknown;
  checkpoint_base64?: string;
  encoding: string;
  recorded_at?: number;
}

export interface CheckpointBody {
  handle: string;
  checkpoint?: unknown;
  checkpoint_base64?: string;
  encoding?: string;
}

export interface ClaimForWorkerRequest {
  namespace?: string;
  lane?: string;
  worker_id: string;
  worker_instance_id: string;
  capabilities?: string[];
  grant_ttl_ms?: number;
  capability_hash?: string;
  route_snapshot?: string;
  admission_summary?: string;
}

export interface ClaimReply {
  executions: ClaimedExecution[];
}

export interface ClaimRequest {
  worker_namespace?: string;
  worker_id: string;
  worker_instance_id: string;
  namespace?: string;
  lanes?: string[];
  lane_weights?: Record<string, number>;
  capabilities?: string[];
  max_executions?: number;
  lease_ttl_ms?: number;
  wait_ms?: number;
}

export interface ClaimedExecution {
  execution_id: string;
  namespace: string;
  lane: string;
  kind: string;
  payload?: unknown;
  payload_base64?: string;
  payload_encoding?: string;
  priority: number;
  tags: Record<string, string>;
  attempt: Attempt;
  lease: Lease;
  created_at?: number;
  deadline_at?: number;
  traceparent?: string;
  handle_kind: 'fresh' | 'resumed' | 'reclaimed';
  handle: string;
  steps: Step[];
  next_step_position: number;
  checkpoint?: Checkpoint;
  last_wait?: WaitOutcome;
  flow_id?: string;
  node?: string;
  inputs: FlowInput[];
  next_input: number;
}

export interface CompleteBody {
  handle: string;
  result?: unknown;
  result_base64?: string;
  result_encoding?: string;
}

export interface CompleteRequest {
  result?: unknown;
  result_base64?: string;
  result_encoding?: string;
}

export interface Completion {
  handle: string;
  complete?: CompleteRequest;
  fail?: FailRequest;
}

export interface CompletionDone {
  fail?: FailReply;
}

export interface CompletionDoneItem {
  value?: CompletionDone;
  error?: ErrorDetail;
}

export interface CompletionsBody {
  completions: Completion[];
}

export interface CompletionsReply {
  results: CompletionDoneItem[];
}

export interface CountsReply {
  lanes: LaneCounts[];
}

export interface CreateMany {
  executions: CreateRequest[];
}

export interface CreateRequest {
  namespace?: string;
  lane?: string;
  kind: string;
  payload?: unknown;
  payload_base64?: string;
  payload_encoding?: string;
  priority?: number;
  tags?: Record<string, string>;
  required_capabilities?: string[];
  policy?: Policy;
  delay_until?: number;
  deadline_at?: number;
  delay_ms?: number;
  deadline_ms?: number;
  creator?: string;
  idempotency_key?: string;
  id?: string;
  traceparent?: string;
  unique?: UniqueKey;
  debounce?: Debounce;
  throttle?: Throttle;
  reserve?: Record<string, number>;
}

export interface Created {
  execution_id: string;
  public_state?: 'waiting' | 'delayed' | 'rate_limited' | 'waiting_children' | 'active' | 'suspended' | 'resumable' | 'completed' | 'failed' | 'cancelled' | 'expired' | 'skipped';
  duplicate: boolean;
  outcome: 'created' | 'duplicate' | 'returned' | 'replaced' | 'debounced' | 'throttled';
  replaced?: string;
}

export interface CreatedItem {
  value?: Created;
  error?: ErrorDetail;
}

export interface CreatedMany {
  results: CreatedItem[];
}

export interface DeadLetter {
  summary: ExecutionSummary;
  failure: Failure;
  failed_at?: number;
  replay_count: number;
  max_replays: number;
  redrive_id?: string;
}

export interface DeadLetterDetails {
  group: DeadLetterGroup;
  executions: DeadLetter[];
  next_cursor: string;
}

export interface DeadLetterGroup {
  namespace: string;
  fingerprint: string;
  kind?: string;
  category?: string;
  message?: string;
  example?: string;
  count: number;
  first_at?: number;
  last_at?: number;
  lanes: DeadLetterLane[];
}

export interface DeadLetterLane {
  lane: string;
  count: number;
}

export interface DeadLetterPage {
  groups: DeadLetterGroup[];
  executions: number;
  total_groups: number;
  next_cursor: string;
}

export interface Debounce {
  key: string;
  delay_ms: number;
  max_wait_ms?: number;
}

export interface DecideBody {
  decision: 'approve' | 'reject';
  comment?: string;
  actor?: string;
}

export interface Decision {
  decision: 'approve' | 'reject';
  actor: string;
  comment?: string;
  decided_at?: number;
}

export interface DelayBody {
  handle: string;
  delay_until?: number;
  delay_ms?: number;
}

export interface DelayReply {
  delay_until?: number;
}

export interface DimensionUse {
  name: string;
  spent: number;
  reserved: number;
  hard?: number;
  soft?: number;
  runs_out_at?: number;
  per_hour: number;
}

export interface DrainReply {
  outcome: 'draining' | 'not_registered';
}

export interface Error {
  error: ErrorDetail;
}

export interface ErrorDetail {
  code: 'invalid_argument' | 'payload_too_large' | 'invalid_handle' | 'not_found' | 'conflict' | 'lane_closed' | 'not_active' | 'lease_expired' | 'lease_revoked' | 'stale_lease' | 'no_active_lease' | 'already_terminal' | 'not_terminal' | 'max_replays_exhausted' | 'not_eligible' | 'capability_mismatch' | 'grant_already_exists' | 'invalid_claim_grant' | 'claim_grant_expired' | 'invalid_token' | 'waitpoint_closed' | 'budget_exceeded' | 'cursor_expired' | 'contended' | 'overloaded' | 'throttled' | 'shutting_down' | 'timed_out' | 'unavailable' | 'outcome_unknown' | 'schema_mismatch' | 'corruption' | 'unauthenticated' | 'permission_denied' | 'method_not_allowed' | 'unsupported_media_type' | 'unsupported' | 'internal';
  message: string;
  field?: string;
  retryable: boolean;
  details?: Record<string, string>;
}

export interface Event {
  type: 'created' | 'ready' | 'claimed' | 'resumed' | 'delayed' | 'retry_scheduled' | 'lease_expired' | 'lease_revoked' | 'completed' | 'failed' | 'cancelled' | 'expired' | 'replayed' | 'priority_changed' | 'tags_changed' | 'lane_changed' | 'namespace_changed' | 'worker_registered' | 'worker_refreshed' | 'worker_marked_dead' | 'worker_ttl_swept' | 'worker_draining' | 'lease_reclaimed' | 'grant_issued' | 'grant_expired' | 'keys_rotated' | 'api_key_created' | 'api_key_revoked' | 'retention_run' | 'released' | 'step_recorded' | 'skipped' | 'flow_submitted' | 'flow_cancelling' | 'flow_completed' | 'flow_failed' | 'flow_cancelled' | 'flow_reopened' | 'flow_extended' | 'flow_sealed' | 'joining' | 'held_back' | 'waitpoint_opened' | 'suspended' | 'signal_delivered' | 'wait_ended' | 'wait_escalated' | 'waitpoint_closed' | 'waitpoint_reissued' | 'hook_created' | 'hook_removed' | 'hook_rotated' | 'schedule_created' | 'schedule_updated' | 'schedule_paused' | 'schedule_resumed' | 'schedule_deleted' | 'schedule_fired' | 'schedule_skipped' | 'schedule_buffered' | 'limited' | 'limit_created' | 'limit_changed' | 'limit_removed' | 'debounced' | 'redrive_created' | 'redrive_paused' | 'redrive_resumed' | 'redrive_cancelled' | 'redrive_completed' | 'budget_warning' | 'budget_exceeded' | 'budget_paused' | 'budget_resumed' | 'budget_reset' | 'budget_adjusted';
  at?: number;
  execution_id?: string;
  flow_id?: string;
  namespace?: string;
  lane?: string;
  kind?: string;
  schedule?: string;
  redrive_id?: string;
  worker_instance_id?: string;
  attempt_index?: number;
  lease_epoch?: number;
  state_before?: 'waiting' | 'delayed' | 'rate_limited' | 'waiting_children' | 'active' | 'suspended' | 'resumable' | 'completed' | 'failed' | 'cancelled' | 'expired' | 'skipped';
  state_after?: 'waiting' | 'delayed' | 'rate_limited' | 'waiting_children' | 'active' | 'suspended' | 'resumable' | 'completed' | 'failed' | 'cancelled' | 'expired' | 'skipped';
  actor?: string;
  reason?: string;
  next_at?: number;
  cursor: string;
  damage?: string;
}

export interface EventPage {
  events: Event[];
  next_cursor: string;
}

export interface ExecutionContext {
  kind: string;
  payload?: unknown;
  payload_base64?: string;
  payload_encoding?: string;
  tags: Record<string, string>;
}

export interface ExecutionDescription {
  summary: ExecutionSummary;
  state: StateVector;
  creator?: string;
  payload_encoding?: string;
  payload_bytes: number;
  required_capabilities: string[];
  policy: Policy;
  submit_key?: SubmitKey;
  lease?: Lease;
  lease_epoch: number;
  grant?: GrantInfo;
  attempt?: Attempt;
  attempts: Attempt[];
  retry_count: number;
  reclaim_count: number;
  replay_count: number;
  delay_until?: number;
  deadline_at?: number;
  last_transition_at?: number;
  last_mutation_at?: number;
  progress?: Progress;
  failure?: Failure;
  fingerprint?: string;
  redrive_id?: string;
  cancellation_reason?: string;
  cancelled_by?: string;
  explain: Reason[];
}

export interface ExecutionFilter {
  namespace?: string;
  lane?: string;
  kind?: string;
  states?: ('waiting' | 'delayed' | 'rate_limited' | 'waiting_children' | 'active' | 'suspended' | 'resumable' | 'completed' | 'failed' | 'cancelled' | 'expired' | 'skipped')[];
  tag?: Record<string, string>;
  flow?: string;
  created_from?: number;
  created_before?: number;
  finished_from?: number;
  finished_before?: number;
}

export interface ExecutionPage {
  executions: ExecutionSummary[];
  next_cursor: string;
}

export interface ExecutionResult {
  outcome: 'none' | 'success' | 'failed' | 'cancelled' | 'expired' | 'skipped';
  attempt_index?: number;
  result?: unknown;
  result_base64?: string;
  result_encoding?: string;
  failure?: Failure;
  finished_at?: number;
}

export interface ExecutionSummary {
  execution_id: string;
  namespace: string;
  lane: string;
  kind: string;
  public_state: 'waiting' | 'delayed' | 'rate_limited' | 'waiting_children' | 'active' | 'suspended' | 'resumable' | 'completed' | 'failed' | 'cancelled' | 'expired' | 'skipped';
  priority: number;
  tags: Record<string, string>;
  created_at?: number;
  started_at?: number;
  finished_at?: number;
  attempt_count: number;
  flow_id?: string;
  node?: string;
  damage?: string;
}

export interface ExecutionWaits {
  wait?: WaitInfo;
  waitpoints: WaitpointInfo[];
  signals: Signal[];
  last_wait?: WaitOutcome;
}

export interface ExpiredLease {
  execution_id: string;
  namespace: string;
  lease_id: string;
  lease_epoch: number;
  worker_id: string;
  worker_instance_id: string;
  attempt_index: number;
  expires_at?: number;
  cause: 'none' | 'expired' | 'revoked';
}

export interface ExpiredLeasePage {
  leases: ExpiredLease[];
  next_cursor: string;
}

export interface ExtendBody {
  handle: string;
  nodes?: FlowNode[];
  edges?: FlowEdge[];
  groups?: FlowGroup[];
}

export interface FailBody {
  handle: string;
  category?: string;
  message?: string;
  detail?: unknown;
  detail_base64?: string;
  retryable?: 'by_policy' | 'never' | 'force';
  retry_after_ms?: number;
}

export interface FailReply {
  decision: 'retry_scheduled' | 'failed';
  retry_at?: number;
  next_attempt_index?: number;
  reason: string;
}

export interface FailRequest {
  category?: string;
  message?: string;
  detail?: unknown;
  detail_base64?: string;
  retryable?: 'by_policy' | 'never' | 'force';
  retry_after_ms?: number;
}

export interface Failure {
  category: string;
  message?: string;
  detail?: unknown;
  detail_base64?: string;
}

export interface FailureFigures {
  kind: string;
  lane: string;
  count: number;
  last_category: string;
  last_at: number;
}

export interface FlowAdded {
  flow_id: string;
  state: 'building' | 'running' | 'blocked' | 'cancelling' | 'completed' | 'failed' | 'cancelled';
  revision: number;
  added_nodes: number;
  added_edges: number;
  nodes: FlowMember[];
}

export interface FlowAddition {
  nodes?: FlowNode[];
  edges?: FlowEdge[];
  groups?: FlowGroup[];
}

export interface FlowCancelBody {
  policy?: 'flow_only' | 'cancel_pending' | 'cancel_all';
  run_cleanup?: boolean;
  reason?: string;
}

export interface FlowCancelReply {
  state: 'building' | 'running' | 'blocked' | 'cancelling' | 'completed' | 'failed' | 'cancelled';
  policy: 'flow_only' | 'cancel_pending' | 'cancel_all';
  already_cancelled: boolean;
}

export interface FlowCancellation {
  policy: 'flow_only' | 'cancel_pending' | 'cancel_all';
  run_cleanup: boolean;
  cause: string;
  by?: string;
  reason?: string;
  at?: number;
}

export interface FlowCounts {
  total: number;
  pending: number;
  succeeded: number;
  failed: number;
  cancelled: number;
  expired: number;
  skipped: number;
}

export interface FlowCreated {
  flow_id: string;
  state?: 'building' | 'running' | 'blocked' | 'cancelling' | 'completed' | 'failed' | 'cancelled';
  duplicate: boolean;
}

export interface FlowDescription {
  summary: FlowSummary;
  creator?: string;
  failure_policy: 'fail_fast' | 'continue';
  revision: number;
  edge_count: number;
  deadline_at?: number;
  last_mutation_at?: number;
  retain_until?: number;
  first_failure?: FlowFailure;
  unhandled_failures: number;
  cancellation?: FlowCancellation;
  explain: Reason[];
}

export interface FlowEdge {
  from: string;
  to: string;
  kind?: 'on_success' | 'on_failure' | 'on_finish' | 'optional' | 'join' | 'within' | 'part' | 'output';
  group?: string;
}

export interface FlowEdgeInfo {
  from: string;
  to: string;
  kind: 'on_success' | 'on_failure' | 'on_finish' | 'optional' | 'join' | 'within' | 'part' | 'output';
  group?: string;
  state: 'waiting' | 'satisfied' | 'unsatisfiable';
}

export interface FlowEdges {
  edges: FlowEdgeInfo[];
  next_cursor?: string;
}

export interface FlowFailure {
  node: string;
  execution_id: string;
  outcome: 'none' | 'success' | 'failed' | 'cancelled' | 'expired' | 'skipped';
  category?: string;
}

export interface FlowGraph {
  summary: FlowSummary;
  nodes: FlowNodeInfo[];
  edges: FlowEdgeInfo[];
  critical_path: string[];
}

export interface FlowGraphReply {
  graph?: FlowGraph;
  drawing?: string;
}

export interface FlowGroup {
  node: string;
  name?: string;
  policy?: 'all' | 'any' | 'quorum' | 'gather';
  k?: number;
  rest?: 'let_run' | 'cancel_remaining';
}

export interface FlowGroupInfo {
  name?: string;
  policy: 'all' | 'any' | 'quorum' | 'gather';
  needed: number;
  edges: number;
  satisfied: number;
  unsatisfiable: number;
  state: 'waiting' | 'fired' | 'impossible';
  rest: 'let_run' | 'cancel_remaining';
  winners: string[];
}

export interface FlowInput {
  name: string;
  execution_id: string;
  outcome: 'none' | 'success' | 'failed' | 'cancelled' | 'expired' | 'skipped';
  result?: unknown;
  result_base64?: string;
  result_encoding?: string;
  by_reference: boolean;
  failure?: Failure;
}

export interface FlowInputs {
  inputs: FlowInput[];
  next_input: number;
}

export interface FlowJoinReply {
  ended: boolean;
}

export interface FlowMember {
  name: string;
  execution_id: string;
}

export interface FlowNode {
  name: string;
  flow?: InnerFlow;
  namespace?: string;
  lane?: string;
  kind?: string;
  payload?: unknown;
  payload_base64?: string;
  payload_encoding?: string;
  priority?: number;
  tags?: Record<string, string>;
  required_capabilities?: string[];
  policy?: Policy;
  delay_until?: number;
  deadline_at?: number;
  delay_ms?: number;
  deadline_ms?: number;
  creator?: string;
  idempotency_key?: string;
  id?: string;
  traceparent?: string;
  unique?: UniqueKey;
  debounce?: Debounce;
  throttle?: Throttle;
  reserve?: Record<string, number>;
}

export interface FlowNodeInfo {
  name: string;
  ordinal: number;
  execution_id: string;
  kind: string;
  lane: string;
  public_state: 'waiting' | 'delayed' | 'rate_limited' | 'waiting_children' | 'active' | 'suspended' | 'resumable' | 'completed' | 'failed' | 'cancelled' | 'expired' | 'skipped';
  started_at?: number;
  finished_at?: number;
  attempt_count: number;
  failure?: Failure;
  groups: FlowGroupInfo[];
  waits_for: string[];
}

export interface FlowNodes {
  nodes: FlowNodeInfo[];
  next_cursor?: string;
}

export interface FlowOutput {
  node: string;
  execution_id: string;
  outcome: 'none' | 'success' | 'failed' | 'cancelled' | 'expired' | 'skipped';
  result?: unknown;
  result_base64?: string;
  result_encoding?: string;
  by_reference: boolean;
}

export interface FlowReplayBody {
  node?: string;
  descendants?: boolean;
  reason?: string;
}

export interface FlowReplayReply {
  state: 'building' | 'running' | 'blocked' | 'cancelling' | 'completed' | 'failed' | 'cancelled';
  revision: number;
}

export interface FlowRequest {
  namespace?: string;
  kind: string;
  nodes?: FlowNode[];
  edges?: FlowEdge[];
  groups?: FlowGroup[];
  open?: boolean;
  failure_policy?: 'fail_fast' | 'continue';
  deadline_at?: number;
  deadline_ms?: number;
  retention?: RetentionPolicy;
  tags?: Record<string, string>;
  creator?: string;
  idempotency_key?: string;
  dedup_window_ms?: number;
  id?: string;
  traceparent?: string;
}

export interface FlowResult {
  flow_id: string;
  state: 'building' | 'running' | 'blocked' | 'cancelling' | 'completed' | 'failed' | 'cancelled';
  counts: FlowCounts;
  finished_at?: number;
  first_failure?: FlowFailure;
  outputs: FlowOutput[];
}

export interface FlowSealed {
  flow_id: string;
  state: 'building' | 'running' | 'blocked' | 'cancelling' | 'completed' | 'failed' | 'cancelled';
  already_sealed: boolean;
}

export interface FlowSummary {
  flow_id: string;
  namespace: string;
  kind: string;
  state: 'building' | 'running' | 'blocked' | 'cancelling' | 'completed' | 'failed' | 'cancelled';
  counts: FlowCounts;
  tags: Record<string, string>;
  created_at?: number;
  finished_at?: number;
  damage?: string;
}

export interface Grant {
  kind: 'claim' | 'reclaim';
  execution_id: string;
  lane: string;
  worker_id: string;
  worker_instance_id: string;
  grant_key: string;
  grant_id: string;
  expires_at?: number;
  capability_hash: string;
  route_snapshot: string;
  admission_summary: string;
}

export interface GrantInfo {
  kind: 'claim' | 'reclaim';
  grant_id: string;
  worker_id: string;
  worker_instance_id: string;
  expires_at?: number;
  capability_hash: string;
  route_snapshot: string;
  admission_summary: string;
}

export interface GrantRequest {
  execution_id: string;
  worker_id: string;
  worker_instance_id: string;
  capabilities?: string[];
  grant_ttl_ms?: number;
  capability_hash?: string;
  route_snapshot?: string;
  admission_summary?: string;
}

export interface HandleBody {
  handle: string;
}

export interface HandlesBody {
  handles: string[];
}

export interface HeartbeatReply {
  outcome: 'refreshed' | 'not_registered';
  next_expiry_at?: number;
  leases: RenewVerdictItem[];
  drain: boolean;
  revoked_leases: string[];
}

export interface HeartbeatRequest {
  namespace?: string;
  worker_instance_id: string;
  leases?: string[];
}

export interface HeldLease {
  execution_id: string;
  namespace: string;
  lane: string;
  kind: string;
  attempt_index: number;
  lease_epoch: number;
  acquired_at?: number;
  renewed_at?: number;
  expires_at?: number;
}

export interface HeldLeasePage {
  leases: HeldLease[];
  next_cursor: string;
}

export interface HookInfo {
  name: string;
  namespace: string;
  scheme: 'github' | 'stripe' | 'slack' | 'hmac';
  signature_header?: string;
  signature_prefix?: string;
  action: 'signal' | 'create';
  execution_at?: string;
  token_at?: string;
  waitpoint?: string;
  signal_name?: string;
  lane: string;
  kind?: string;
  idempotency_at?: string;
  created_at?: number;
  created_by?: string;
  secrets: number;
  older_secret_until?: number;
}

export interface HookReply {
  outcome: 'delivered' | 'created' | 'duplicate' | 'dropped' | 'challenge';
  execution_id?: string;
  reason?: string;
  challenge?: string;
}

export interface HookRequest {
  name: string;
  namespace?: string;
  scheme?: 'github' | 'stripe' | 'slack' | 'hmac';
  signature_header?: string;
  signature_prefix?: string;
  action?: 'signal' | 'create';
  execution_at?: string;
  token_at?: string;
  waitpoint?: string;
  signal_name?: string;
  lane?: string;
  kind?: string;
  idempotency_at?: string;
  secret?: string;
}

export interface HooksReply {
  hooks: HookInfo[];
}

export interface InnerFlow {
  nodes: FlowNode[];
  edges?: FlowEdge[];
  groups?: FlowGroup[];
  failure_policy?: 'fail_fast' | 'continue';
}

export interface JoinBody {
  handle: string;
  names: string[];
}

export interface KeyRotation {
  key_id: number;
  keys: SigningKey[];
}

export interface KeysReply {
  keys: SigningKey[];
}

export interface Lane {
  lane: string;
  state: 'active' | 'paused' | 'draining' | 'disabled';
  changed_at?: number;
  changed_by?: string;
  reason?: string;
  registered_at?: number;
  registered_by?: string;
}

export interface LaneBody {
  state: 'active' | 'paused' | 'draining' | 'disabled';
  reason?: string;
}

export interface LaneCounts {
  lane: string;
  counts: Record<string, number>;
}

export interface LanesReply {
  lanes: Lane[];
}

export interface Lease {
  lease_id: string;
  lease_epoch: number;
  worker_namespace: string;
  worker_id: string;
  worker_instance_id: string;
  lease_ttl_ms: number;
  acquired_at?: number;
  renewed_at?: number;
  expires_at?: number;
}

export interface LimitBody {
  namespace?: string;
  expected_revision?: number;
  reason?: string;
  lane?: string;
  kind?: string;
  per?: string[];
  concurrency?: number;
  rate?: RateLimit;
  budget?: BudgetSpec;
  share?: ShareSpec;
}

export interface LimitCheck {
  limits: LimitChecked[];
  could_start: boolean;
  could_start_at?: number;
}

export interface LimitCheckRequest {
  namespace?: string;
  lane?: string;
  kind?: string;
  creator?: string;
  tags?: Record<string, string>;
  reserve?: Record<string, number>;
}

export interface LimitChecked {
  info: LimitInfo;
  use: LimitUse;
  would_hold_back: boolean;
}

export interface LimitInfo {
  namespace?: string;
  name: string;
  lane?: string;
  kind?: string;
  per: string[];
  concurrency?: number;
  rate?: RateLimit;
  budget?: BudgetSpec;
  share?: ShareSpec;
  revision: number;
  created_at?: number;
  created_by?: string;
  changed_at?: number;
  changed_by?: string;
}

export interface LimitSaved {
  outcome: 'created' | 'changed' | 'unchanged' | 'removed';
  info: LimitInfo;
}

export interface LimitUse {
  key: string[];
  in_use: number;
  free?: number;
  next_start_at?: number;
  held_back: number;
  holders: string[];
  budget?: BudgetUse;
  weight?: number;
}

export interface LimitUseReply {
  info: LimitInfo;
  keys: LimitUse[];
  next_cursor: string;
  keys_hidden: boolean;
}

export interface LimitsReply {
  limits: LimitInfo[];
}

export interface ListFlowsReply {
  flows: FlowSummary[];
  next_cursor?: string;
}

export interface ListSchedulesReply {
  schedules: ScheduleSummary[];
  next_cursor: string;
}

export interface ListWaitsReply {
  waits: WaitingExecution[];
  next_cursor?: string;
}

export interface MarkDeadReply {
  outcome: 'marked' | 'not_registered';
}

export interface Namespace {
  namespace: string;
  retention: RetentionPolicy;
}

export interface NamespaceBody {
  retention: RetentionPolicy;
  reason?: string;
}

export interface NamespacesReply {
  namespaces: Namespace[];
}

export interface NewApiKey {
  key: ApiKey;
  secret: string;
}

export interface NewHook {
  info: HookInfo;
  secret: string;
}

export interface NextGrantReply {
  outcome: 'granted' | 'no_work';
  grant?: Grant;
}

export interface NextRuns {
  next: number[];
}

export interface OpenWaitpointBody {
  handle: string;
  name: string;
  token_ttl_ms?: number;
  approval?: ApprovalRequest;
}

export interface Overview {
  now: number;
  interval_ms: number;
  samples: ActivitySample[];
  lanes: OverviewLane[];
  lanes_left_out?: number;
  failures: FailureFigures[];
  due_lag_ms: number;
  store: OverviewStore;
  batches?: OverviewBatches;
  needs_attention: Attention[];
}

export interface OverviewBatches {
  commits_per_s: number;
  records_per_commit: number;
  commit_p95_ms?: number;
}

export interface OverviewLane {
  lane: string;
  state: 'active' | 'paused' | 'draining' | 'disabled';
  counts: Record<string, number>;
  oldest_waiting_at?: number;
  samples?: number[];
}

export interface OverviewStore {
  kind: string;
  ready: boolean;
  message?: string;
}

export interface Policy {
  retry?: RetryPolicy;
  attempt_timeout_ms?: number;
  on_lease_lost?: 'requeue' | 'manual';
  reclaim_grace_ms?: number;
  max_reclaims?: number;
  max_replays?: number;
  dedup_window_ms?: number;
  retention?: RetentionPolicy;
}

export interface PreviewBody {
  cron?: string;
  every_ms?: number;
  anchor_at?: number;
  time_zone?: string;
  exceptions?: string[];
  start_at?: number;
  end_at?: number;
  from?: number;
  count?: number;
}

export interface PriorityBody {
  priority: number;
  reason?: string;
}

export interface Progress {
  percent?: number;
  message?: string;
  updated_at?: number;
}

export interface ProgressBody {
  handle: string;
  percent?: number;
  message?: string;
}

export interface RateLimit {
  count: number;
  period_ms: number;
  burst?: number;
}

export interface Reason {
  code: string;
  sentence: string;
  until?: number;
}

export interface ReasonBody {
  reason?: string;
}

export interface ReasonsReply {
  reasons: Reason[];
}

export interface ReclaimGrantReply {
  outcome: 'granted' | 'not_reclaimable' | 'reclaim_cap_exceeded';
  grant?: Grant;
  detail?: string;
  count?: number;
}

export interface ReclaimReply {
  outcome: 'claimed' | 'grant_not_found' | 'not_reclaimable' | 'reclaim_cap_exceeded';
  execution?: ClaimedExecution;
  detail?: string;
  count?: number;
}

export interface RedeemRequest {
  execution_id: string;
  grant_key: string;
  worker_namespace?: string;
  worker_id: string;
  worker_instance_id: string;
  capabilities?: string[];
  lease_ttl_ms?: number;
  max_reclaim_count?: number;
}

export interface Redrive {
  redrive_id: string;
  namespace: string;
  state: 'running' | 'paused' | 'completed' | 'cancelled';
  selection: RedriveSelection;
  rate?: string;
  found: number;
  replayed: number;
  refused: number;
  left: number;
  failed_again: number;
  refusals: RefusedRedrive[];
  created_at?: number;
  changed_at?: number;
  finished_at?: number;
  next_at?: number;
  created_by?: string;
  changed_by?: string;
  reason?: string;
  duplicate?: boolean;
  damage?: string;
}

export interface RedrivePage {
  redrives: Redrive[];
  next_cursor: string;
}

export interface RedriveRequest {
  namespace?: string;
  rate?: string;
  paused?: boolean;
  idempotency_key?: string;
  reason?: string;
  all?: boolean;
  fingerprints?: string[];
  execution_ids?: string[];
  lane?: string;
  kind?: string;
  category?: string;
  tag?: Record<string, string>;
  failed_from?: number;
  failed_before?: number;
}

export interface RedriveSelection {
  all?: boolean;
  fingerprints?: string[];
  execution_ids?: string[];
  lane?: string;
  kind?: string;
  category?: string;
  tag?: Record<string, string>;
  failed_from?: number;
  failed_before?: number;
}

export interface RefusedRedrive {
  execution_id: string;
  reason: 'max_replays' | 'flow_node' | 'not_failed' | 'not_found' | 'damaged' | 'unique_key';
}

export interface RegisterWorkerReply {
  outcome: 'registered' | 'refreshed';
  registered_at?: number;
  next_expiry_at?: number;
}

export interface ReissueBody {
  source?: string;
  token_ttl_ms?: number;
  revoke_earlier?: boolean;
  reason?: string;
}

export interface RenewVerdict {
  expires_at?: number;
  lease_epoch: number;
  handle: string;
}

export interface RenewVerdictItem {
  value?: RenewVerdict;
  error?: ErrorDetail;
}

export interface ReplayBody {
  reason?: string;
  from_step?: string;
}

export interface ReplayReply {
  replay_count: number;
  public_state: 'waiting' | 'delayed' | 'rate_limited' | 'waiting_children' | 'active' | 'suspended' | 'resumable' | 'completed' | 'failed' | 'cancelled' | 'expired' | 'skipped';
}

export interface RetentionBody {
  older_than_ms?: number;
  namespace?: string;
  lane?: string;
  tag?: Record<string, string>;
  dry_run?: boolean;
  reason?: string;
}

export interface RetentionPolicy {
  completed_ms?: number;
  failed_ms?: number;
  cancelled_ms?: number;
  expired_ms?: number;
  skipped_ms?: number;
}

export interface RetentionReply {
  matched: number;
  removed: number;
}

export interface RetryPolicy {
  max_retries?: number;
  backoff?: 'exponential' | 'fixed';
  initial_delay_ms?: number;
  max_delay_ms?: number;
  multiplier_percent?: number;
  jitter?: 'none' | 'full';
  retryable_categories?: string[];
}

export interface RevokeBody {
  reason?: string;
  expected_lease_id?: string;
}

export interface RevokeReply {
  lease_id: string;
  lease_epoch: number;
  public_state: 'waiting' | 'delayed' | 'rate_limited' | 'waiting_children' | 'active' | 'suspended' | 'resumable' | 'completed' | 'failed' | 'cancelled' | 'expired' | 'skipped';
}

export interface RotateBody {
  grace_ms?: number;
  reason?: string;
}

export interface RotateHookBody {
  grace_ms?: number;
  secret?: string;
}

export interface RunningFiring {
  execution_id?: string;
  flow_id?: string;
  scheduled_at?: number;
}

export interface ScheduleBody {
  namespace?: string;
  reason?: string;
}

export interface ScheduleCounts {
  fired: number;
  skipped: number;
  missed: number;
  refused: number;
  succeeded: number;
  unsuccessful: number;
}

export interface ScheduleDescription {
  summary: ScheduleSummary;
  spec: ScheduleSpec;
  revision: number;
  creator?: string;
  changed_at?: number;
  changed_by?: string;
  reason?: string;
  counts: ScheduleCounts;
  running: RunningFiring[];
  buffered_at?: number;
  history: ScheduleFiring[];
  next: number[];
  explain: Reason[];
}

export interface ScheduleFiring {
  scheduled_at?: number;
  at?: number;
  cause: 'timer' | 'trigger' | 'backfill';
  outcome: 'fired' | 'skipped' | 'buffered' | 'missed' | 'refused';
  execution_id?: string;
  flow_id?: string;
  ended: 'none' | 'success' | 'failed' | 'cancelled' | 'expired' | 'skipped';
  count: number;
  detail?: string;
}

export interface ScheduleRequest {
  namespace?: string;
  name: string;
  paused?: boolean;
  cron?: string;
  every_ms?: number;
  anchor_at?: number;
  time_zone?: string;
  exceptions?: string[];
  start_at?: number;
  end_at?: number;
  jitter_ms?: number;
  overlap?: 'skip' | 'buffer_one' | 'allow' | 'cancel_running';
  catch_up?: 'none' | 'last' | 'all';
  catch_up_limit?: number;
  start_window_ms?: number;
  execution?: CreateRequest;
  flow?: FlowRequest;
}

export interface ScheduleSaved {
  namespace: string;
  name: string;
  state: 'active' | 'paused' | 'deleted';
  revision: number;
  next_at?: number;
  duplicate: boolean;
}

export interface ScheduleSpec {
  cron?: string;
  every_ms?: number;
  anchor_at?: number;
  time_zone: string;
  exceptions: string[];
  start_at?: number;
  end_at?: number;
  jitter_ms: number;
  overlap: 'skip' | 'buffer_one' | 'allow' | 'cancel_running';
  catch_up: 'none' | 'last' | 'all';
  catch_up_limit: number;
  start_window_ms: number;
  execution?: CreateRequest;
  flow?: FlowRequest;
}

export interface ScheduleSummary {
  namespace: string;
  name: string;
  state: 'active' | 'paused' | 'deleted';
  cron?: string;
  every_ms?: number;
  time_zone?: string;
  overlap: 'skip' | 'buffer_one' | 'allow' | 'cancel_running';
  kind?: string;
  lane?: string;
  flow: boolean;
  next_at?: number;
  last_fired_at?: number;
  last?: ScheduleFiring;
  fired: number;
  running: number;
  created_at?: number;
  damage?: string;
}

export interface ScheduleUpdateBody {
  namespace?: string;
  revision?: number;
  reason?: string;
  cron?: string;
  every_ms?: number;
  anchor_at?: number;
  time_zone?: string;
  exceptions?: string[];
  start_at?: number;
  end_at?: number;
  jitter_ms?: number;
  overlap?: 'skip' | 'buffer_one' | 'allow' | 'cancel_running';
  catch_up?: 'none' | 'last' | 'all';
  catch_up_limit?: number;
  start_window_ms?: number;
  execution?: CreateRequest;
  flow?: FlowRequest;
}

export interface Session {
  authentication: boolean;
  signed_in: boolean;
  name?: string;
  role?: 'viewer' | 'worker' | 'operator' | 'admin';
  namespace?: string;
  version?: string;
  store?: string;
}

export interface SessionBody {
  api_key: string;
}

export interface ShareSpec {
  weights: Record<string, number>;
}

export interface Signal {
  number: number;
  waitpoint: string;
  name: string;
  payload?: unknown;
  payload_base64?: string;
  payload_encoding?: string;
  source?: string;
  delivered_at?: number;
}

export interface SignalBody {
  waitpoint: string;
  name?: string;
  payload?: unknown;
  payload_base64?: string;
  payload_encoding?: string;
  source?: string;
  idempotency_key?: string;
}

export interface SignalCount {
  n: number;
  by: 'signals' | 'waitpoints' | 'sources';
  of: SignalMatch[];
}

export interface SignalField {
  pointer: string;
  equals?: unknown;
}

export interface SignalMatch {
  waitpoint?: string;
  name?: string;
  sources: string[];
  fields: SignalField[];
}

export interface SignalReply {
  execution_id: string;
  number?: number;
  effect: 'kept' | 'accepted' | 'resumed' | 'ignored';
  duplicate: boolean;
}

export interface SigningKey {
  key_id: number;
  created_at?: number;
  expires_at?: number;
}

export interface SpendBody {
  handle: string;
  amounts: Record<string, number>;
  key?: string;
  force?: boolean;
}

export interface SpendReply {
  balances: BudgetBalance[];
  repeated: boolean;
}

export interface StateReply {
  public_state: 'waiting' | 'delayed' | 'rate_limited' | 'waiting_children' | 'active' | 'suspended' | 'resumable' | 'completed' | 'failed' | 'cancelled' | 'expired' | 'skipped';
}

export interface StateVector {
  lifecycle_phase: 'runnable' | 'active' | 'suspended' | 'terminal';
  ownership_state: 'unowned' | 'leased' | 'lease_expired_reclaimable' | 'lease_revoked';
  eligibility_state: 'not_applicable' | 'eligible_now' | 'not_eligible_until_time' | 'blocked_by_dependencies' | 'blocked_by_budget' | 'blocked_by_quota' | 'blocked_by_lane_state' | 'blocked_by_operator';
  blocking_reason: 'none' | 'waiting_for_worker' | 'waiting_for_capable_worker' | 'waiting_for_delay' | 'waiting_for_retry_backoff' | 'waiting_for_reclaim_grace' | 'waiting_for_reclaim' | 'paused_by_lane' | 'reserved_by_grant' | 'waiting_for_children' | 'waiting_for_signal' | 'waiting_for_approval' | 'waiting_for_limit' | 'waiting_for_budget';
  terminal_outcome: 'none' | 'success' | 'failed' | 'cancelled' | 'expired' | 'skipped';
  attempt_state: 'pending_first_attempt' | 'running_attempt' | 'attempt_interrupted' | 'pending_retry_attempt' | 'pending_reclaim_attempt' | 'pending_replay_attempt' | 'attempt_terminal' | 'none';
  public_state: 'waiting' | 'delayed' | 'rate_limited' | 'waiting_children' | 'active' | 'suspended' | 'resumable' | 'completed' | 'failed' | 'cancelled' | 'expired' | 'skipped';
}

export interface Step {
  position: number;
  name: string;
  state: 'succeeded' | 'failed' | 'sleep' | 'wait';
  result?: unknown;
  result_base64?: string;
  result_encoding: string;
  failure?: Failure;
  permanent: boolean;
  tries: number;
  duration_ms: number;
  recorded_at?: number;
  wake_at?: number;
  wait?: WaitOutcome;
  attempt_index: number;
  replay_count: number;
  worker_instance_id: string;
}

export interface StepBody {
  handle: string;
  position: number;
  name: string;
  result?: unknown;
  result_base64?: string;
  result_encoding?: string;
  failure?: Failure;
  permanent?: boolean;
  sleep_ms?: number;
  tries?: number;
  duration_ms?: number;
  group_end?: number;
}

export interface StepReply {
  recorded_at?: number;
  wake_at?: number;
  duplicate: boolean;
}

export interface StepsReply {
  steps: Step[];
  next_cursor: string;
}

export interface SubmitKey {
  kind: 'unique' | 'debounce' | 'throttle';
  key: string;
  held: boolean;
}

export interface SuspendBody {
  handle: string;
  waitpoints: WaitpointRequest[];
  condition?: WaitCondition;
  veto?: WaitCondition;
  timeout_ms?: number;
  timeout_at?: number;
  on_timeout?: 'fail' | 'cancel' | 'expire' | 'resume' | 'escalate';
  escalate_ms?: number;
  after_escalation?: 'fail' | 'cancel' | 'expire' | 'resume' | 'escalate';
  resume_delay_ms?: number;
  reason?: string;
  idempotency_key?: string;
  position?: number;
  step_name?: string;
}

export interface SuspendReply {
  suspended: boolean;
  duplicate: boolean;
  wait?: number;
  timeout_at?: number;
  tokens: WaitpointToken[];
  outcome?: WaitOutcome;
}

export interface TagsBody {
  set?: Record<string, string>;
  remove?: string[];
  reason?: string;
}

export interface TagsHeldBody {
  handle: string;
  set?: Record<string, string>;
  remove?: string[];
}

export interface TagsReply {
  tags: Record<string, string>;
}

export interface Throttle {
  key: string;
  count?: number;
  period_ms: number;
  on_limit?: 'reject' | 'return';
}

export interface TokenSignalBody {
  token: string;
  waitpoint?: string;
  name?: string;
  payload?: unknown;
  payload_base64?: string;
  payload_encoding?: string;
  source?: string;
  idempotency_key?: string;
}

export interface TriggerBody {
  namespace?: string;
  ignore_overlap?: boolean;
  idempotency_key?: string;
  reason?: string;
}

export interface TriggerReply {
  outcome: 'fired' | 'skipped' | 'buffered' | 'missed' | 'refused';
  scheduled_at?: number;
  execution_id?: string;
  flow_id?: string;
  duplicate: boolean;
}

export interface UniqueKey {
  key: string;
  on_conflict?: 'reject' | 'return' | 'replace';
}

export interface UsageBucket {
  from?: number;
  spent: Record<string, number>;
}

export interface Verdicts {
  results: RenewVerdictItem[];
}

export interface WaitCondition {
  signal?: SignalMatch;
  all_of?: WaitCondition[];
  any_of?: WaitCondition[];
  count?: SignalCount;
}

export interface WaitInfo {
  number: number;
  reason?: string;
  since?: number;
  timeout_at?: number;
  on_timeout: 'fail' | 'cancel' | 'expire' | 'resume' | 'escalate';
  escalated: boolean;
  condition: WaitCondition;
  veto?: WaitCondition;
}

export interface WaitOutcome {
  number: number;
  cause: 'signals' | 'veto' | 'timeout' | 'operator';
  ended_at?: number;
  by?: string;
  reason?: string;
  escalated: boolean;
  signals: Signal[];
}

export interface WaitingExecution {
  execution_id: string;
  namespace: string;
  lane: string;
  kind: string;
  reason?: string;
  since?: number;
  timeout_at?: number;
  escalated: boolean;
  waitpoints: WaitpointInfo[];
}

export interface WaitpointInfo {
  name: string;
  number: number;
  opened_at?: number;
  waited_for: boolean;
  signals: number;
  approval?: ApprovalInfo;
}

export interface WaitpointRequest {
  name: string;
  token_ttl_ms?: number;
  approval?: ApprovalRequest;
}

export interface WaitpointToken {
  waitpoint: string;
  number: number;
  token: string;
  expires_at?: number;
}

export interface Worker {
  namespace: string;
  worker_id: string;
  worker_instance_id: string;
  lanes: string[];
  capabilities: string[];
  liveness_ttl_ms: number;
  registered_at?: number;
  last_heartbeat_at?: number;
  expires_at?: number;
  partition: number;
  draining: boolean;
  state: 'live' | 'lapsed' | 'marked_dead' | 'ttl_swept';
  ended_at?: number;
  ended_by?: string;
  reason?: string;
}

export interface WorkerBody {
  namespace?: string;
  reason?: string;
}

export interface WorkerPage {
  workers: Worker[];
  next_cursor: string;
}

export interface WorkerRegistration {
  namespace?: string;
  worker_id: string;
  worker_instance_id: string;
  lanes?: string[];
  capabilities?: string[];
  liveness_ttl_ms?: number;
}

export const publicStates: readonly ExecutionSummary['public_state'][] = [
  'waiting',
  'delayed',
  'rate_limited',
  'waiting_children',
  'active',
  'suspended',
  'resumable',
  'completed',
  'failed',
  'cancelled',
  'expired',
  'skipped',
];

export const eventTypes: readonly Event['type'][] = [
  'created',
  'ready',
  'claimed',
  'resumed',
  'delayed',
  'retry_scheduled',
  'lease_expired',
  'lease_revoked',
  'completed',
  'failed',
  'cancelled',
  'expired',
  'replayed',
  'priority_changed',
  'tags_changed',
  'lane_changed',
  'namespace_changed',
  'worker_registered',
  'worker_refreshed',
  'worker_marked_dead',
  'worker_ttl_swept',
  'worker_draining',
  'lease_reclaimed',
  'grant_issued',
  'grant_expired',
  'keys_rotated',
  'api_key_created',
  'api_key_revoked',
  'retention_run',
  'released',
  'step_recorded',
  'skipped',
  'flow_submitted',
  'flow_cancelling',
  'flow_completed',
  'flow_failed',
  'flow_cancelled',
  'flow_reopened',
  'flow_extended',
  'flow_sealed',
  'joining',
  'held_back',
  'waitpoint_opened',
  'suspended',
  'signal_delivered',
  'wait_ended',
  'wait_escalated',
  'waitpoint_closed',
  'waitpoint_reissued',
  'hook_created',
  'hook_removed',
  'hook_rotated',
  'schedule_created',
  'schedule_updated',
  'schedule_paused',
  'schedule_resumed',
  'schedule_deleted',
  'schedule_fired',
  'schedule_skipped',
  'schedule_buffered',
  'limited',
  'limit_created',
  'limit_changed',
  'limit_removed',
  'debounced',
  'redrive_created',
  'redrive_paused',
  'redrive_resumed',
  'redrive_cancelled',
  'redrive_completed',
  'budget_warning',
  'budget_exceeded',
  'budget_paused',
  'budget_resumed',
  'budget_reset',
  'budget_adjusted',
];

/** Every route of the server that this dashboard is built into. */
export const routes: readonly string[] = [
  'DELETE /v1/api-keys/{key}',
  'DELETE /v1/hooks/{name}',
  'DELETE /v1/limits/{name}',
  'DELETE /v1/schedules/{name}',
  'DELETE /v1/session',
  'GET /v1/api-keys',
  'GET /v1/counts',
  'GET /v1/dead-letters',
  'GET /v1/dead-letters/{fingerprint}',
  'GET /v1/events',
  'GET /v1/executions',
  'GET /v1/executions/{execution_id}',
  'GET /v1/executions/{execution_id}/attempts',
  'GET /v1/executions/{execution_id}/attempts/{attempt_index}/result',
  'GET /v1/executions/{execution_id}/explain',
  'GET /v1/executions/{execution_id}/history',
  'GET /v1/executions/{execution_id}/inputs',
  'GET /v1/executions/{execution_id}/payload',
  'GET /v1/executions/{execution_id}/result',
  'GET /v1/executions/{execution_id}/state',
  'GET /v1/executions/{execution_id}/steps',
  'GET /v1/executions/{execution_id}/tags',
  'GET /v1/executions/{execution_id}/waits',
  'GET /v1/flows',
  'GET /v1/flows/{flow_id}',
  'GET /v1/flows/{flow_id}/edges',
  'GET /v1/flows/{flow_id}/graph',
  'GET /v1/flows/{flow_id}/history',
  'GET /v1/flows/{flow_id}/nodes',
  'GET /v1/flows/{flow_id}/result',
  'GET /v1/hooks',
  'GET /v1/lanes',
  'GET /v1/lanes/{lane}',
  'GET /v1/leases/expired',
  'GET /v1/limits',
  'GET /v1/limits/{name}',
  'GET /v1/namespaces',
  'GET /v1/namespaces/{namespace}',
  'GET /v1/overview',
  'GET /v1/redrives',
  'GET /v1/redrives/{redrive_id}',
  'GET /v1/schedules',
  'GET /v1/schedules/{name}',
  'GET /v1/schedules/{name}/history',
  'GET /v1/schedules/{name}/next',
  'GET /v1/session',
  'GET /v1/signing-keys',
  'GET /v1/waits',
  'GET /v1/whoami',
  'GET /v1/workers',
  'GET /v1/workers/{worker_instance_id}/leases',
  'PATCH /v1/executions/{execution_id}/tags',
  'POST /v1/api-keys',
  'POST /v1/claim-grants',
  'POST /v1/claim-grants/next',
  'POST /v1/claim-grants/redeem',
  'POST /v1/claims',
  'POST /v1/completions',
  'POST /v1/executions',
  'POST /v1/executions/batch',
  'POST /v1/executions/bulk',
  'POST /v1/executions/bulk/signal',
  'POST /v1/executions/{execution_id}/approvals/{waitpoint}/decide',
  'POST /v1/executions/{execution_id}/cancel',
  'POST /v1/executions/{execution_id}/replay',
  'POST /v1/executions/{execution_id}/resume',
  'POST /v1/executions/{execution_id}/revoke-lease',
  'POST /v1/executions/{execution_id}/signals',
  'POST /v1/executions/{execution_id}/waitpoints/{waitpoint}/close',
  'POST /v1/executions/{execution_id}/waitpoints/{waitpoint}/reissue',
  'POST /v1/flows',
  'POST /v1/flows/{flow_id}/cancel',
  'POST /v1/flows/{flow_id}/nodes',
  'POST /v1/flows/{flow_id}/replay',
  'POST /v1/flows/{flow_id}/seal',
  'POST /v1/hooks',
  'POST /v1/hooks/{name}',
  'POST /v1/hooks/{name}/rotate',
  'POST /v1/leases/cancel',
  'POST /v1/leases/checkpoint',
  'POST /v1/leases/complete',
  'POST /v1/leases/delay',
  'POST /v1/leases/extend',
  'POST /v1/leases/fail',
  'POST /v1/leases/join',
  'POST /v1/leases/progress',
  'POST /v1/leases/release',
  'POST /v1/leases/renew',
  'POST /v1/leases/spend',
  'POST /v1/leases/steps',
  'POST /v1/leases/suspend',
  'POST /v1/leases/tags',
  'POST /v1/leases/waitpoints',
  'POST /v1/limits/check',
  'POST /v1/limits/{name}/budget',
  'POST /v1/reclaim-grants',
  'POST /v1/reclaim-grants/redeem',
  'POST /v1/redrives',
  'POST /v1/redrives/{redrive_id}/cancel',
  'POST /v1/redrives/{redrive_id}/pause',
  'POST /v1/redrives/{redrive_id}/resume',
  'POST /v1/retention/run',
  'POST /v1/schedules',
  'POST /v1/schedules/preview',
  'POST /v1/schedules/{name}/backfill',
  'POST /v1/schedules/{name}/pause',
  'POST /v1/schedules/{name}/resume',
  'POST /v1/schedules/{name}/trigger',
  'POST /v1/session',
  'POST /v1/signals',
  'POST /v1/signing-keys/rotate',
  'POST /v1/workers',
  'POST /v1/workers/heartbeat',
  'POST /v1/workers/{worker_instance_id}/drain',
  'POST /v1/workers/{worker_instance_id}/mark-dead',
  'PUT /v1/executions/{execution_id}/priority',
  'PUT /v1/lanes/{lane}',
  'PUT /v1/limits/{name}',
  'PUT /v1/namespaces/{namespace}',
  'PUT /v1/schedules/{name}',
];
