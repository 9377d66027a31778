// Parts of larger forms: a field that shows what the server says about it.
import type { ComponentChildren } from 'preact';
import { ApiError } from '../api/client';
import { Refusal, type FormValues } from '../core/form';
import { toApiError } from '../live/hooks';
import { Text } from './basic';

export interface FormState { values: FormValues; set: (name: string, value: string) => void; error: ApiError | undefined }

export const formError = (problem: unknown): ApiError =>
  (problem instanceof Refusal ? new ApiError(0, 'invalid_argument', problem.message, undefined, problem.field) : toApiError(problem));

/** What the server refused about a field of this name, or of one below it. */
export const refusalOf = (error: ApiError | undefined, name: string): string | undefined =>
  (error?.field !== undefined && (error.field === name || error.field.startsWith(`${name}.`) || error.field.startsWith(`${name}[`)) ? error.message : undefined);

/** A label with its input; `names` are the names that the server has for it. */
export function Labelled({ label, hint, error, names, children }: { label: string; hint?: ComponentChildren; error: ApiError | undefined; names: string[]; children: ComponentChildren }) {
  const refusal = names.map((name) => refusalOf(error, name)).find((text) => text !== undefined);
  return (
    <label class="field">
      <span>{label} {hint ? <span class="hint">{hint}</span> : null}</span>
      {children}
      {refusal ? <span class="wrong" role="alert"><Text>{refusal}</Text></span> : null}
    </label>
  );
}

interface InputProps { form: FormState; name: string; label: string; hint?: ComponentChildren; server?: string[]; type?: string; required?: boolean; max?: number; min?: number; placeholder?: string; list?: string; disabled?: boolean }

export const Input = ({ form, name, label, hint, server, type, required, max, min, placeholder, list, disabled }: InputProps) => (
  <Labelled label={label} hint={hint} error={form.error} names={server ?? [name]}>
    <input name={name} type={type ?? 'text'} required={required} min={min} max={type === 'number' ? max : undefined} maxLength={type === 'number' ? undefined : max} step={type === 'datetime-local' ? 1 : undefined}
      placeholder={placeholder} list={list} disabled={disabled} value={form.values[name] ?? ''} autoComplete="off" spellcheck={false} onInput={(event) => form.set(name, event.currentTarget.value)} />
  </Labelled>
);

export const Select = ({ form, name, label, hint, server, options }: Pick<InputProps, 'form' | 'name' | 'label' | 'hint' | 'server'> & { options: readonly (readonly [string, string])[] }) => (
  <Labelled label={label} hint={hint} error={form.error} names={server ?? [name]}>
    <select name={name} value={form.values[name] ?? ''} onChange={(event) => form.set(name, event.currentTarget.value)}>{options.map(([value, text]) => <option key={value} value={value}>{text}</option>)}</select>
  </Labelled>
);

export const Area = ({ form, name, label, hint, server, rows, placeholder, mono }: Pick<InputProps, 'form' | 'name' | 'label' | 'hint' | 'server' | 'placeholder'> & { rows: number; mono?: boolean }) => (
  <Labelled label={label} hint={hint} error={form.error} names={server ?? [name]}>
    <textarea name={name} rows={rows} class={mono ? 'mono' : ''} placeholder={placeholder} value={form.values[name] ?? ''} spellcheck={false} onInput={(event) => form.set(name, event.currentTarget.value)} />
  </Labelled>
);
