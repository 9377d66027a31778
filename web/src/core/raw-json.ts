// A part of a JSON text as it was written: numbers keep all their digits, which JSON.parse would round.

const isSpace = (text: string, at: number): boolean => ' \n\r\t'.includes(text[at] ?? 'x');

function afterSpace(text: string, at: number): number {
  let next = at;
  while (isSpace(text, next)) next += 1;
  return next;
}

function afterString(text: string, at: number): number {
  let next = at + 1;
  while (next < text.length && text[next] !== '"') next += text[next] === '\\' ? 2 : 1;
  return next + 1;
}

/** Where the value that begins here ends. */
function afterValue(text: string, at: number): number {
  const first = text[at];
  if (first === '"') return afterString(text, at);
  let next = at;
  if (first !== '{' && first !== '[') {
    while (next < text.length && !',]}'.includes(text[next] as string) && !isSpace(text, next)) next += 1;
    return next;
  }
  let depth = 0;
  do {
    const here = text[next];
    if (here === '"') {
      next = afterString(text, next);
      continue;
    }
    if (here === '{' || here === '[') depth += 1;
    if (here === '}' || here === ']') depth -= 1;
    next += 1;
  } while (depth > 0 && next < text.length);
  return next;
}

/** The text of the member at this path of objects; undefined if there is none. The whole text must be valid JSON. */
export function rawAt(text: string, path: readonly string[]): string | undefined {
  let at = afterSpace(text, 0);
  for (const name of path) {
    if (text[at] !== '{') return undefined;
    at = afterSpace(text, at + 1);
    for (;;) {
      if (text[at] !== '"') return undefined;
      const end = afterString(text, at);
      const found = (JSON.parse(text.slice(at, end)) as string) === name;
      at = afterSpace(text, afterSpace(text, end) + 1);
      if (found) break;
      at = afterSpace(text, afterValue(text, at));
      if (text[at] !== ',') return undefined;
      at = afterSpace(text, at + 1);
    }
  }
  return text.slice(at, afterValue(text, at));
}
