// What can be done to a redrive that has not ended. Each asks first; each can be copied as a command.
import { call, session } from '../../api/client';
import { allows } from '../../api/contract';
import type { Redrive } from '../../api/types';
import { asCli } from '../../core/commands';
import { hasEnded, redrivePath } from '../../core/dead-letters';
import { plural } from '../../core/format';
import { confirm, withReason } from '../../ui/dialog';

type Verb = 'pause' | 'resume' | 'cancel';

const about: Record<Verb, { title: string; text: (redrive: Redrive) => string; action: string }> = {
  pause: { title: 'Pause this redrive', text: () => 'It replays nothing until it is resumed. What it has replayed goes on.', action: 'Pause' },
  resume: { title: 'Resume this redrive', text: (redrive) => `It goes on: at most ${plural(redrive.left, 'execution')} left to replay${redrive.rate ? `, ${redrive.rate}` : ', as fast as they go'}.`, action: 'Resume' },
  cancel: { title: 'Cancel this redrive', text: () => 'What it has replayed goes on; the rest stays failed. It cannot be resumed.', action: 'Cancel redrive' },
};

function ask(verb: Verb, redrive: Redrive, done: () => void): void {
  const { title, text, action } = about[verb];
  confirm({
    title, text: text(redrive), action, danger: verb === 'cancel', reason: true,
    command: (values) => asCli(['redrives', verb, redrive.redrive_id, ...(values['reason'] ? ['--reason', values['reason']] : [])], window.location.origin),
    run: async (values) => {
      const changed = await call<Redrive>('POST', `${redrivePath(redrive.redrive_id)}/${verb}`, withReason(values));
      done();
      return `The redrive is ${changed.state}`;
    },
  });
}

export function RedriveActions({ redrive, done }: { redrive: Redrive; done: () => void }) {
  if (hasEnded(redrive) || redrive.damage || !allows(session.value, 'operator')) return null;
  return (
    <>
      {redrive.state === 'running' ? <button type="button" class="button" onClick={() => ask('pause', redrive, done)}>Pause …</button> : <button type="button" class="button primary" onClick={() => ask('resume', redrive, done)}>Resume …</button>}
      <button type="button" class="button danger" onClick={() => ask('cancel', redrive, done)}>Cancel …</button>
    </>
  );
}
