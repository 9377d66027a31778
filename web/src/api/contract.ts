// What the API means to the dashboard: names for its enumerations, and what its routes allow.
import type { Event, ExecutionSummary, ApiKey, Lane } from './types';
import { routes } from './types';

export type PublicState = ExecutionSummary['public_state'];
export type EventType = Event['type'];
export type Role = ApiKey['role'];
export type LaneState = Lane['state'];

export const publicStates: readonly PublicState[] = [
  'waiting', 'delayed', 'rate_limited', 'waiting_children', 'active', 'suspended', 'resumable',
  'completed', 'failed', 'cancelled', 'expired', 'skipped',
];
export const endedStates: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'expired', 'skipped']);

/** The dashboard is part of the server's program, so the routes it was built with are the routes of the server. */
export const hasRoute = (route: string): boolean => routes.includes(route);

export interface Session {
  authentication: boolean;
  signed_in: boolean;
  name?: string;
  role?: Role;
  namespace?: string;
  version?: string;
  store?: string;
}

export interface OverviewSample {
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

export interface OverviewLane {
  lane: string;
  state?: LaneState;
  counts: Record<string, number>;
  oldest_waiting_at?: number;
  samples?: number[];
}

export interface Attention {
  severity: 'warning' | 'error';
  code: string;
  message: string;
  link?: string;
}

export interface Overview {
  now: number;
  interval_ms: number;
  samples: OverviewSample[];
  lanes: OverviewLane[];
  lanes_left_out?: number;
  failures: { kind: string; lane: string; count: number; last_category?: string; last_at?: number }[];
  due_lag_ms?: number;
  store: { kind: string; ready: boolean; message?: string };
  batches?: { commits_per_s?: number; records_per_commit?: number; commit_p95_ms?: number };
  needs_attention: Attention[];
}

export interface Step {
  name: string;
  index: number;
  recorded_at?: number;
  started_at?: number;
  [more: string]: unknown;
}

const rank: Record<Role, number> = { viewer: 0, worker: 1, operator: 2, admin: 3 };

/** Each role may do what those before it may. */
export function allows(session: Session | undefined, needed: Role): boolean {
  if (!session || !session.signed_in && session.authentication) return false;
  return rank[session.role ?? 'viewer'] >= rank[needed];
}
