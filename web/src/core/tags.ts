/** One tag per line, key=value. */
export function parseTags(text: string): Record<string, string> {
  const tags: Record<string, string> = {};
  for (const line of text.split('\n').map((entry) => entry.trim()).filter(Boolean)) {
    const at = line.indexOf('=');
    tags[at < 0 ? line : line.slice(0, at).trim()] = at < 0 ? '' : line.slice(at + 1).trim();
  }
  return tags;
}
