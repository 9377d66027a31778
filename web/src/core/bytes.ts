// Payloads and results: bytes shown as JSON, as text or in hexadecimal.

/** Text if the bytes are UTF-8, else undefined. */
export function asText(data: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    return undefined;
  }
}

const controlNames = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

/** Control characters and marks that change the direction of text, made visible; tabs and line ends stay. */
export function visible(text: string): string {
  return text.replace(controlNames, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return '\u2421';
    return `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** The same for a line: line ends and tabs too. */
export const visibleLine = (text: string): string =>
  visible(text).replaceAll('\n', '\u2424').replaceAll('\r', '\u240d').replaceAll('\t', ' ');

export interface HexLine { offset: string; hex: string; text: string }

export function hexLines(data: Uint8Array, most = 4096): HexLine[] {
  const lines: HexLine[] = [];
  const end = Math.min(data.length, most);
  for (let from = 0; from < end; from += 16) {
    const part = [...data.subarray(from, Math.min(from + 16, end))];
    const pairs = part.map((byte) => byte.toString(16).padStart(2, '0'));
    const hex = `${pairs.slice(0, 8).join(' ')}  ${pairs.slice(8).join(' ')}`.trimEnd();
    const text = part.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '·')).join('');
    lines.push({ offset: from.toString(16).padStart(6, '0'), hex, text });
  }
  return lines;
}

export type JsonToken = { kind: 'key' | 'string' | 'number' | 'word' | 'plain'; text: string };

const jsonToken = /("(?:[^"\\]|\\.)*")|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null)|([[\]{},:])|\s+/gy;

/**
 * JSON with line ends and indentation, as tokens. It is formatted as text and never parsed into numbers, so that large numbers
 * and the order and repetition of keys are shown as they were sent. Undefined if the text is not JSON.
 */
export function formatJson(text: string): JsonToken[] | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const out: JsonToken[] = [];
  const plain = (part: string): void => {
    const last = out[out.length - 1];
    if (last?.kind === 'plain') last.text += part;
    else out.push({ kind: 'plain', text: part });
  };
  let depth = 0;
  const newLine = (): void => plain(`\n${'  '.repeat(Math.min(depth, 40))}`);
  const tokens = [...text.matchAll(jsonToken)].filter((match) => match[0].trim() !== '');
  tokens.forEach((match, index) => {
    const [all, quoted, number, word] = match;
    const next = tokens[index + 1]?.[0];
    const previous = tokens[index - 1]?.[0];
    if (quoted !== undefined) out.push({ kind: next === ':' ? 'key' : 'string', text: quoted });
    else if (number !== undefined) out.push({ kind: 'number', text: number });
    else if (word !== undefined) out.push({ kind: 'word', text: word });
    else if (all === ':') plain(': ');
    else if (all === ',') { plain(','); newLine(); }
    else if (all === '{' || all === '[') {
      depth += 1;
      plain(all);
      if (next !== '}' && next !== ']') newLine();
    } else {
      depth -= 1;
      if (previous !== '{' && previous !== '[') newLine();
      plain(all);
    }
  });
  return out;
}

/** What the API sends as JSON or as base64. */
export function bytesOf(json: unknown, base64: string | undefined): Uint8Array {
  if (base64 !== undefined) return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return json === undefined ? new Uint8Array() : new TextEncoder().encode(JSON.stringify(json));
}
