// What the API means to the dashboard: names for its enumerations, and what its routes allow.
import type { Event, ExecutionSummary, ApiKey, Lane, Session } from './types';
import { routes } from './types';

export type { Attention, Overview, OverviewLane, Session, Step } from './types';
export { eventTypes, publicStates } from './types';

export type PublicState = ExecutionSummary['public_state'];
export type EventType = Event['type'];
export type Role = ApiKey['role'];
export type LaneState = Lane['state'];

export const endedStates: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'expired', 'skipped']);

/** The dashboard is part of the server's program, so the routes it was built with are the routes of the server. */
export const hasRoute = (route: string): boolean => routes.includes(route);

const rank: Record<Role, number> = { viewer: 0, worker: 1, operator: 2, admin: 3 };

/** Each role may do what those before it may. */
export function allows(session: Session | undefined, needed: Role): boolean {
  if (!session || !session.signed_in && session.authentication) return false;
  return rank[session.role ?? 'viewer'] >= rank[needed];
}
