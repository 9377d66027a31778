// Small parts that every page uses.
import type { ComponentChildren } from 'preact';
import type { ApiError } from '../api/client';
import { clock, count, exact, relative, shortId, withExecutions } from '../core/format';
import { visibleLine } from '../core/bytes';
import { now } from '../live/visibility';
import { utc } from '../live/preferences';
import { toast } from './toast';

export const words = (name: string): string => name.replaceAll('_', ' ');

/** Text that came from outside, on one line: control characters are shown, never obeyed. */
export const Text = ({ children }: { children: string | undefined }) => <>{children === undefined ? '' : visibleLine(children)}</>;

export const ExecutionLink = ({ id }: { id: string }) => <a class="mono" href={`/ui/executions/${encodeURIComponent(id)}`} title={id}>{shortId(id)}</a>;

/** Text of the server in which executions are named: their ids become links. */
export const Sentence = ({ children }: { children: string | undefined }) =>
  <>{withExecutions(children ?? '').map((part, index) => (part.execution ? <ExecutionLink id={part.text} key={index} /> : <Text key={index}>{part.text}</Text>))}</>;

export const StateBadge = ({ state }: { state: string }) => <span class="badge" data-state={state}>{words(state)}</span>;

const laneTones: Record<string, string> = { active: 'good', paused: 'warn', draining: 'warn', disabled: 'bad', live: 'good', lapsed: 'warn', marked_dead: 'bad', ttl_swept: 'bad' };
/** The state of a lane or a worker. */
export const Condition = ({ state, text }: { state: string; text?: string }) => (
  <span class="badge hollow" data-state={laneTones[state] ?? 'quiet'}>{text ?? words(state)}</span>
);

/** A time, local unless UTC is chosen, with the exact time as its tooltip. */
export function Time({ at, ms }: { at: number | undefined; ms?: boolean }) {
  if (at === undefined || at === 0) return <span class="muted">–</span>;
  return <time dateTime={new Date(at).toISOString()} title={exact(at)}>{clock(at, Date.now(), { utc: utc.value, ms })}</time>;
}

/** "3 s ago", which goes on by itself. */
export function Ago({ at }: { at: number | undefined }) {
  if (at === undefined || at === 0) return <span class="muted">–</span>;
  return <time dateTime={new Date(at).toISOString()} title={exact(at)} class="nowrap">{relative(at, Math.max(now.value, Date.now()))}</time>;
}

export const Count = ({ value }: { value: number | undefined }) =>
  value ? <span>{count(value)}</span> : <span class="muted">0</span>;

export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Clipboards are only for secure origins; over plain HTTP the old way still works.
    const area = document.createElement('textarea');
    area.value = text;
    (document.querySelector('dialog[open]') ?? document.body).append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  toast(`${what} copied`);
}

export function Copy({ text, what, label }: { text: string; what: string; label?: string }) {
  return (
    <button type="button" class="button plain small" title={`Copy ${what}`} aria-label={label ? undefined : `Copy ${what}`} onClick={() => void copyText(text, what)}>
      <Icon name="copy" />{label}
    </button>
  );
}

export function Problem({ error, retry }: { error: ApiError; retry?: () => void }) {
  return (
    <div class="note error" role="alert">
      <div class="grow">
        <div><Text>{error.message}</Text></div>
        <div class="where">
          {error.code}{error.field ? `, field ${error.field}` : ''}
          {error.requestId ? <> · request <code>{error.requestId}</code> <Copy text={error.requestId} what="request id" /></> : null}
        </div>
      </div>
      {retry ? <button type="button" class="button small" onClick={retry}>Try again</button> : null}
    </div>
  );
}

export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty"><strong>{title}</strong>{children}</div>
);

export const Panel = ({ title, actions, flush, children, class: extra }: { title: ComponentChildren; actions?: ComponentChildren; flush?: boolean; children: ComponentChildren; class?: string }) => (
  <section class={`panel ${extra ?? ''}`}>
    <div class="panel-head"><h2>{title}</h2>{actions}</div>
    <div class={flush ? 'panel-body flush' : 'panel-body'}>{children}</div>
  </section>
);

export function Tags({ tags, link }: { tags: Record<string, string>; link?: (tag: string) => string }) {
  return (
    <>{Object.entries(tags).map(([key, value]) => {
      const text = <span><Text>{`${key}=${value}`}</Text></span>;
      return link ? <a class="tag" key={key} href={link(`${key}=${value}`)}>{text}</a> : <span class="tag" key={key}>{text}</span>;
    })}</>
  );
}

const paths: Record<string, string> = {
  overview: 'M2 13V8m4 5V3m4 10V6m4 7v-3',
  executions: 'M2 4h12M2 8h12M2 12h8',
  flows: 'M2 6h4v4H2zM10 2h4v4h-4zM10 10h4v4h-4zM6 7.500l4-3.500M6 8.500l4 3.500',
  lanes: 'M2 3h9l3 2-3 2H2zM2 9h6l3 2-3 2H2z',
  workers: 'M3 3h4v4H3zM9 3h4v4H9zM3 9h4v4H3zM9 9h4v4H9z',
  events: 'M1.500 8h3l2-5 3 10 2-5h3',
  schedules: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 5v3.200l2.200 1.600',
  budgets: 'M8 1.500v13M11.500 4.500C11 3 9.500 2.700 8 2.700c-2 0-3.500.900-3.500 2.500C4.500 8.700 11.700 7 11.700 10.700c0 1.700-1.700 2.600-3.700 2.600-1.800 0-3.400-.600-3.900-2.300',
  'dead-letters': 'M2 4h12v9H2zM2 4l6 5 6-5M6.500 11l3 0',
  limits: 'M2 12a6 6 0 0 1 12 0M8 12l3-4M2 12h1.500m9 0H14',
  approvals: 'M2.500 8.500l3.500 3.500 7.500-8',
  waits: 'M4 2h8M4 14h8M5 2c0 4 6 4 6 6.500S5 10 5 14M11 2c0 4-6 4-6 6',
  settings: 'M8 5.500a2.500 2.500 0 1 0 0 5 2.500 2.500 0 0 0 0-5zM8 1.500v2m0 9v2M1.500 8h2m9 0h2M3.400 3.400l1.400 1.400m6.400 6.400 1.400 1.400m0-9.200-1.400 1.400m-6.400 6.400-1.400 1.400',
  copy: 'M5 5h8v8H5zM3 11V3h8',
  moon: 'M13 9.500A5.500 5.500 0 0 1 6.500 3 5.500 5.500 0 1 0 13 9.500z',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.500m0 11V15M1 8h1.500m11 0H15M3 3l1 1m8 8 1 1m0-10-1 1m-8 8-1 1',
  more: 'M4 8h.010M8 8h.010M12 8h.010',
  down: 'M4 6l4 4 4-4',
  close: 'M4 4l8 8m0-8-8 8',
  help: 'M6 6a2 2 0 1 1 2.700 1.900c-.500.200-.700.600-.700 1.100v.500m0 2.500v.010',
};

export const Icon = ({ name }: { name: string }) => (
  <svg width="16" height="16" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
    <path d={paths[name] ?? paths['more']} />
  </svg>
);
