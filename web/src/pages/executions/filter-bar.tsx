// Every filter of the API, each a field; the address follows.
import { useEffect, useState } from 'preact/hooks';
import { publicStates, type PublicState } from '../../api/contract';
import type { CountsReply } from '../../api/types';
import { count, fromLocalInput, toLocalInput } from '../../core/format';
import { isEmpty, noFilter, timeFields, type Filter } from '../../core/filters';
import { Menu } from '../../ui/menu';
import { Icon, words } from '../../ui/basic';

interface Props {
  filter: Filter;
  counts: CountsReply | undefined;
  fixedNamespace: string | undefined;
  onChange: (filter: Filter) => void;
}

const usual = new Set<string>(['waiting', 'delayed', 'active', 'completed', 'failed', 'cancelled', 'expired']);

function stateCounts(counts: CountsReply | undefined, lane: string | undefined): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const entry of counts?.lanes ?? []) {
    if (lane && entry.lane !== lane) continue;
    for (const [state, value] of Object.entries(entry.counts)) sums[state] = (sums[state] ?? 0) + value;
  }
  return sums;
}

export function FilterBar({ filter, counts, fixedNamespace, onChange }: Props) {
  const sums = stateCounts(counts, filter.lane);
  const toggle = (state: PublicState): void => {
    const next = filter.state.includes(state) ? filter.state.filter((other) => other !== state) : [...filter.state, state];
    onChange({ ...filter, state: publicStates.filter((other) => next.includes(other)) });
  };
  const lanes = (counts?.lanes ?? []).map((entry) => entry.lane);
  const set = (field: 'lane' | 'kind' | 'namespace' | 'tag' | 'flow') => (value: string): void => {
    const next = { ...filter };
    if (value) next[field] = value;
    else delete next[field];
    onChange(next);
  };
  const times = timeFields.filter((field) => filter[field] !== undefined).length + (filter.flow ? 1 : 0);
  return (
    <div class="stack">
      <div class="ex-states" role="group" aria-label="States">
        {publicStates.filter((state) => usual.has(state) || (sums[state] ?? 0) > 0 || filter.state.includes(state)).map((state) => (
          <button type="button" class="chip" data-state={state} key={state} aria-pressed={filter.state.includes(state)} onClick={() => toggle(state)}>{words(state)} <b>{counts ? count(sums[state] ?? 0) : ''}</b></button>
        ))}
      </div>
      <div class="ex-fields">
        <Field name="kind" value={filter.kind} onChange={set('kind')} />
        <Field name="lane" value={filter.lane} onChange={set('lane')} choices={lanes} />
        {fixedNamespace ? null : <Field name="namespace" value={filter.namespace} onChange={set('namespace')} />}
        <Field name="tag" hint="tag=value" value={filter.tag} onChange={set('tag')} />
        <Menu left stay label={<>Time and flow{times > 0 ? ` (${times})` : ''}<Icon name="down" /></>} class={times > 0 ? 'chosen' : ''}>
          <Times filter={filter} onChange={onChange} setFlow={set('flow')} />
        </Menu>
        {isEmpty(filter) ? null : <button type="button" class="button plain" onClick={() => onChange(noFilter)}>Clear filters</button>}
      </div>
    </div>
  );
}

/** Sends what was typed when the field is left or Enter is pressed, so that half words select nothing. */
function Field({ name, hint, value, choices, onChange }: { name: string; hint?: string; value: string | undefined; choices?: string[]; onChange: (value: string) => void }) {
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

function Times({ filter, onChange, setFlow }: { filter: Filter; onChange: (filter: Filter) => void; setFlow: (value: string) => void }) {
  const set = (field: (typeof timeFields)[number], at: number | undefined): void => {
    const next = { ...filter };
    if (at === undefined) delete next[field];
    else next[field] = at;
    onChange(next);
  };
  return (
    <div class="ex-times">
      <div class="presets">
        {presets.map(([title, ms]) => <button type="button" class="button small" key={title} onClick={() => set('created_from', Date.now() - ms)}>created in the {title}</button>)}
      </div>
      {timeFields.map((field) => (
        <label class="field" key={field}>
          <span>{words(field)}</span>
          <input type="datetime-local" step="1" name={field} value={filter[field] === undefined ? '' : toLocalInput(filter[field])} onChange={(event) => set(field, fromLocalInput(event.currentTarget.value))} />
        </label>
      ))}
      <label class="field wide"><span>flow</span><input name="flow" placeholder="UUID of a flow" value={filter.flow ?? ''} onChange={(event) => setFlow(event.currentTarget.value.trim())} /></label>
    </div>
  );
}
