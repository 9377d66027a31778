import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

const leastMargin = 8;
const widest = 510;

/** Beside the button but outside of its containers, which may scroll and would cut the list off. */
function placeBelow(button: DOMRect, left: boolean): Record<string, string> {
  const below = window.innerHeight - button.bottom;
  const vertical: Record<string, string> = below < 220 && button.top > below
    ? { bottom: `${window.innerHeight - button.top + 4}px`, maxHeight: `${button.top - leastMargin - 4}px` }
    : { top: `${button.bottom + 4}px`, maxHeight: `${below - leastMargin - 4}px` };
  return left
    ? { ...vertical, left: `min(${button.left}px, max(${leastMargin}px, 100vw - ${widest}px))` }
    : { ...vertical, right: `${Math.max(leastMargin, document.documentElement.clientWidth - button.right)}px` };
}

/** A button with a list below it. A click outside, Escape, or a click on an entry closes it. */
export function Menu({ label, children, left, class: extra, stay, name }: { label: ComponentChildren; name?: string; children: ComponentChildren; left?: boolean; class?: string; stay?: boolean }) {
  const [open, setOpen] = useState<Record<string, string> | undefined>(undefined);
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return undefined;
    const outside = (event: Event): void => {
      if (!element.current?.contains(event.target as Node)) setOpen(undefined);
    };
    const escape = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return;
      event.stopPropagation();
      setOpen(undefined);
      element.current?.querySelector('button')?.focus();
    };
    const scrolled = (event: Event): void => {
      if (event.target instanceof Node && event.target.contains(element.current)) setOpen(undefined);
    };
    document.addEventListener('pointerdown', outside);
    document.addEventListener('scroll', scrolled, true);
    document.addEventListener('keydown', escape, true);
    return () => {
      document.removeEventListener('pointerdown', outside);
      document.removeEventListener('scroll', scrolled, true);
      document.removeEventListener('keydown', escape, true);
    };
  }, [open]);
  return (
    <div class="menu" ref={element}>
      <button type="button" class={`button ${extra ?? ''}`} aria-haspopup="true" aria-expanded={open !== undefined} aria-label={name} title={name} onClick={(event) => setOpen(open ? undefined : placeBelow(event.currentTarget.getBoundingClientRect(), left ?? false))}>{label}</button>
      {open ? <div class="menu-list" style={open} onClick={() => { if (!stay) setOpen(undefined); }}>{children}</div> : null}
    </div>
  );
}
