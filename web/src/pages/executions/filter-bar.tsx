// Every filter of the API, each a field; the address follows.
import { publicStates, type PublicState } from '../../api/contract';
import type { CountsReply } from '../../api/types';
import { count } from '../../core/format';
import { isEmpty, noFilter, timeFields, type Filter } from '../../core/filters';
import { Menu } from '../../ui/menu';
import { Icon, words } from '../../ui/basic';
import { Field, TimeFields } from '../../ui/filter-fields';

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
      <div class="filter-states" role="group" aria-label="States">
        {publicStates.filter((state) => usual.has(state) || (sums[state] ?? 0) > 0 || filter.state.includes(state)).map((state) => (
          <button type="button" class="chip" data-state={state} key={state} aria-pressed={filter.state.includes(state)} onClick={() => toggle(state)}>{words(state)} <b>{counts ? count(sums[state] ?? 0) : ''}</b></button>
        ))}
      </div>
      <div class="filter-fields">
        <Field name="kind" value={filter.kind} onChange={set('kind')} />
        <Field name="lane" value={filter.lane} onChange={set('lane')} choices={lanes} />
        {fixedNamespace ? null : <Field name="namespace" value={filter.namespace} onChange={set('namespace')} />}
        <Field name="tag" hint="tag=value" value={filter.tag} onChange={set('tag')} />
        <Menu left stay label={<>Time and flow{times > 0 ? ` (${times})` : ''}<Icon name="down" /></>} class={times > 0 ? 'chosen' : ''}>
          <TimeFields filter={filter} onChange={onChange}>
            <label class="field wide"><span>flow</span><input name="flow" placeholder="UUID of a flow" value={filter.flow ?? ''} onChange={(event) => set('flow')(event.currentTarget.value.trim())} /></label>
          </TimeFields>
        </Menu>
        {isEmpty(filter) ? null : <button type="button" class="button plain" onClick={() => onChange(noFilter)}>Clear filters</button>}
      </div>
    </div>
  );
}
