// The suspended executions, those that have waited longest first.
import { get } from '../api/client';
import type { ListWaitsReply, WaitingExecution } from '../api/types';
import { waitEvents } from '../core/waits';
import { useEvents, useResource, useSoon, type Resource } from './hooks';

const mostWaits = 500;

interface Waiting { waits: WaitingExecution[]; more: boolean }

async function load(approvals: boolean, abort: AbortSignal): Promise<Waiting> {
  const waits: WaitingExecution[] = [];
  let cursor = '';
  do {
    const page: ListWaitsReply = await get<ListWaitsReply>('/v1/waits', { approvals: approvals ? 'true' : undefined, limit: 200, cursor }, abort);
    waits.push(...page.waits);
    cursor = page.next_cursor ?? '';
  } while (cursor !== '' && waits.length < mostWaits);
  return { waits, more: cursor !== '' };
}

export function useWaits(approvals: boolean): { list: Resource<Waiting>; more: boolean } {
  const list = useResource(`waits ${approvals}`, (abort) => load(approvals, abort), { live: true, every: 30_000 });
  const soon = useSoon(list.reload, 200);
  useEvents({ type: waitEvents }, soon);
  return { list, more: list.data?.more ?? false };
}
