// What the server sent, as JSON.
import { Copy } from './basic';
import { Dialog, show } from './dialog';
import { download, JsonText } from './viewer';

/** `name` is that of the file. */
export function showRaw(value: unknown, name: string): void {
  const text = JSON.stringify(value);
  const pretty = JSON.stringify(value, null, 2);
  show((close) => (
    <Dialog title="Raw JSON" wide onClose={close}>
      <div class="dialog-body">
        <h2>Raw JSON</h2>
        <pre class="code" tabIndex={0} aria-label="Raw JSON"><JsonText text={text} /></pre>
        <div class="dialog-actions">
          <span class="grow row"><Copy text={pretty} what="JSON" label="Copy" /><button type="button" class="button plain small" onClick={() => download(new TextEncoder().encode(pretty), `${name}.json`)}>Download</button></span>
          <button type="button" class="button" onClick={close}>Close</button>
        </div>
      </div>
    </Dialog>
  ));
}
