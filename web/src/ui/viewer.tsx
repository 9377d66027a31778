// Shows bytes: as JSON if they are, as text, in hexadecimal, or as a file.
import { useMemo, useState } from 'preact/hooks';
import { asText, formatJson, hexLines, visible } from '../core/bytes';
import { bytes as size } from '../core/format';
import { copyText } from './basic';

type Mode = 'JSON' | 'Text' | 'Hex';
const mostCharacters = 200_000;

export function download(data: Uint8Array, name: string): void {
  const url = URL.createObjectURL(new Blob([data as BlobPart]));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function JsonText({ text }: { text: string }) {
  const tokens = useMemo(() => (text.length <= mostCharacters ? formatJson(text) : undefined), [text]);
  if (!tokens) return <>{visible(text.slice(0, mostCharacters))}</>;
  return <>{tokens.map((token) => (token.kind === 'plain' ? token.text : <span class={token.kind}>{visible(token.text)}</span>))}</>;
}

export function BytesView({ data, encoding, name, label }: { data: Uint8Array; encoding: string; name: string; label: string }) {
  const text = useMemo(() => asText(data), [data]);
  const isJson = useMemo(() => text !== undefined && text !== '' && (encoding === 'json' || /^\s*[[{]/.test(text)) && formatJson(text.slice(0, mostCharacters + 1)) !== undefined, [text, encoding]);
  const natural: Mode = isJson ? 'JSON' : text !== undefined ? 'Text' : 'Hex';
  const [chosen, setChosen] = useState<Mode>();
  const mode = chosen ?? natural;
  if (data.length === 0) return <p class="muted">Empty: 0 bytes{encoding ? `, labelled ${encoding}` : ''}.</p>;
  const modes: Mode[] = [...(isJson ? ['JSON' as const] : []), ...(text !== undefined ? ['Text' as const] : []), 'Hex'];
  return (
    <div class="stack viewer">
      <div class="row wrap">
        <div class="row" role="group" aria-label={`View of the ${label}`}>
          {modes.map((entry) => <button type="button" key={entry} class="button small" aria-pressed={entry === mode} onClick={() => setChosen(entry)}>{entry}</button>)}
        </div>
        <span class="muted grow">{size(data.length)}{encoding ? ` · ${encoding}` : ''}</span>
        {text !== undefined ? <button type="button" class="button plain small" onClick={() => void copyText(text, label)}>Copy</button> : null}
        <button type="button" class="button plain small" onClick={() => download(data, isJson ? `${name}.json` : `${name}.bin`)}>Download</button>
      </div>
      <Content mode={mode} data={data} text={text ?? ''} label={label} />
    </div>
  );
}

function Content({ mode, data, text, label }: { mode: Mode; data: Uint8Array; text: string; label: string }) {
  if (mode === 'Hex') {
    const lines = hexLines(data).map((line) => `${line.offset}  ${line.hex.padEnd(49)}  ${line.text}`);
    const cut = data.length > 4096 ? `\n… ${size(data.length - 4096)} more; download to see all` : '';
    return <pre class="code hex" tabIndex={0} aria-label={label}>{lines.join('\n') + cut}</pre>;
  }
  const cut = text.length > mostCharacters ? <span class="muted">{'\n'}… more; download to see all</span> : null;
  return <pre class="code" tabIndex={0} aria-label={label}>{mode === 'JSON' ? <JsonText text={text} /> : visible(text.slice(0, mostCharacters))}{cut}</pre>;
}
