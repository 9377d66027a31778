// The figures of the server, shared by the pages that show them, so that each request asks only for what is new.
import { get } from '../api/client';
import type { Overview } from '../api/contract';
import { mergeOverview, sinceOf } from '../core/overview';

let known: Overview | undefined;

export async function loadOverview(abort: AbortSignal): Promise<Overview> {
  const fresh = await get<Overview>('/v1/overview', { since: sinceOf(known) }, abort);
  known = mergeOverview(known, fresh);
  return known;
}

/** For another session, which may see another namespace. */
export function forgetOverview(): void {
  known = undefined;
}
