// Ranks the entries of the command palette.

/** Higher is better; undefined: the letters of the query do not appear in this order. */
export function score(query: string, text: string): number | undefined {
  const wanted = query.toLowerCase().replaceAll(' ', '');
  const given = text.toLowerCase();
  if (wanted === '') return 0;
  let points = 0;
  let from = 0;
  let previous = -2;
  for (const letter of wanted) {
    const at = given.indexOf(letter, from);
    if (at < 0) return undefined;
    points += at === previous + 1 ? 3 : 1;
    if (at === 0 || given[at - 1] === ' ') points += 2;
    previous = at;
    from = at + 1;
  }
  return points - given.length / 100;
}

export function rank<T extends { title: string }>(query: string, entries: readonly T[], most = 12): T[] {
  return entries
    .map((entry) => ({ entry, points: score(query, entry.title) }))
    .filter((scored): scored is { entry: T; points: number } => scored.points !== undefined)
    .sort((a, b) => b.points - a.points)
    .slice(0, most)
    .map((scored) => scored.entry);
}
