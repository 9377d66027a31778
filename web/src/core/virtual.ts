// Which rows of a long list have to exist, given how far it is scrolled.

export interface Window {
  first: number;
  end: number; // one past the last
  padTop: number; // pixels of the rows that are left out above
  height: number; // pixels of all rows
}

export function visibleRows(total: number, rowHeight: number, scrollTop: number, viewport: number, overscan = 8): Window {
  const height = total * rowHeight;
  const top = Math.max(0, Math.min(scrollTop, Math.max(0, height - viewport)));
  const first = Math.max(0, Math.floor(top / rowHeight) - overscan);
  const end = Math.min(total, Math.ceil((top + viewport) / rowHeight) + overscan);
  return { first, end, padTop: first * rowHeight, height };
}

/** The smallest scroll position change that makes the row visible. */
export function scrollToShow(row: number, rowHeight: number, scrollTop: number, viewport: number): number {
  const top = row * rowHeight;
  if (top < scrollTop) return top;
  if (top + rowHeight > scrollTop + viewport) return top + rowHeight - viewport;
  return scrollTop;
}
