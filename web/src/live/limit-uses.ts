// What is in use of limits: for each of them a request of its own.
import { get } from '../api/client';
import type { LimitInfo, LimitUseReply } from '../api/types';
import { limitPath } from '../core/limits';

const usesAtOnce = 6;
const keysRead = 100;

/** The first keys of each limit. One that was removed since it was listed is left out. */
export async function loadUses(limits: readonly LimitInfo[], abort: AbortSignal): Promise<LimitUseReply[]> {
  const replies: LimitUseReply[] = [];
  for (let from = 0; from < limits.length; from += usesAtOnce) {
    const part = await Promise.allSettled(limits.slice(from, from + usesAtOnce).map((limit) => get<LimitUseReply>(limitPath(limit.name), { namespace: limit.namespace, limit: keysRead }, abort)));
    for (const one of part) {
      if (one.status === 'fulfilled') replies.push(one.value);
      else if ((one.reason as { code?: string }).code !== 'not_found') throw one.reason;
    }
  }
  return replies;
}

/** The first `wanted` keys of a limit. */
export async function loadLimit(namespace: string | undefined, name: string, wanted: number, abort: AbortSignal): Promise<LimitUseReply> {
  const first = await get<LimitUseReply>(limitPath(name), { namespace, limit: keysRead }, abort);
  const keys = [...first.keys];
  let cursor = first.next_cursor;
  while (cursor !== '' && keys.length < wanted) {
    const page = await get<LimitUseReply>(limitPath(name), { namespace, limit: keysRead, cursor }, abort);
    keys.push(...page.keys);
    cursor = page.next_cursor;
  }
  return { ...first, keys, next_cursor: cursor };
}
