// Dead letters and redrives: filters in the address, what a redrive is for in words, and the request that a form makes.
import type { DeadLetterGroup, Redrive, RedriveRequest, RedriveSelection, RefusedRedrive } from '../api/types';
import { splitTag } from './filters';
import { Refusal, type FormValues } from './form';
import { count, exact, fromLocalInput, plural } from './format';

/** The events after which the groups are no longer right. Retention removes executions without one for each. */
export const deadLetterEvents = 'failed,replayed,retention_run';
export const redriveEvents = 'redrive_created,redrive_paused,redrive_resumed,redrive_cancelled,redrive_completed';

const root = '/ui/dead-letters';
export const redrivesPath = `${root}/redrives`;
export const groupPath = (fingerprint: string): string => `/v1/dead-letters/${encodeURIComponent(fingerprint)}`;
export const redrivePath = (id: string): string => `/v1/redrives/${encodeURIComponent(id)}`;
export const redriveLink = (id: string): string => `${redrivesPath}/${encodeURIComponent(id)}`;
export const groupLink = (namespace: string, fingerprint: string): string =>
  `${root}/groups/${encodeURIComponent(fingerprint)}${namespace === 'default' ? '' : `?${new URLSearchParams({ namespace }).toString()}`}`;
export const groupKey = (group: Pick<DeadLetterGroup, 'namespace' | 'fingerprint'>): string => `${group.namespace}\n${group.fingerprint}`;

/** They failed under a version that computed no fingerprints: nobody knows what they have in common. */
export const olderGroup = 'older';

export const letterFields = ['namespace', 'lane', 'kind', 'category'] as const;
export type LetterFilter = Partial<Record<(typeof letterFields)[number], string>>;

export function parseLetterFilter(search: string): LetterFilter {
  const query = new URLSearchParams(search);
  return Object.fromEntries(letterFields.flatMap((name) => (query.get(name)?.trim() ? [[name, (query.get(name) as string).trim()]] : [])));
}

export function lettersLink(filter: LetterFilter): string {
  const query = new URLSearchParams();
  for (const name of letterFields) if (filter[name]) query.set(name, filter[name] as string);
  const text = query.toString();
  return text ? `${root}?${text}` : root;
}

export const isUnfiltered = (filter: LetterFilter): boolean => letterFields.every((name) => !filter[name]);

/** What went wrong, on one line. */
export const messageWords = (group: Pick<DeadLetterGroup, 'fingerprint' | 'message' | 'example'>): string =>
  (group.fingerprint === olderGroup ? 'failed under an earlier version' : group.message || group.example || 'no message');

export const lanesWords = (group: Pick<DeadLetterGroup, 'lanes'>): string => group.lanes.map((one) => (group.lanes.length === 1 ? one.lane : `${one.lane}: ${count(one.count)}`)).join(', ');

// ---- What a redrive is for

/** `expected`: how many dead letters it replays, as far as it is known; `older`: perhaps also some that failed under an earlier version, whose kinds and categories nobody has counted. */
export interface Target { namespace: string; selection: RedriveSelection; expected: number | undefined; older: boolean; words: string }

const total = (groups: readonly DeadLetterGroup[]): number => groups.reduce((sum, group) => sum + group.count, 0);

export function groupsTarget(groups: readonly DeadLetterGroup[]): Target {
  const [first] = groups;
  return {
    namespace: first?.namespace ?? 'default', selection: { fingerprints: groups.map((group) => group.fingerprint) }, expected: total(groups), older: false,
    words: groups.length === 1 && first ? `the group ${first.fingerprint}` : plural(groups.length, 'group'),
  };
}

export const executionsTarget = (namespace: string, ids: readonly string[]): Target =>
  ({ namespace, selection: { execution_ids: [...ids] }, expected: ids.length, older: false, words: plural(ids.length, 'execution') });

/** What a listing has said: `executions` are those in all of its groups, `complete`: all groups are there. */
export interface Listed { groups: readonly DeadLetterGroup[]; executions: number; complete: boolean }

/** Everything that a filter selects in a namespace. */
export function filterTarget(namespace: string, filter: LetterFilter, listed: Listed): Target {
  const selection: RedriveSelection = {};
  for (const name of ['lane', 'kind', 'category'] as const) if (filter[name]) selection[name] = filter[name] as string;
  if (Object.keys(selection).length === 0) selection.all = true;
  const own = listed.groups.filter((group) => group.namespace === namespace);
  const counted = listed.complete ? total(own.filter((group) => !filter.category || group.category === filter.category)) : undefined;
  // The listing leaves them out if it is of a kind.
  const older = selection.kind !== undefined || (selection.category !== undefined && (!listed.complete || own.some((group) => group.fingerprint === olderGroup)));
  return { namespace, selection, expected: counted ?? (filter.namespace === namespace && !filter.category ? listed.executions : undefined), older, words: selectionWords(selection) };
}

export const mostFingerprints = 100;
export const mostExecutions = 1000;

const tagWords = (tag: Record<string, string> | undefined): string => Object.entries(tag ?? {}).map(([key, value]) => `${key}=${value}`).join(', ');

/** "lane mail and category timeout", "all of the namespace", "2 groups". */
export function selectionWords(selection: RedriveSelection): string {
  const parts: string[] = [];
  if (selection.all) parts.push('all of the namespace');
  const groups = selection.fingerprints ?? [];
  if (groups.length > 0) parts.push(groups.length === 1 ? `the group ${groups[0] as string}` : plural(groups.length, 'group'));
  if (selection.execution_ids && selection.execution_ids.length > 0) parts.push(plural(selection.execution_ids.length, 'execution'));
  for (const name of ['lane', 'kind', 'category'] as const) if (selection[name] !== undefined) parts.push(`${name} ${selection[name] === '' ? '(empty)' : selection[name]}`);
  if (tagWords(selection.tag) !== '') parts.push(`tag ${tagWords(selection.tag)}`);
  const day = (at: number): string => exact(at).split('\n')[1] as string;
  if (selection.failed_from !== undefined) parts.push(`failed from ${day(selection.failed_from)}`);
  if (selection.failed_before !== undefined) parts.push(`failed before ${day(selection.failed_before)}`);
  return parts.join(', ') || 'nothing';
}

export const refusalWords: Record<RefusedRedrive['reason'], string> = {
  max_replays: 'its policy allows no more replays', flow_node: 'it is a node of a flow, which is replayed instead', not_failed: 'it is not failed', not_found: 'it does not exist in the namespace', damaged: 'its stored record cannot be read',
  unique_key: 'another execution has its unique key',
};

// ---- Its progress

const tones: Record<Redrive['state'], string> = { running: 'running', paused: 'warn', completed: 'good', cancelled: 'quiet' };
export const redriveTone = (redrive: Pick<Redrive, 'state' | 'damage'>): string => (redrive.damage ? 'bad' : tones[redrive.state]);
export const redriveStates = ['running', 'paused', 'completed', 'cancelled'] as const;
export const hasEnded = (redrive: Pick<Redrive, 'state'>): boolean => redrive.state === 'completed' || redrive.state === 'cancelled';

export interface Progress { replayed: number; refused: number; passed: number; left: number }

/** `passed`: looked at, and not meant. What fails or ends meanwhile changes the numbers, so none is taken to be exact. */
export function progressOf(redrive: Pick<Redrive, 'found' | 'replayed' | 'refused' | 'left'>): Progress {
  const { replayed, refused, left } = redrive;
  const total = Math.max(redrive.found, replayed + refused + left);
  return { replayed, refused, passed: Math.max(0, total - replayed - refused - left), left };
}

export const progressWords = ({ replayed, refused, passed, left }: Progress): string =>
  [`${count(replayed)} replayed`, refused > 0 ? `${count(refused)} refused` : '', passed > 0 ? `${count(passed)} not meant` : '', `${count(left)} left`].filter(Boolean).join(', ');

// ---- The form

export const emptyRedriveForm: FormValues = { rate: '', tag: '', failed_from: '', failed_before: '', paused: '', reason: '' };

/** Whether the form narrows the target down further, so that its count is too large. */
export const isNarrowed = (values: FormValues): boolean => ['tag', 'failed_from', 'failed_before'].some((name) => (values[name] ?? '').trim() !== '');

export function redriveBody(target: Target, values: FormValues, key: string): RedriveRequest {
  const body: RedriveRequest = { namespace: target.namespace, ...target.selection, idempotency_key: key };
  const text = (name: string): string => (values[name] ?? '').trim();
  if (text('tag') !== '') {
    const { key: tag, value } = splitTag(text('tag'));
    body.tag = { [tag]: value };
  }
  for (const name of ['failed_from', 'failed_before'] as const) {
    if (text(name) === '') continue;
    const at = fromLocalInput(text(name));
    if (at === undefined) throw new Refusal(name, 'is not a time');
    body[name] = at;
  }
  // All of the namespace, narrowed down, is what the other fields say.
  if (body.all && isNarrowed(values)) delete body.all;
  if (text('rate') !== '') body.rate = text('rate');
  if (values['paused'] === 'yes') body.paused = true;
  if (text('reason') !== '') body.reason = text('reason');
  return body;
}

/** The words of `flowfabric dead-letters redrive`. */
export const redriveWords = (body: RedriveRequest): string[] => [
  'dead-letters', 'redrive', ...(body.fingerprints ?? []), ...(body.namespace && body.namespace !== 'default' ? ['--namespace', body.namespace] : []), ...(body.all ? ['--all'] : []),
  ...(body.execution_ids ?? []).flatMap((id) => ['--execution', id]), ...(['lane', 'kind', 'category'] as const).flatMap((name) => (body[name] === undefined ? [] : [`--${name}`, body[name] as string])),
  ...Object.entries(body.tag ?? {}).flatMap(([key, value]) => ['--tag', `${key}=${value}`]), ...(['failed_from', 'failed_before'] as const).flatMap((name) => (body[name] === undefined ? [] : [`--${name.replace('_', '-')}`, String(body[name])])),
  ...(body.rate ? ['--rate', body.rate] : []), ...(body.paused ? ['--paused'] : []), ...(body.reason ? ['--reason', body.reason] : []), ...(body.all ? ['--yes'] : []),
];
