// What the dashboard does, written as a command that does the same: for scripts, tickets and colleagues.
import type { Filter } from './filters';
import { textFields, timeFields } from './filters';

/** One argument of a POSIX shell. */
export function quote(text: string): string {
  if (text !== '' && /^[A-Za-z0-9_./:=@%+,-]+$/.test(text)) return text;
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export interface Call {
  method: string;
  path: string;
  body?: unknown;
}

/** `withKey` for servers that ask for an API key; the key itself is never in the text. */
export function asCurl(call: Call, origin: string, withKey: boolean): string {
  const parts = ['curl', '-s'];
  if (call.method !== 'GET') parts.push('-X', call.method, '-H', "'Content-Type: application/json'");
  if (withKey) parts.push('-H', '"Authorization: Bearer $FLOWFABRIC_API_KEY"');
  if (call.body !== undefined) parts.push('-d', quote(JSON.stringify(call.body)));
  parts.push(quote(origin + call.path));
  return parts.join(' ');
}

export function asCli(words: readonly string[], origin: string): string {
  return ['flowfabric', ...words, '--store', origin].map(quote).join(' ');
}

/** The options of `flowfabric executions list`, which `cancel`, `replay` and `priority` take, too. It has none for flows. */
export function filterOptions(filter: Filter): string[] {
  const words: string[] = [];
  if (filter.state.length > 0) words.push('--state', filter.state.join(','));
  for (const field of [...textFields, ...timeFields]) {
    const value = field === 'flow' ? undefined : filter[field];
    if (value !== undefined && value !== '') words.push(`--${field.replaceAll('_', '-')}`, String(value));
  }
  return words;
}
