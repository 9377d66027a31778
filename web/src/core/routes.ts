// Matches paths like /ui/executions/:id.

export type Params = Record<string, string>;

export function match(pattern: string, path: string): Params | undefined {
  const wanted = pattern.split('/').filter(Boolean);
  const given = path.split('/').filter(Boolean);
  if (wanted.length !== given.length) return undefined;
  const params: Params = {};
  for (const [index, part] of wanted.entries()) {
    const actual = given[index] as string;
    if (part.startsWith(':')) {
      try {
        params[part.slice(1)] = decodeURIComponent(actual);
      } catch {
        return undefined;
      }
    } else if (part !== actual) return undefined;
  }
  return params;
}
