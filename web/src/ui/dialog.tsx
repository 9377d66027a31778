// Dialogs, and the confirmation that every action asks for.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { toApiError } from '../live/hooks';
import type { ApiError } from '../api/client';
import { Copy, Problem } from './basic';
import { toast } from './toast';

export function Dialog({ title, wide, onClose, children, class: extra }: { title: string; wide?: boolean; onClose: () => void; children: ComponentChildren; class?: string }) {
  const element = useRef<HTMLDialogElement>(null);
  // Before the next key arrives: what is typed right after the shortcut belongs to the dialog.
  useLayoutEffect(() => {
    const dialog = element.current;
    if (dialog && !dialog.open) dialog.showModal();
    return () => dialog?.close();
  }, []);
  const pressed = useRef(false);
  return (
    <dialog
      ref={element}
      class={`${wide ? 'wide' : ''} ${extra ?? ''}`}
      aria-label={title}
      onCancel={(event) => { event.preventDefault(); onClose(); }}
      onClose={onClose} // browsers may close a dialog without asking
      onMouseDown={(event) => { pressed.current = event.target === element.current; }}
      onClick={(event) => { if (pressed.current && event.target === element.current) onClose(); }}
    >
      {children}
    </dialog>
  );
}

const open = signal<(() => ComponentChildren) | undefined>(undefined);

/** Shows a dialog that any code may open; `render` gets the function that closes it. */
export function show(render: (close: () => void) => ComponentChildren): void {
  const mine = (): ComponentChildren => render(close);
  const close = (): void => { if (open.value === mine) open.value = undefined; };
  open.value = mine;
}
export const dialogIsOpen = (): boolean => open.value !== undefined || document.querySelector('dialog[open]') !== null;
export const OpenDialog = () => <>{open.value?.()}</>;

export interface Confirmation {
  title: string;
  text: ComponentChildren;
  action: string; // the text of the button
  danger?: boolean;
  reason?: boolean; // ask for one
  fields?: (values: Record<string, string>, set: (name: string, value: string) => void) => ComponentChildren;
  initial?: Record<string, string>;
  /** The same as a command, for those who want to script it. */
  command?: (values: Record<string, string>) => string;
  run: (values: Record<string, string>) => Promise<string | void>; // the message for afterwards
}

/** Asks, does it, and says what came of it. Errors stay in the dialog. */
export function confirm(ask: Confirmation): void {
  show((close) => <ConfirmDialog ask={ask} close={close} />);
}

function ConfirmDialog({ ask, close }: { ask: Confirmation; close: () => void }) {
  const [values, setValues] = useState<Record<string, string>>(ask.initial ?? {});
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const set = (name: string, value: string): void => setValues((old) => ({ ...old, [name]: value }));
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const message = await ask.run(values);
      close();
      if (message) toast(message);
    } catch (problem) {
      setError(toApiError(problem));
      setBusy(false);
    }
  };
  return (
    <Dialog title={ask.title} onClose={close}>
      <form onSubmit={(event) => void submit(event)}>
        <h2>{ask.title}</h2>
        <div>{ask.text}</div>
        {ask.fields?.(values, set)}
        {ask.reason ? (
          <label class="field">
            <span>Reason <span class="hint">optional; kept in the event log</span></span>
            <input name="reason" maxLength={256} value={values['reason'] ?? ''} onInput={(event) => set('reason', event.currentTarget.value)} autoComplete="off" />
          </label>
        ) : null}
        {error ? <Problem error={error} /> : null}
        <div class="dialog-actions">
          {ask.command ? <span class="grow"><Copy text={ask.command(values)} what="command" label="Copy as CLI" /></span> : null}
          <button type="button" class="button" onClick={close}>Close</button>
          <button type="submit" class={`button primary ${ask.danger ? 'danger' : ''}`} disabled={busy}>{ask.action}</button>
        </div>
      </form>
    </Dialog>
  );
}

/** The reason as a body has it: left out if there is none. */
export const withReason = (values: Record<string, string>, body: Record<string, unknown> = {}): Record<string, unknown> =>
  values['reason'] ? { ...body, reason: values['reason'] } : body;
