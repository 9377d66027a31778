// Fields of filters that several lists have.
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { timeFields } from '../core/filters';
import { fromLocalInput, toLocalInput } from '../core/format';
import { words } from './basic';

/** Sends what was typed when the field is left or Enter is pressed, so that half words select nothing. */
export function Field({ name, hint, value, choices, onChange }: { name: string; hint?: string; value: string | undefined; choices?: string[]; onChange: (value: string) => void }) {
  const [text, setText] = useState(value ?? '');
  useEffect(() => setText(value ?? ''), [value]);
  const send = (): void => { if (text.trim() !== (value ?? '')) onChange(text.trim()); };
  return (
    <label>
      <span class="hidden-text">{name}</span>
      <input name={name} placeholder={hint ?? name} value={text} list={choices ? `choices-${name}` : undefined} autoComplete="off" spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)} onBlur={send} onChange={send} onKeyDown={(event) => { if (event.key === 'Enter') send(); }} />
      {choices ? <datalist id={`choices-${name}`}>{choices.map((choice) => <option value={choice} key={choice} />)}</datalist> : null}
    </label>
  );
}

const presets: [string, number][] = [['last 5 min', 300_000], ['last hour', 3_600_000], ['last day', 86_400_000], ['last week', 604_800_000]];

type TimeFilter = Partial<Record<(typeof timeFields)[number], number>>;

/** When something was created and finished. `children` are further fields of the same menu. */
export function TimeFields<F extends TimeFilter>({ filter, onChange, children }: { filter: F; onChange: (filter: F) => void; children?: ComponentChildren }) {
  const set = (field: (typeof timeFields)[number], at: number | undefined): void => {
    const next = { ...filter };
    if (at === undefined) delete next[field];
    else Object.assign(next, { [field]: at });
    onChange(next);
  };
  const shown = (at: number | undefined): string => (at === undefined ? '' : toLocalInput(at));
  return (
    <div class="filter-times">
      <div class="presets">
        {presets.map(([title, ms]) => <button type="button" class="button small" key={title} onClick={() => set('created_from', Date.now() - ms)}>created in the {title}</button>)}
      </div>
      {timeFields.map((field) => (
        <label class="field" key={field}>
          <span>{words(field)}</span>
          <input type="datetime-local" step="1" name={field} value={shown(filter[field])} onChange={(event) => set(field, fromLocalInput(event.currentTarget.value))} />
        </label>
      ))}
      {children}
    </div>
  );
}
