// A table of any length: only the rows in view exist. Rows have one height, so nothing moves while data arrives.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { scrollToShow, visibleRows } from '../core/virtual';
import { useShortcuts } from './keyboard';

export interface Column<T> {
  name: string;
  title: ComponentChildren;
  width: string; // of a grid track: "120px", "minmax(140px, 1fr)"
  right?: boolean;
  cell: (row: T) => ComponentChildren;
}

interface Props<T> {
  label: string;
  columns: Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string;
  rowHeight?: number;
  empty?: ComponentChildren;
  foot?: ComponentChildren;
  onOpen?: (row: T) => void;
  onMark?: (row: T) => void;
  onEnd?: () => void; // the last rows are in view: load more
  onScroll?: (atTop: boolean) => void;
}

/** The size of an element, and how far it is scrolled. */
function useScroll() {
  const element = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState({ top: 0, height: 600 });
  useLayoutEffect(() => {
    const target = element.current;
    if (!target) return undefined;
    const measure = (): void => setScroll((old) => {
      const next = { top: target.scrollTop, height: target.clientHeight };
      return next.top === old.top && next.height === old.height ? old : next;
    });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(target);
    target.addEventListener('scroll', measure, { passive: true });
    return () => {
      observer.disconnect();
      target.removeEventListener('scroll', measure);
    };
  }, []);
  return { element, ...scroll };
}

/** j and k move through the rows, Enter opens, x marks. */
function useCursor<T>(props: Props<T>, element: { current: HTMLDivElement | null }, rowHeight: number) {
  const [at, setAt] = useState<string | undefined>(undefined);
  const index = props.rows.findIndex((row) => props.keyOf(row) === at);
  const move = (to: number): void => {
    const next = Math.max(0, Math.min(props.rows.length - 1, to));
    const row = props.rows[next];
    const target = element.current;
    if (row === undefined || !target) return;
    setAt(props.keyOf(row));
    const head = target.querySelector('.vtable-head')?.clientHeight ?? 0;
    target.scrollTop = scrollToShow(next, rowHeight, target.scrollTop, target.clientHeight - head);
  };
  const current = props.rows[index];
  useShortcuts([
    { keys: 'j', text: 'next row', run: () => move(index + 1) },
    { keys: 'k', text: 'previous row', run: () => move(index < 0 ? 0 : index - 1) },
    ...(props.onOpen ? [{ keys: 'o', text: 'open the row', run: () => { if (current) props.onOpen?.(current); } }] : []),
    ...(props.onMark ? [{ keys: 'x', text: 'select the row', run: () => { if (current) props.onMark?.(current); } }] : []),
  ]);
  return at;
}

const columnGap = 14;
const sidePadding = 24;

/** The first number of a track is its least width; below the sum the table scrolls sideways. */
function leastWidth<T>(columns: Column<T>[]): number {
  const sum = columns.reduce((all, column) => all + Number(/\d+/.exec(column.width)?.[0] ?? 0), 0);
  return sum + (columns.length - 1) * columnGap + sidePadding;
}

export function VTable<T>(props: Props<T>) {
  const rowHeight = props.rowHeight ?? 34;
  const { element, top, height } = useScroll();
  const at = useCursor(props, element, rowHeight);
  const shown = visibleRows(props.rows.length, rowHeight, top, height);
  const nearEnd = shown.end >= props.rows.length - 20;
  useEffect(() => {
    if (nearEnd) props.onEnd?.();
  }, [nearEnd, props.rows.length]);
  const atTop = top < rowHeight;
  useEffect(() => props.onScroll?.(atTop), [atTop]);
  const template = { gridTemplateColumns: props.columns.map((column) => column.width).join(' '), minWidth: `${leastWidth(props.columns)}px` };
  return (
    <div class="vtable">
      <div class="vtable-scroll" ref={element} tabIndex={0} role="table" aria-label={props.label} aria-rowcount={props.rows.length + 1}>
        <div class="vtable-head" role="rowgroup">
          <div class="vrow" role="row" style={template}>
            {props.columns.map((column) => <div role="columnheader" class={column.right ? 'right' : ''} key={column.name}>{column.title}</div>)}
          </div>
        </div>
        <div class="vtable-body" role="rowgroup" style={{ height: `${shown.height}px` }}>
          {props.rows.slice(shown.first, shown.end).map((row, offset) => {
            const key = props.keyOf(row);
            const index = shown.first + offset;
            return (
              <div class={key === at ? 'vrow at' : 'vrow'} role="row" aria-rowindex={index + 2} key={key} style={{ ...template, top: `${index * rowHeight}px`, height: `${rowHeight}px` }}>
                {props.columns.map((column) => <div role="cell" class={column.right ? 'right' : ''} key={column.name}>{column.cell(row)}</div>)}
              </div>
            );
          })}
        </div>
        {props.rows.length === 0 ? props.empty : null}
      </div>
      {props.foot ? <div class="vtable-foot">{props.foot}</div> : null}
    </div>
  );
}
